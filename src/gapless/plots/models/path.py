"""PathDisplay: models of all C: their scores, their coefficients or support vectors, and the gap at every one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless.plots.style import COLOURS, DASHES, GREY, HATCHES, INK, MARKERS, PALE, Display, below, plain, say

__all__ = ["PathDisplay"]


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """What C does: too small underfits, too large overfits, and between two points of the path a gap is proved too.

    Panels, where their numbers are known: the score on given rows, with the best C; the coefficients, or of an exact path
    the shares of rows with alpha = 0, between, and = C; the relative gap at each point, and the bound that holds between two.
    The score of an exact path is drawn as it is: constant between the C at which a row changes side, found exactly.

    Attributes
    ----------
    edges : exact path: the ends of the steps of scores
    judged : the name of the scores that ``best`` is the best of
    Cs : C (or alpha) of each point
    relative_gap : relative gap at each point
    parameter : "C" or "alpha"
    between : one number fewer than points
    coef : (points, columns)
    shares : (points of ``at``, 3): of alpha = 0, between, = C
    at : the C of scores and shares; None: Cs
    scores : name -> score on given rows at each point
    best : C of the best score, None without scores
    names : names of the coefficients
    scores_ : dictionary name -> line (exact path: steps); best_
    coefficients_ : list of lines; shares_ : list of areas; gap_, between_ : artists
    """

    Cs: np.ndarray
    relative_gap: np.ndarray
    parameter: str = "C"
    between: np.ndarray | None = None
    coef: np.ndarray | None = None
    shares: np.ndarray | None = None
    at: np.ndarray | None = None
    scores: dict[str, np.ndarray] = field(default_factory=dict)
    best: float | None = None
    names: tuple[str, ...] = ()
    edges: dict[str, np.ndarray] = field(default_factory=dict)
    judged: str | None = None
    _height = 3.9

    @classmethod
    def from_path(
        cls,
        result: Any,
        X: Any = None,
        y: Any = None,
        *,
        X_test: Any = None,
        y_test: Any = None,
        feature_names: Any = None,
    ) -> PathDisplay:
        """Of what ``path`` returned.

        ``result`` is a `Path` or an `ExactPath`, ``feature_names`` names its coefficients.

        Parameters
        ----------
        X, y : rows whose score is drawn; called training rows where the path was fitted to them, given rows otherwise
        X_test, y_test : other rows: their best score is marked
        feature_names : names of the columns; by default those of the frame X
        """
        Cs = np.asarray(result.Cs, dtype=np.float64)
        if Cs.size == 0:
            raise ValueError("this path has no points")
        between = getattr(result, "between", None)
        at, coef, shares = Cs, None, None
        scores, edges, best, judged = _scored(result, [(X, y, "given rows"), (X_test, y_test, "other rows")])
        if hasattr(result, "breaks"):
            at = _looks(result, Cs, best)
            shares = np.array([_shares(result.dual_at(float(C)), float(C)) for C in at])
        else:
            coef = _coefficients(result)
        names = [] if feature_names is None else list(feature_names)
        if not names and coef is not None:
            names = list(getattr(X, "columns", [f"x{j}" for j in range(coef.shape[1])]))
        return cls(
            Cs, np.asarray(result.relative_gap, dtype=np.float64), plain(getattr(result, "parameter", "C")),
            None if between is None or np.size(between) == 0 else np.asarray(between, dtype=np.float64), coef, shares, at, scores,
            best, tuple(plain(n) for n in names), edges, judged,
        )  # fmt: skip

    def title(self) -> str:
        """What the scores say."""
        if self.best is None or self.judged is None:
            return f"{self.Cs.size:,} points from {self.parameter} = {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}"
        top = float(self.scores[self.judged].max())
        text = f"best on {self.judged}: {top:.4g} at {self.parameter} = {self.best:.4g}"
        if self.judged in self.edges:
            k = int(np.argmax(self.scores[self.judged]))
            low, high = self.edges[self.judged][k : k + 2]
            text += f", the same from {low:.4g} to {high:.4g}"
        return text

    def _panels(self) -> list[str]:
        found = ["scores"] if self.scores else []
        if self.coef is not None:
            found.append("coef")
        elif self.shares is not None:
            found.append("shares")
        return [*found, "gap"]

    @property
    def _widths(self) -> tuple[float, ...]:
        return tuple(4.1 for _ in self._panels())

    def _draw(self) -> None:
        self.scores_: dict[str, Any] = {}
        self.coefficients_: list[Any] = []
        self.shares_: list[Any] = []
        self.best_ = None
        for ax, what in zip(self.axes_, self._panels()):
            getattr(self, f"_draw_{what}")(ax)
            ax.set(xscale="log", xlabel=self.parameter)

    def _draw_scores(self, ax: Any) -> None:
        at = self.Cs if self.at is None else self.at
        for k, (name, values) in enumerate(self.scores.items()):
            if name in self.edges:
                edges = np.clip(self.edges[name], at[0], at[-1])
                self.scores_[name] = ax.stairs(
                    values, edges, baseline=None, color=COLOURS[k], linestyle=DASHES[k], linewidth=1.3, label=name
                )
                continue
            (self.scores_[name],) = ax.plot(
                at, values, color=COLOURS[k], linestyle=DASHES[k], marker=MARKERS[k], markersize=3, label=name
            )
        if self.best is not None:
            self.best_ = ax.axvline(self.best, color=INK, linewidth=0.9, linestyle=":", label=f"best {self.parameter}")
        ax.set_ylabel("score")
        below(ax)
        say(ax, self.title())

    def _draw_coef(self, ax: Any) -> None:
        assert self.coef is not None
        order = np.argsort(-np.abs(self.coef[-1]), kind="stable")
        for k, j in enumerate(order.tolist()):
            named = k < 5  # more names than that hide each other
            look: dict[str, Any] = (
                {"color": COLOURS[k % 6], "linestyle": DASHES[k % 6], "label": self.names[j]} if named else {}
            )
            self.coefficients_ += ax.plot(
                self.Cs, self.coef[:, j], **{"color": PALE, "linewidth": 1.2 if named else 0.7, **look}
            )
        ax.axhline(0.0, color=GREY, linewidth=0.7)
        ax.set_ylabel("coefficient")
        below(ax)
        size = np.linalg.norm(self.coef, axis=1)
        say(ax, f"‖w‖ goes from {size[0]:.3g} to {size[-1]:.3g}; the largest at the end are named")

    def _draw_shares(self, ax: Any) -> None:
        assert self.shares is not None
        assert self.at is not None
        bottom = np.zeros(len(self.at))
        looks = (("α = C", COLOURS[0], HATCHES[0]), ("0 < α < C", "white", HATCHES[1]), ("α = 0", "white", HATCHES[2]))
        for column, (name, face, hatch) in zip((2, 1, 0), looks):
            top = bottom + self.shares[:, column]
            self.shares_.append(
                ax.fill_between(
                    self.at, bottom, top, facecolor=face, edgecolor=COLOURS[0], hatch=hatch, linewidth=0.6, label=name
                )
            )
            bottom = top
        ax.set(ylabel="share of the rows", ylim=(0.0, 1.0), xlim=(self.at[0], self.at[-1]))
        below(ax, columns=3)
        held = 1.0 - self.shares[:, 0]
        say(
            ax,
            f"support vectors: {100 * held[0]:.3g} % of the rows at the left end, {100 * held[-1]:.3g} % at the right",
        )

    def _draw_gap(self, ax: Any) -> None:
        shown = np.maximum(self.relative_gap, 1e-17)
        (self.gap_,) = ax.plot(
            self.Cs, shown, "o", color=COLOURS[0], markersize=3.5, linestyle="none", label="at the points"
        )
        self.between_ = None
        said = f"at {self.Cs.size:,} points the relative gap is at most {float(self.relative_gap.max()):.1e}"
        if self.between is not None:
            self.between_ = ax.stairs(
                self.between,
                self.Cs,
                color=INK,
                linewidth=1.0,
                linestyle="--",
                baseline=None,
                label="proved between them",
            )
            said += f", {float(self.between.max()):.1e} between them"
        ax.set(yscale="log", ylabel="relative gap")
        below(ax)
        say(ax, said)


def _shares(u: np.ndarray, C: float) -> tuple[float, float, float]:
    # alpha within this share of C of 0 or C is there.
    near_end = 1e-9
    alpha = np.abs(np.ravel(u))
    none, full = alpha <= near_end * C, alpha >= (1.0 - near_end) * C
    return float(none.mean()), float((~none & ~full).mean()), float(full.mean())


def _scored(
    result: Any, asked: list[tuple[Any, Any, str]]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], float | None, str | None]:
    """Scores along the path and where they step, by the name of the rows; the best C on the rows asked last, and their name."""
    scores: dict[str, np.ndarray] = {}
    edges: dict[str, np.ndarray] = {}
    best, judged = None, None
    for k, (rows, labels, otherwise) in enumerate(asked):
        if rows is None:
            continue
        name = "training rows" if result.trained_on(rows) else otherwise
        name = f"{name}, as X_test" if name in scores else name
        if hasattr(result, "breaks"):
            steps = result.score_steps(rows, labels)
            scores[name], edges[name], found = steps.scores, steps.edges, steps.best
        else:
            Cs = np.asarray(result.Cs, dtype=np.float64)
            scores[name] = np.asarray(result.scores(rows, labels, Cs), dtype=np.float64)
            found = float(result.best(rows, labels, Cs))
        if k == len(asked) - 1:
            best, judged = found, name
    return scores, edges, best, judged


def _looks(result: Any, Cs: np.ndarray, best: float | None, n_looks: int = 60) -> np.ndarray:
    """The C at which the dual of an exact path is read: from below its first break point to above its last one."""
    low, high = getattr(result, "reach", (Cs[0], Cs[-1]))
    ends = [Cs[0] / 2.0, Cs[-1] * 2.0] + ([] if best is None else [best / 1.5, best * 1.5])
    at = np.geomspace(max(low, min(ends)), min(high, max(ends)), n_looks)
    at[0], at[-1] = max(low, min(ends)), min(high, max(ends))  # no rounding beyond the ends
    return at


def _coefficients(result: Any) -> np.ndarray | None:
    """One row of coefficients a point, where the model is linear and has two classes."""
    try:
        found = np.asarray(result.coef, dtype=np.float64)
    except AttributeError:
        return None
    return found[:, 0, :] if found.ndim == 3 and found.shape[1] == 1 else found if found.ndim == 2 else None
