"""The settings that can be tried, all of them fixed before the data are read.

A search may visit few of them and choose the next by the scores so far: the training rows still choose one of all.  A bound
after tuning has to pay for that number, not for the number of visits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.kernels.named import takes_gamma


@dataclass(frozen=True)
class Axis:
    """The values of one parameter; numbers ascend."""

    name: str
    values: tuple[Any, ...]
    ordered: bool

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Part:
    """The product of some axes."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)


@result
class Lattice:
    """One product of axes, or several one after the other; candidates are numbered through, the last axis fastest.

    Attributes
    ----------
    parts : products of axes, one after the other
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self._starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def place(self, k: int) -> tuple[int, tuple[int, ...]]:
        """The part of candidate number ``k``, and its place on each axis."""
        which = int(np.searchsorted(self._starts, k, side="right")) - 1
        at = np.unravel_index(k - int(self._starts[which]), self.parts[which].shape)
        return which, tuple(int(i) for i in at)

    def number(self, which: int, at: Sequence[int]) -> int:
        """The candidate of part ``which`` at the places ``at`` on its axes."""
        return int(self._starts[which]) + int(np.ravel_multi_index(tuple(at), self.parts[which].shape))

    def parameters(self, k: int) -> dict[str, Any]:
        """The setting of candidate ``k``, name -> value."""
        which, at = self.place(k)
        return {axis.name: axis.values[i] for axis, i in zip(self.parts[which].axes, at)}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(dict.fromkeys(axis.name for part in self.parts for axis in part.axes))

    def document(self) -> list[dict[str, list[str]]]:
        """The lattice in a journal file: the values as they print."""
        return [{axis.name: [repr(v) for v in axis.values] for axis in part.axes} for part in self.parts]

    def __str__(self) -> str:
        shown = " + ".join(" x ".join(map(str, part.shape)) for part in self.parts)
        return f"{shown} = {len(self):,} candidates ({', '.join(self.names)})"


def from_grid(param_grid: Any) -> Lattice:
    """scikit-learn's ``param_grid``: a dict of lists, or a list of such dicts."""
    given = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
    parts = []
    for entry in given:
        if not isinstance(entry, Mapping) or not entry:
            raise ValueError(
                f"param_grid must be a dict of lists of values, or a list of such dicts; got {written(entry)}"
            )
        parts.append(Part(tuple(_axis(name, values) for name, values in entry.items())))
    return Lattice(parts)


def from_space(space: Any, points: int = 17) -> Lattice:
    """Ranges: (low, high), (low, high, "log" or "linear"), or a list of values to choose from.

    A range becomes ``points`` values, equal ratios apart where both ends are above 0 and a factor of 10 or more apart.
    """
    if not isinstance(space, Mapping) or not space:
        raise ValueError("space must be a dict: name -> (low, high), (low, high, 'log') or a list of values")
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 2:
        raise ValueError(f"points must be a whole number of at least 2; got {written(points)}")
    axes = []
    for name, entry in space.items():
        if isinstance(entry, tuple):
            axes.append(Axis(str(name), _range(name, entry, int(points)), True))
        else:
            axes.append(_axis(name, entry))
    return Lattice([Part(tuple(axes))])


def _range(name: Any, entry: tuple[Any, ...], points: int) -> tuple[Any, ...]:
    if len(entry) not in (2, 3) or not all(_is_number(v) for v in entry[:2]):
        raise ValueError(f"space[{name!r}] must be (low, high) or (low, high, 'log' or 'linear'); got {written(entry)}")
    low, high = entry[:2]
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"space[{name!r}]: low must be below high, both finite; got {written(entry)}")
    scale = entry[2] if len(entry) == 3 else ("log" if low > 0 and high >= 10 * low else "linear")
    if scale not in ("log", "linear") or (scale == "log" and low <= 0):
        raise ValueError(f"space[{name!r}]: the scale is 'log' (low > 0) or 'linear'; got {written(entry)}")
    values = np.geomspace(low, high, points) if scale == "log" else np.linspace(low, high, points)
    if isinstance(low, int | np.integer) and isinstance(high, int | np.integer):  # numbers of neighbours, depths ...
        return tuple(dict.fromkeys(round(v) for v in values.tolist()))
    return tuple(values.tolist())


def _axis(name: Any, values: Any) -> Axis:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f"the values of {name!r} must be a list; got {written(values)}")
    found = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not found:
        raise ValueError(f"there are no values of {name!r}")
    ordered = all(_is_number(v) for v in found)
    if ordered:
        found = sorted(set(found))
    return Axis(str(name), tuple(found), ordered)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def default_lattice(model: Any, y: Any = None) -> Lattice:
    """C and gamma of kernel machines by the grid of the LIBSVM guide, C of linear models, alpha of ridge.

    In a pipeline these are the parameters of its last step.

    C and epsilon of an SVR have the unit of the targets: they are multiples of the targets' standard deviation, so that the
    search of 1000 y finds 1000 times the model of y.  An epsilon other than the default is kept.
    """
    # Width of an SVR's tube where epsilon is left at its default of 0.1, in standard deviations of the targets.
    tube_width = 0.1
    prefix, last = "", model
    while isinstance(last, Pipeline):
        prefix += f"{last.steps[-1][0]}__"
        last = last.steps[-1][1]
    own = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    axes: dict[str, Any] = {}
    if "C" in own:
        axes["C"] = tuple(2.0**k for k in range(-5, 16, 2)) if "gamma" in own else tuple(2.0**k for k in range(-10, 11))
    if "gamma" in own and takes_gamma(own.get("kernel")):
        axes["gamma"] = tuple(2.0**k for k in range(-15, 4, 2))
    if "alpha" in own and not axes:
        axes["alpha"] = tuple(10.0**k for k in np.arange(-4.0, 4.25, 0.5))
    spread = float(np.std(np.asarray(y, dtype=np.float64))) if "epsilon" in own and y is not None else 0.0
    if "C" in axes and spread > 0.0:
        axes["C"] = tuple(spread * C for C in axes["C"])
        if own["epsilon"] == tube_width:
            axes["epsilon"] = (tube_width * spread,)
    if not axes:
        raise ValueError(
            f"{type(last).__name__} has neither C nor alpha: say what to search by param_grid={{...}} or space={{...}}"
        )
    return from_grid({prefix + name: values for name, values in axes.items()})
