"""K given as a matrix of the training rows. ``shift`` is added to its diagonal: rounding may have taken as much from it.

A Gram matrix that was computed in floating point often has eigenvalues a little below 0, and then its dual problem bounds
nothing.  K + shift I is the kernel of phi(x_i) + sqrt(shift) e_i, and what is claimed is claimed of that one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Precomputed:
    shift: float = 0.0
    name = "precomputed"
    of_distances = False
    positive = None
