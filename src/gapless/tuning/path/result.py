"""The results of `path`: certified points with bounds between them, or the exact path of the hinge."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.results import result
from gapless.errors import at_zero
from gapless.rows.hashes import row_hashes
from gapless.solvers.linear.hinge_path import HingePath

from .points import Point, Session, Start, start_on_line
from .score_steps import ScoreSteps


class _Result:
    """The curve of a score over C, for any path.

    Attributes
    ----------
    parameter : "C", or "alpha" of ridge
    """

    parameter: str

    def _curve_points(self) -> np.ndarray:
        raise NotImplementedError

    def decision_function(self, X: Any, C: float) -> np.ndarray:
        raise NotImplementedError

    def model_at(self, C: float) -> Any:
        raise NotImplementedError

    def _training_rows(self) -> Any:
        raise NotImplementedError

    def trained_on(self, X: Any) -> bool:
        """Whether these are the rows that the path was fitted to, in any order."""
        fitted = self._training_rows()
        if np.shape(X) != fitted.shape:
            return False
        given = X if sparse.issparse(X) else np.asarray(X)
        if given.dtype.kind not in "fiub":
            return False
        ours, others = (np.sort(row_hashes(rows), axis=0) for rows in (fitted, given.astype(fitted.dtype)))
        return np.array_equal(ours, others)

    def scores(self, X: Any, y: Any, Cs: Any = None) -> np.ndarray:
        """The score (accuracy; Ridge: R2) of the model of each C on these rows; ``Cs``: other ones than those of the path."""
        Cs = self._curve_points() if Cs is None else np.asarray(Cs, float).ravel()
        return np.array([self.model_at(float(C)).score(X, y) for C in Cs])

    def best(self, X: Any, y: Any, Cs: Any = None) -> float:
        """The C of the best score on these rows, of the points of this path (with ``Cs``: of those); of equal ones the smallest
        (Ridge: the largest alpha): the simplest model.

        Rows that were fitted always prefer a large C: give others. ``Cs`` limits the choice to these.
        """
        Cs = self._curve_points() if Cs is None else np.sort(np.asarray(Cs, float).ravel())
        found = self.scores(X, y, Cs)
        top = np.flatnonzero(found >= found.max())
        return float(Cs[top[-1] if self.parameter == "alpha" else top[0]])


@result
class Path(_Result):
    """Certified points, and bounds that hold between them.

    Cs : every point, the asked ones and those added; ``asked`` says which
    certificates : one for each point, as of a fit; ``primal``, ``dual``, ``relative_gap`` are their figures as arrays
    between : the relative gap that the interpolated model keeps between neighbours, one number fewer than points
    coef, intercept : the coefficients of each point (linear models); ``dual_points`` : u of each training row

    Attributes
    ----------
    Cs : C (or alpha) of every point, those asked for and those added
    asked : which points were asked for
    certificates : one for each point, as of a fit
    screened : share of the rows whose side the gap of the neighbour had proved, for each point
    between : relative gap that the interpolated model keeps between neighbours, one number fewer than points
    between_asked : the largest of those that was asked for
    seconds : seconds of work
    """

    def __init__(
        self, session: Session, points: list[Point], between: np.ndarray, asked: float, seconds: float
    ) -> None:
        self._session, self._points = session, points
        self.between, self.between_asked, self.seconds = between, asked, seconds
        self.parameter = session.parameter
        self.Cs = np.array([point.C for point in points])
        self.asked = np.array([point.asked for point in points])
        self.certificates = [point.certificate for point in points]
        self.screened = np.array([point.screened for point in points])

    @property
    def primal(self) -> np.ndarray:
        """P of each point."""
        return np.array([c.primal for c in self.certificates])

    @property
    def dual(self) -> np.ndarray:
        """D of each point."""
        return np.array([c.dual for c in self.certificates])

    @property
    def relative_gap(self) -> np.ndarray:
        """Relative gap of each point."""
        return np.array([c.relative_gap for c in self.certificates])

    @property
    def status(self) -> list[str]:
        """Status of each point."""
        return [c.status for c in self.certificates]

    @property
    def converged(self) -> bool:
        """Whether every point converged."""
        return all(c.converged for c in self.certificates)

    def _array(self, name: str) -> np.ndarray:
        found = [c.arrays.get(name) for c in self.certificates]
        if found[0] is None:
            raise AttributeError(f"the points of this path have no {name}")
        return np.stack(found)

    @property
    def coef(self) -> np.ndarray:
        """Coefficients of each point (linear models)."""
        return self._array("coef")

    @property
    def intercept(self) -> np.ndarray:
        """Offset of each point (linear models)."""
        return self._array("intercept")

    @property
    def dual_points(self) -> np.ndarray:
        """u of each training row at each point."""
        return self._array("dual")

    def _curve_points(self) -> np.ndarray:
        return self.Cs

    def _training_rows(self) -> Any:
        return self._session.X

    def model_at(self, C: float) -> Any:
        """The fitted model at C, certified: a point of the path, or the line between two, whose gap ``between`` bounds."""
        C = float(C)
        near = int(np.argmin(np.abs(self.Cs - C)))
        if abs(self.Cs[near] - C) <= 1e-12 * C:
            return self._session.model(self._points[near])
        if not self.Cs[0] <= C <= self.Cs[-1]:
            raise ValueError(
                f"{self.parameter} = {C:g} is outside of this path, which goes from {self.Cs[0]:g} to {self.Cs[-1]:g}."
            )
        k = int(np.searchsorted(self.Cs, C)) - 1
        between = start_on_line(self._points[k], self._points[k + 1], C)
        return self._session.model(self._session.point(C, Start(between.arrays, ready=True), False))

    def decision_function(self, X: Any, C: float) -> np.ndarray:
        """The scores of the model at C."""
        model = self.model_at(C)
        return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)

    def __len__(self) -> int:
        return len(self._points)

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """A line for each point, as a notebook shows it; ``between`` is the bound up to the next point."""
        between = [*self.between.tolist(), None]
        columns = (self.Cs, self.asked, self.status, self.primal, self.dual, self.relative_gap, between)
        return (self.parameter, "asked", "status", "primal", "dual", "relative gap", "between"), list(
            map(list, zip(*columns))
        )

    def __str__(self) -> str:
        added = int((~self.asked).sum())
        done = sum(c.converged for c in self.certificates)
        name = str(self.certificates[0].statement["estimator"])
        head = (
            f"{name}: {len(self)} values of {self.parameter} from {self.Cs[0]:.4g} to {self.Cs[-1]:.4g}"
            f"{f' ({added} of them added)' if added else ''}, {done} certified to relative gap {self._session.tol:g}, "
            f"in {self.seconds:.3g} s."
        )
        if self.between.size:
            head += f" Between them the interpolated model keeps {self.between.max():.2g}."
        lines = [head, "", f"{self.parameter:>12} {'primal':>14} {'dual':>14} {'gap':>9} {'between':>9}  status"]
        shown = range(len(self)) if len(self) <= 60 else [*range(25), -1, *range(len(self) - 25, len(self))]
        for k in shown:
            if k < 0:
                lines.append(f"{'...':>12}")
                continue
            c = self.certificates[k]
            after = f"{self.between[k]:9.1e}" if k < self.between.size else f"{'':>9}"
            star = "" if self.asked[k] else " (added)"
            lines.append(
                f"{self.Cs[k]:12.6g} {c.primal:14.8g} {c.dual:14.8g} {c.relative_gap:9.1e} {after}  {c.status}{star}"
            )
        return "\n".join(lines)

    __repr__ = __str__


@result
class ExactPath(_Result):
    """Every break point of the hinge, and the solution at any C.

    breaks : the C at which the sets change; between two of them alpha, w and b are linear in C
    Cs : the same; ``primal``, ``dual``, ``relative_gap`` : P and D there, computed from alpha, at the worse of the two sides
    reach : the smallest and the largest C on the path; 0 is a limit, where alpha = 0 and w = 0

    Attributes
    ----------
    breaks : C at which the sets change; between two of them alpha, w and b are linear in C
    Cs : the same as ``breaks``
    primal : P at each break, from alpha, at the worse of the two sides
    dual : D at each break
    gap : P - D at each break
    reach : smallest and largest C on the path
    stalled : why the path ended early, None where it did not
    seconds : seconds of work
    """

    parameter = "C"

    def __init__(self, found: HingePath, figures: np.ndarray, owner: Any, seconds: float) -> None:
        self._found, self._owner, self.seconds = found, owner, seconds
        self.breaks = found.breaks
        self.Cs = found.breaks
        self.primal: np.ndarray = figures[:, 0]
        self.dual: np.ndarray = figures[:, 1]
        self.gap: np.ndarray = figures[:, 2]
        self.reach = found.reach
        self.stalled = found.stalled

    @property
    def relative_gap(self) -> np.ndarray:
        """gap / max(|P|, |D|) at each break."""
        return self.gap / np.maximum(np.abs(self.primal), np.abs(self.dual))

    def _curve_points(self) -> np.ndarray:
        low, high = self.reach
        ends = self.breaks if self.breaks.size else np.array([1.0])
        return np.geomspace(max(low, ends[0]), min(high, ends[-1]), min(200, max(2, ends.size)))

    def _training_rows(self) -> Any:
        return self._owner.X

    def score_steps(self, X: Any, y: Any) -> ScoreSteps:
        """The accuracy on these rows at every C of the path, and each C at which a row changes side: roots, not a scan."""
        return self._owner.score_steps(self._found, X, y)

    def scores(self, X: Any, y: Any, Cs: Any = None) -> np.ndarray:
        """The accuracy on these rows at each of ``Cs``, read off ``score_steps``; at a step that of larger C."""
        Cs = self._curve_points() if Cs is None else np.asarray(Cs, float).ravel()
        for C in Cs:
            self._check(float(C))
        return self.score_steps(X, y).score_at(Cs)

    def best(self, X: Any, y: Any, Cs: Any = None) -> float:
        """The C of the best accuracy on these rows, of all C of the path (with ``Cs``: of those alone).

        The accuracy is constant between the C at which a row changes side. Of the intervals with the best accuracy the one
        with the smallest C is taken, the simplest model, and of its C the geometric mean of the ends (half of the upper end
        where the lower one is 0, twice the lower one where the upper one is infinite). ``score_steps`` has all intervals.
        Rows that were fitted always prefer a large C: give others.
        """
        return self.score_steps(X, y).best if Cs is None else super().best(X, y, Cs)

    def _check(self, C: float) -> float:
        low, high = self.reach
        if not low <= C * (1.0 + 1e-12) or not C <= high * (1.0 + 1e-12) or not 0.0 <= C < np.inf:
            raise ValueError(f"C = {C:g} is outside of this path, which goes from {low:g} to {high:g}.")
        return float(C)

    def _at(self, C: float) -> tuple[np.ndarray, float]:
        """u and b at C; at C = 0 their limits."""
        return self._found.refine(C) if self._check(C) > 0.0 else self._found.limit_at_zero()

    def dual_at(self, C: float) -> np.ndarray:
        """u = alpha y of every training row at C."""
        return self._owner.dual(self._at(C)[0])

    def intercept_at(self, C: float) -> float:
        """b at C; where no support vector is free, the middle of its interval. At C = 0 the limit."""
        return self._at(C)[1]

    def decision_function(self, X: Any, C: float) -> np.ndarray:
        """The scores of the exact solution at C. At C = 0, where alpha = 0 and w = 0, the limit of the offset."""
        return self._owner.decision(X, *self._at(C))

    def model_at(self, C: float) -> Any:
        """The fitted and certified model at C: a fit that starts where the path is."""
        if self._check(C) == 0.0:
            raise ValueError(f"{at_zero('C')} This path's limit of the offset is {self.intercept_at(0.0):.6g}.")
        return self._owner.model(float(C), *self._found.refine(C))

    def __len__(self) -> int:
        return self.breaks.size

    def __str__(self) -> str:
        low, high = self.reach
        head = (
            f"{self._owner.name}: the exact path for C from {low:.4g} to {high:.4g} has {len(self)} break points; found in "
            f"{self.seconds:.3g} s."
        )
        if len(self):
            head += f" P = D to a relative gap of {self.relative_gap.max():.1e} at all of them."
        if self.stalled:
            head += f" It ends there: {self.stalled}."
        if low == 0.0:
            head += f" At C = 0, a limit: alpha = 0, w = 0, b = {self.intercept_at(0.0):.6g}."
        lines = [head, "", f"{'C':>14} {'primal':>16} {'dual':>16} {'gap':>9}"]
        shown = range(len(self)) if len(self) <= 24 else [*range(10), -1, *range(len(self) - 10, len(self))]
        for k in shown:
            if k < 0:
                lines.append(f"{'...':>14}")
                continue
            lines.append(
                f"{self.breaks[k]:14.8g} {self.primal[k]:16.10g} {self.dual[k]:16.10g} {self.relative_gap[k]:9.1e}"
            )
        return "\n".join(lines)

    __repr__ = __str__
