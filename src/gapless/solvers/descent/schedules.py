"""How long the steps are: theta <- theta - rate_t * direction, t = 1, 2, 3, ...

    constant          rate
    inverse           rate / (t + shift)
    inverse_root      rate / sqrt(t + shift)
    pegasos           1 / (lam (t + shift))                              lam of the problem, if none is given
    cosine            final + (rate - final) (1 + cos(pi t / steps)) / 2
    backtracking      the first of rate, shrink rate, ... with f(theta + step) <= f(theta) + decrease <gradient, step>
    exact             the minimum of f along the direction
    polyak            (f(theta) - optimum) / |gradient|^2                optimum: the least value of f

The last three look at f and need full gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from gapless._compile.jit import compiled
from gapless._runtime.results import result
from gapless._runtime.written import written


@result
@dataclass(frozen=True)
class Schedule:
    """Rates of a descent; made by ``Schedule.constant(0.1)``, ``Schedule.pegasos()``, ... A number stands for a constant one, and
    the name of a schedule for one with its default values.

    Attributes
    ----------
    kind : name of the schedule
    rate : first rate
    shift : steps that the decay is delayed by
    lam : lam of "pegasos"; None: that of the objective
    steps : steps of half a cosine wave
    final : last rate of the cosine
    shrink : factor by which backtracking shortens a step
    decrease : share of the promised decrease that backtracking asks for
    optimum : known minimum of f, for Polyak's rate
    """

    kind: str
    rate: float = 1.0
    shift: float = 0.0
    lam: float | None = None
    steps: int = 0
    final: float = 0.0
    shrink: float = 0.5
    decrease: float = 1e-4
    optimum: float = 0.0

    @classmethod
    def constant(cls, rate: float) -> Schedule:
        """Every step has the same ``rate``."""
        return cls("constant", rate=_positive("rate", rate))

    @classmethod
    def inverse(cls, rate: float = 1.0, shift: float = 0.0) -> Schedule:
        """``rate``/(t + ``shift``) at step t = 1, 2, ..."""
        return cls("inverse", rate=_positive("rate", rate), shift=_at_least_0("shift", shift))

    @classmethod
    def inverse_root(cls, rate: float = 1.0, shift: float = 0.0) -> Schedule:
        """``rate``/sqrt(t + ``shift``) at step t = 1, 2, ..."""
        return cls("inverse_root", rate=_positive("rate", rate), shift=_at_least_0("shift", shift))

    @classmethod
    def pegasos(cls, lam: float | None = None, shift: float = 0.0) -> Schedule:
        """1/(``lam`` (t + ``shift``)) at step t = 1, 2, ...; None stands for the lam of the objective."""
        given = None if lam is None else _positive("lam", lam)
        return cls("pegasos", lam=given, shift=_at_least_0("shift", shift))

    @classmethod
    def cosine(cls, rate: float, steps: int, final: float = 0.0) -> Schedule:
        """Half a cosine wave from ``rate`` to ``final`` in ``steps`` steps."""
        whole = int(_positive("steps", steps))
        return cls("cosine", rate=_positive("rate", rate), steps=whole, final=_at_least_0("final", final))

    @classmethod
    def backtracking(cls, rate: float = 1.0, shrink: float = 0.5, decrease: float = 1e-4) -> Schedule:
        """Begin at ``rate`` and shorten by ``shrink`` until f falls by the share ``decrease`` of what its slope promises."""
        for name, share in (("shrink", shrink), ("decrease", decrease)):
            if not 0.0 < _number(name, share) < 1.0:
                raise ValueError(f"{name} must be a float in the range (0.0, 1.0); got {written(share)}")
        return cls("backtracking", rate=_positive("rate", rate), shrink=float(shrink), decrease=float(decrease))

    @classmethod
    def exact(cls) -> Schedule:
        """The rate of the lowest value along the direction."""
        return cls("exact")

    @classmethod
    def polyak(cls, optimum: float = 0.0) -> Schedule:
        """(f - ``optimum``)/|gradient|^2."""
        if not math.isfinite(_number("optimum", optimum)):
            raise ValueError(f"optimum must be finite; got {written(optimum)}")
        return cls("polyak", optimum=float(optimum))

    @property
    def searches(self) -> bool:
        """Whether a rate depends on f and not on t alone."""
        return self.kind in ("backtracking", "exact", "polyak")

    def with_lam(self, lam: float | None) -> Schedule:
        """The schedule with the problem's own lam, where it needs one and has none."""
        if self.kind != "pegasos" or self.lam is not None:
            return self
        if not lam:
            what = "this function has no lam" if lam is None else "lam is 0 here"
            raise ValueError(f"the Pegasos schedule is 1/(lam t), and {what}: give it one, Schedule.pegasos(lam=...)")
        return Schedule("pegasos", lam=lam, shift=self.shift)

    def rates(self, first: int, out: np.ndarray) -> np.ndarray:
        """Into ``out``: the rates of the steps first, first + 1, ... (the first step of all is 1)."""
        code = ("constant", "inverse", "inverse_root", "pegasos", "cosine").index(self.kind)
        _fill(code, self.rate, self.shift, self.lam or 1.0, self.steps or 1, self.final, first, out)
        return out

    def __str__(self) -> str:
        plus = f" + {self.shift:g}" if self.shift else ""
        many = f"(t{plus})" if plus else "t"
        return {
            "constant": f"{self.rate:g}",
            "inverse": f"{self.rate:g}/{many}",
            "inverse_root": f"{self.rate:g}/sqrt({many.strip('()')})",
            "pegasos": f"1/({'lam' if self.lam is None else f'{self.lam:g}'} {many})",
            "cosine": f"cosine from {self.rate:g} to {self.final:g} in {self.steps:,} steps",
            "backtracking": f"backtracking from {self.rate:g}",
            "exact": "exact line search",
            "polyak": f"Polyak's, optimum {self.optimum:g}",
        }[self.kind]


