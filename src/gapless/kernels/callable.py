"""K(x, z) by a function of the user: ``call(X, Z)`` gives the matrix of all values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Function:
    call: Callable[[Any, Any], Any]
    shift: float = 0.0
    name = "callable"
    of_distances = False
    positive = None

    def values(self, X: Any, Z: Any) -> np.ndarray:
        """K of all rows of X and Z, checked."""
        found: Any = self.call(X, Z)
        found = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
        wanted = tuple(part.shape[0] if hasattr(part, "shape") else len(part) for part in (X, Z))
        if found.shape != wanted:
            raise ValueError(
                f"the kernel function returned an array of shape {found.shape} for {wanted[0]} and {wanted[1]} rows; it must be "
                f"{wanted}: K[i, j] = K(X[i], Z[j])."
            )
        if not np.isfinite(found).all():
            i, j = (int(k) for k in np.argwhere(~np.isfinite(found))[0])
            raise ValueError(
                f"the kernel function returned {found[i, j]} at position ({i}, {j}); its values must be finite."
            )
        return found
