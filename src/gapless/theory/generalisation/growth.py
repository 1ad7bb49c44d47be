"""How many labellings a class of hypotheses can give to n points: growth functions, break points and B(n, k).

    m(n)      the most dichotomies of n points, over all ways to place them; at most 2^n
    k         a break point if m(k) < 2^k: no k points are shattered
    B(n, k)   the most dichotomies of n points of which no k are shattered; B(n, k) = B(n - 1, k) + B(n - 1, k - 1) =
              sum_(i < k) C(n, i), so that m(n) <= B(n, k) for any break point k (Sauer, Shelah, Vapnik and Chervonenkis)

Counts are integers of any size.  A class of which no closed form is known has only Sauer's bound, and says so.
`dichotomies` counts and lists those of the user's own points, `split` takes the step of the recursion on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.theory.generalisation.dichotomies import Dichotomies, count_dichotomies, dichotomies
from gapless.theory.inputs import as_whole
from gapless.theory.samples.split import Split, recursion, split

__all__ = [
    "B", "Dichotomies", "HypothesisClass", "Split", "boxes", "break_point", "convex_sets", "count_dichotomies", "dichotomies",
    "finite", "growth", "halfspaces", "intervals", "log_growth", "of_dimension", "rays", "recursion", "sauer", "split",
]  # fmt: skip


@result
@dataclass(frozen=True)
class HypothesisClass:
    """A class of hypotheses: its name, its VC dimension (math.inf where any number of points can be shattered), its m(n).

    Attributes
    ----------
    name : name of the class
    vc_dimension : VC dimension; math.inf where any number of points can be shattered
    exactly : n -> m(n), None where no closed form is known
    logarithm : n -> ln m(n), where m(n) is too large to write out
    """

    name: str
    vc_dimension: int | float
    exactly: Callable[[int], int] | None = field(default=None, repr=False, compare=False)
    logarithm: Callable[[int], float] | None = field(default=None, repr=False, compare=False)

    @property
    def has_growth_function(self) -> bool:
        """Whether a closed form is known; if not, there is Sauer's bound."""
        return self.exactly is not None

    @property
    def break_point(self) -> int | None:
        """The smallest k of which no set is shattered; None where there is none."""
        return None if math.isinf(self.vc_dimension) else int(self.vc_dimension) + 1

    def growth(self, n: Any) -> int:
        """m(n), exactly."""
        n = as_whole(n, "n", 0)
        if self.exactly is None:
            raise ValueError(
                f"no closed form of the growth function of {self.name} is known; bound(n) gives Sauer's bound"
            )
        return self.exactly(n)

    def bound(self, n: Any) -> int:
        """m(n) where it is known, else Sauer's bound on it."""
        n = as_whole(n, "n", 0)
        return self.exactly(n) if self.exactly is not None else sauer(n, self.vc_dimension)

    def __str__(self) -> str:
        if math.isinf(self.vc_dimension):
            return f"{self.name}: no break point, infinite VC dimension"
        known = (
            ""
            if self.has_growth_function
            else "; its growth function has no known closed form, Sauer's bound stands in"
        )
        return f"{self.name}: VC dimension {self.vc_dimension}, break point {self.break_point}{known}"


def rays() -> HypothesisClass:
    """x > a on the line: n + 1."""
    return HypothesisClass("positive rays", 1, lambda n: n + 1)


def intervals(k: Any = 1) -> HypothesisClass:
    """Inside at most k intervals of the line: C(n + 1, 0) + C(n + 1, 2) + ... + C(n + 1, 2k) = ``sum_(i <= 2k) C(n, i)``.

    Parameters
    ----------
    k : most intervals of a hypothesis
    """
    k = as_whole(k, "k")
    name = "positive intervals" if k == 1 else f"unions of {k} positive intervals"
    return HypothesisClass(name, 2 * k, lambda n: sauer(n, 2 * k))


def convex_sets(d: Any = 2) -> HypothesisClass:
    """Inside a convex set: 2^n from the plane on (points on a circle); on the line convex sets are intervals.

    Parameters
    ----------
    d : dimension of the space
    """
    if as_whole(d, "d") == 1:
        return intervals()
    return HypothesisClass("convex sets", math.inf, lambda n: 1 << n, lambda n: n * math.log(2.0))


def halfspaces(d: Any, offset: bool = True) -> HypothesisClass:
    """<w, x> + b > 0 in R^d: ``2 sum_(k <= d) C(n - 1, k)`` (Cover 1965); without offset d - 1 stands for d.

    Parameters
    ----------
    d : dimension of the space
    offset : whether hyperplanes have an offset, or go through 0
    """
    d = as_whole(d, "d")
    dimension = d + 1 if offset else d
    name = f"halfspaces of R^{d}" if offset else f"halfspaces of R^{d} through 0"
    return HypothesisClass(name, dimension, lambda n: 2 * sauer(n - 1, dimension - 1) if n else 1)


def boxes(d: Any) -> HypothesisClass:
    """Inside a box with sides along the axes of R^d: VC dimension 2d; no closed form is known but on the line (intervals).

    Parameters
    ----------
    d : dimension of the space
    """
    d = as_whole(d, "d")
    return intervals() if d == 1 else HypothesisClass(f"boxes in R^{d}", 2 * d)