#: What a name alone stands for.
DEFAULTS: dict[str, Callable[[], Schedule]] = {
    "inverse": Schedule.inverse,
    "inverse_root": Schedule.inverse_root,
    "pegasos": Schedule.pegasos,
    "backtracking": Schedule.backtracking,
    "exact": Schedule.exact,
    "polyak": Schedule.polyak,
}


def as_schedule(given: Any) -> Schedule:
    """A Schedule from what the user gave: one, a rate, or a name."""
    if isinstance(given, Schedule):
        return given
    if isinstance(given, str):
        if given not in DEFAULTS:
            raise ValueError(f"schedule must be among {sorted(DEFAULTS)}, a rate or a Schedule; got {written(given)}")
        return DEFAULTS[given]()
    if isinstance(given, Real) and not isinstance(given, bool):
        return Schedule.constant(float(given))
    raise TypeError(f"schedule must be a Schedule, a rate or one of {sorted(DEFAULTS)}; got {type(given).__name__}")


def _number(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number; got {type(value).__name__}")
    return float(value)


def _positive(name: str, value: Any) -> float:
    if not 0.0 < _number(name, value) < math.inf:
        raise ValueError(f"{name} must be a float in the range (0.0, inf); got {written(value)}")
    return float(value)


def _at_least_0(name: str, value: Any) -> float:
    if not 0.0 <= _number(name, value) < math.inf:
        raise ValueError(f"{name} must be a float in the range [0.0, inf); got {written(value)}")
    return float(value)


@compiled
def _fill(kind, rate, shift, lam, steps, final, first, out):
    if kind == 0:
        for k in range(out.size):
            out[k] = rate
    elif kind == 1:
        for k in range(out.size):
            out[k] = rate / (first + k + shift)
    elif kind == 2:
        for k in range(out.size):
            out[k] = rate / math.sqrt(first + k + shift)
    elif kind == 3:
        for k in range(out.size):
            out[k] = 1.0 / (lam * (first + k + shift))
    else:
        for k in range(out.size):
            share = min(1.0, (first + k) / steps)
            out[k] = final + 0.5 * (rate - final) * (1.0 + math.cos(math.pi * share))
