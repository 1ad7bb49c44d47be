"""What a loss says about itself, so that problems and solvers ask for a property and never for a class.

smooth              l has a derivative in z everywhere
of_margin           y is -1 or +1, and l is a function of the margin yz alone
one_score           z is one number, not K of them
dual_ends           the interval of uy/c on which l*(y, -u/c) is finite
entropic            l* is an entropy: its slope is infinite at both ends, so that no u is ever at an end; |l'''| <= l''
conjugate_curvature k where l*(y, v) = vy + k v^2/2 on that interval; None where l* is no such parabola
largest_curvature   the largest second derivative in z (softmax: the largest eigenvalue of diag(p) - pp'), infinity where there is
                    none
largest_slope       the largest |dl/dz|, infinity where there is none
largest_conjugate   an upper bound on |l*| on the interval, infinity where there is none known
least_sum           the minimum of any sum of l, where it is the same for all data and reached at the origin; else None
sparse_dual         at the optimum many u are exactly at an end of the interval
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class LossFacts:
    """The facts of a loss; the module's docstring says what each means."""

    smooth: bool
    of_margin: bool = True
    one_score: bool = True
    dual_ends: tuple[float, float] = (0.0, 1.0)
    entropic: bool = False
    conjugate_curvature: float | None = None
    largest_curvature: float = math.inf
    largest_slope: float = math.inf
    largest_conjugate: float = math.inf
    least_sum: float | None = None

    @property
    def sparse_dual(self) -> bool:
        return self.of_margin and self.one_score and not self.entropic


def declare_facts(**facts: Any) -> Callable[[type], Any]:
    """Make a NamedTuple a loss: its facts become attributes of the class, and losses compare as values.

    Losses are tuples because kernels take tuples, and most are empty. Two losses are equal if they have one class and equal
    parameters, and no loss counts as False.
    """
    declared = LossFacts(**facts)

    def largest_curvature(self: Any) -> float:
        """The largest second derivative in z, infinity where there is none."""
        return declared.largest_curvature

    def declare(loss: Any) -> Any:
        for fact in fields(declared):
            setattr(loss, fact.name, getattr(declared, fact.name))
        loss.sparse_dual = declared.sparse_dual
        loss.largest_curvature = property(largest_curvature)
        loss.__eq__ = lambda self, other: type(other) is loss and tuple(self) == tuple(other)
        loss.__ne__ = lambda self, other: not loss.__eq__(self, other)
        loss.__hash__ = lambda self: hash((loss.__name__, tuple(self)))
        loss.__bool__ = lambda self: True
        return loss

    return declare
