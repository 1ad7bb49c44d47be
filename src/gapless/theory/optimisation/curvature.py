"""Rules by which convexity is inherited, as arithmetic.

    sum of convex functions with weights >= 0              convex       (if, not only if: 2 z^2 - z^2 is convex as well)
    maximum of convex functions                            convex
    convex(affine)                                         convex:      least squares is this, and then a sum
    convex and not falling (convex)                        convex       e^(z^2)
    convex and not growing (concave)                       convex       -log(sqrt z)
    -convex                                                concave;     convex as well only where it is affine

What no rule reaches is "unknown", which is not "not convex".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gapless._runtime.results import result
from gapless._runtime.written import written


@result
@dataclass(frozen=True)
class Curve:
    """What is known of a function: its curvature, whether it grows (1) or falls (-1) with its argument, and by which rule.

    Attributes
    ----------
    kind : "convex", "concave", "affine" or "unknown"
    slope : 1 where it grows with its argument, -1 where it falls, None where it is neither or not known
    why : rule that gives it, or "given"
    """

    kind: str
    slope: int | None = None
    why: str = "given"

    def __post_init__(self) -> None:
        kinds = ("affine", "convex", "concave", "unknown")
        if self.kind not in kinds:
            raise ValueError(f"kind must be one of {', '.join(kinds)}; got {self.kind!r}")
        if self.slope not in (None, -1, 1):
            raise ValueError(f"slope must be 1, -1 or None; got {written(self.slope)}")

    @property
    def convex(self) -> bool | None:
        """True where the rules prove it, None where they are silent; False for what is concave and not said to be affine."""
        return {"affine": True, "convex": True, "concave": False, "unknown": None}[self.kind]

    def __neg__(self) -> Curve:
        turned = {"convex": "concave", "concave": "convex"}.get(self.kind, self.kind)
        slope = None if self.slope is None else -self.slope
        return Curve(turned, slope, f"minus a {self.kind} function" if turned != self.kind else self.why)

    def __add__(self, other: Curve) -> Curve:
        return weighted_sum([1.0, 1.0], [self, other])

    def __sub__(self, other: Curve) -> Curve:
        return weighted_sum([1.0, -1.0], [self, other])

    def __mul__(self, factor: float) -> Curve:
        return weighted_sum([factor], [self])

    __rmul__ = __mul__

    def __str__(self) -> str:
        return f"{self.kind} ({self.why})"


def convex(slope: int | None = None) -> Curve:
    """A function known to be convex: ``slope`` 1 where it never falls, -1 where it never grows.

    Parameters
    ----------
    slope : 1 where it grows with its argument, -1 where it falls, None otherwise
    """
    return Curve("convex", slope)


def concave(slope: int | None = None) -> Curve:
    """A concave function, as the rules of composition see it.

    Parameters
    ----------
    slope : 1 where it grows with its argument, -1 where it falls, None otherwise
    """
    return Curve("concave", slope)


def affine(slope: int | None = None) -> Curve:
    """An affine function, as the rules of composition see it: convex and concave.

    Parameters
    ----------
    slope : 1 where it grows with its argument, -1 where it falls, None otherwise
    """
    return Curve("affine", slope)


def weighted_sum(weights: Sequence[Any], curves: Sequence[Curve]) -> Curve:
    """sum_i w_i f_i.

    Parameters
    ----------
    weights : factor of each function
    curves : `Curve` of each function
    """
    if len(weights) != len(curves) or not curves:
        raise ValueError(f"one weight for each function: got {len(weights)} and {len(curves)}")
    parts = [c if w > 0 else -c for w, c in zip(weights, curves) if w != 0]
    if all(c.kind == "affine" for c in parts):
        kind, why = "affine", "a sum of affine functions"
    elif all(c.kind in ("affine", "convex") for c in parts):
        kind, why = "convex", "a sum of convex functions with weights that are not negative"
    elif all(c.kind in ("affine", "concave") for c in parts):
        kind, why = "concave", "a sum of concave functions"
    else:
        kind, why = "unknown", "a sum of functions that bend both ways, or a negative weight: no rule says"
    slopes = {c.slope for c in parts}
    return Curve(kind, slopes.pop() if len(slopes) == 1 else None, why)


def maximum(*curves: Curve) -> Curve:
    """max_i f_i.

    Parameters
    ----------
    curves : `Curve` of each function
    """
    if not curves:
        raise ValueError("a maximum needs a function")
    if len(curves) == 1:
        return curves[0]
    slopes = {c.slope for c in curves}
    slope = slopes.pop() if len(slopes) == 1 else None
    if all(c.kind in ("affine", "convex") for c in curves):
        return Curve("convex", slope, "a maximum of convex functions")
    return Curve("unknown", slope, "a maximum of functions that are not all convex: no rule says")


def compose(outer: Curve, inner: Curve) -> Curve:
    """outer(inner(z)), outer being a function of one number (or of a vector, where inner is affine).

    Parameters
    ----------
    outer : `Curve` of g
    inner : `Curve` of h, or a list of them for a g of several arguments
    """
    slope = None if outer.slope is None or inner.slope is None else outer.slope * inner.slope
    if inner.kind == "affine":
        return Curve(outer.kind, slope, f"a function that is {outer.kind}, of an affine one")
    if outer.kind in ("convex", "affine") and (
        (outer.slope == 1 and inner.kind == "convex") or (outer.slope == -1 and inner.kind == "concave")
    ):
        how = "never falls, of a convex one" if outer.slope == 1 else "never grows, of a concave one"
        return Curve("convex", slope, f"a convex function that {how}")
    if outer.kind in ("concave", "affine") and (
        (outer.slope == 1 and inner.kind == "concave") or (outer.slope == -1 and inner.kind == "convex")
    ):
        how = "never falls, of a concave one" if outer.slope == 1 else "never grows, of a convex one"
        return Curve("concave", slope, f"a concave function that {how}")
    return Curve("unknown", slope, "a composition that no rule covers")
