"""The three parameters of the offset, and their inverse."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.encode.offset import encode_offset


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((False, False, 1), ("none", 1.0)),
        ((False, True, 1), ("none", 1.0)),
        ((True, False, 1), ("free", 1.0)),
        ((True, False, 1.0), ("free", 1.0)),
        ((True, True, 1), ("penalised", 1.0)),
        ((True, True, np.float64(2.5)), ("penalised", 2.5)),
        ((False, True, 2), ("none", 1.0)),
        ((True, False, 2), ("free", 1.0)),  # an estimator asks for a penalised one there
    ],
)
def test_kinds(arguments, expected):
    assert encode_offset(*arguments) == expected


@pytest.mark.parametrize("scaling", [0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_bad_scaling(scaling):
    with pytest.raises(ValueError, match="intercept_scaling"):
        encode_offset(True, True, scaling)
