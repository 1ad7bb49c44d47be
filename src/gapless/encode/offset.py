"""How the offset enters the problem: not at all, free, or as one more feature that is penalised like the
others.

``penalised`` gives each row one more feature of value ``scale``; with v its weight, the offset is b = scale
* v and the penalty has v^2 / 2 = (b / scale)^2 / 2 more.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

from gapless._runtime.written import written


class Offset(NamedTuple):
    """``kind`` is "none", "penalised" or "free"; ``scale`` is the value of the extra feature (1 unless
    penalised).
    """

    kind: str
    scale: float = 1.0


def encode_offset(fit_intercept: Any, penalize_intercept: Any = False, intercept_scaling: Any = 1) -> Offset:
    """Read the three parameters; ``intercept_scaling`` acts only where there is an offset and it is penalised."""
    scaling = intercept_scaling
    if isinstance(scaling, bool) or not isinstance(scaling, Real) or not 0.0 < float(scaling) < math.inf:
        raise ValueError(
            f"The 'intercept_scaling' parameter must be a float in the range (0.0, inf). Got {written(scaling)} instead."
        )
    if not fit_intercept:
        return Offset("none")
    return Offset("penalised", float(scaling)) if penalize_intercept else Offset("free")