def finite(hypotheses: Any) -> HypothesisClass:
    """M hypotheses, whatever they are: at most min(M, 2^n) dichotomies; the VC dimension is at most log2 M.

    Parameters
    ----------
    hypotheses : M, their number
    """
    M = as_whole(hypotheses, "hypotheses")
    return HypothesisClass(
        f"{M:,} hypotheses" if M < 10**18 else "finitely many hypotheses",
        M.bit_length() - 1,
        lambda n: min(M, 1 << min(n, M.bit_length())),
    )


def of_dimension(d: Any) -> HypothesisClass:
    """Any class of VC dimension d: nothing but Sauer's bound.

    Parameters
    ----------
    d : VC dimension
    """
    d = as_whole(d, "d", 0)
    return HypothesisClass(f"a class of VC dimension {d}", d)


_BY_NAME: dict[str, Callable[..., HypothesisClass]] = {
    "rays": rays, "intervals": intervals, "convex sets": convex_sets, "halfspaces": halfspaces, "boxes": boxes,
}  # fmt: skip


def class_of(what: Any, **parameters: Any) -> HypothesisClass:
    """A class by its object, its name, or its VC dimension alone."""
    if isinstance(what, HypothesisClass):
        return what
    if isinstance(what, str):
        name = what.strip().lower().replace("_", " ").removeprefix("positive ")
        name = "halfspaces" if name in ("perceptron", "perceptrons") else name
        if name not in _BY_NAME:
            close = get_close_matches(name, _BY_NAME, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(
                f"no growth function of {written(what)} is known here, only of {', '.join(_BY_NAME)}{hint} "
                "Where the VC dimension d is known, of_dimension(d) gives Sauer's bound"
            )
        if name == "halfspaces" and "d" not in parameters:
            raise ValueError("halfspaces need their dimension: d=2 for lines in the plane")
        return _BY_NAME[name](**parameters)
    return of_dimension(what)


def growth(what: Any, n: Any, **parameters: Any) -> int:
    """m(n) of a class: ``growth("halfspaces", 4, d=2)`` is 14. Raises where no closed form is known.

    Parameters
    ----------
    what : a `HypothesisClass` or its name
    n : number of points
    parameters : of a class by name: d=2
    """
    return class_of(what, **parameters).growth(n)


def break_point(what: Any, **parameters: Any) -> int | None:
    """The smallest k with m(k) < 2^k, or None.

    Parameters
    ----------
    what : a `HypothesisClass`, its name, or a VC dimension
    parameters : of a class by name: d=2
    """
    return class_of(what, **parameters).break_point


def sauer(n: Any, d: Any) -> int:
    """``sum_(i <= d) C(n, i)``, the most dichotomies of n points with VC dimension d; 2^n where n <= d.

    Parameters
    ----------
    n : number of points
    d : VC dimension
    """
    n = as_whole(n, "n", 0)
    if isinstance(d, float) and math.isinf(d):
        return 1 << n
    d = as_whole(d, "d", 0)
    if n <= d:
        return 1 << n
    total = term = 1
    for i in range(1, d + 1):
        term = term * (n - i + 1) // i
        total += term
    return total


def B(n: Any, k: Any, how: str = "closed") -> int:
    """The most dichotomies of n points without k shattered ones: in closed form, or by its recursion.

    Parameters
    ----------
    n : number of points
    k : break point
    how : "closed" or "recursion"
    """
    n, k = as_whole(n), as_whole(k, "k")
    if how == "closed":
        return sauer(n, k - 1)
    if how != "recursion":
        raise ValueError(f'how must be "closed" or "recursion"; got {written(how)}')
    return int(recursion(n, k)[-1, -1])


def log_growth(what: Any, n: Any, how: str = "exact") -> float:
    """ln m(n): "exact", the closed form or Sauer's sum; "power", the usual ln(n^d + 1), 2^n where n <= d.

    Parameters
    ----------
    what : a `HypothesisClass`, its name, or a VC dimension
    n : number of points
    how : "exact": closed form or Sauer's sum; "power": ln(n^d + 1)
    """
    known, n = class_of(what), as_whole(n)
    d = known.vc_dimension
    if how == "power":
        if n <= d:
            return n * math.log(2.0)
        power = float(d) * math.log(n)
        return power + math.log1p(math.exp(-power))
    if how != "exact":
        raise ValueError(f'growth must be "exact" or "power"; got {written(how)}')
    if known.logarithm is not None:
        return known.logarithm(n)
    if known.exactly is None and n <= d:
        return n * math.log(2.0)
    if d <= 2_000:  # the logarithm of the integer itself; beyond, integers of thousands of digits are slow
        return math.log(known.bound(n))
    return _log_sauer(n, int(d)) if known.exactly is None else math.log(known.exactly(n))


def _log_sauer(n: int, d: int) -> float:
    """ln of the sum without its integers, for d so large that they are slow."""
    import numpy as np

    i = np.arange(1.0, d + 1)
    terms = np.concatenate([[0.0], np.cumsum(np.log((n - i + 1.0) / i))])
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))
