"""What a search found, and what it is worth on new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.verify import as_matrix, last_step
from gapless.judge.fingerprint import digest, row_hashes
from gapless.theory.samples.hoeffding import clopper_pearson

from .folds import Folds
from .lattice import Lattice


@result
@dataclass(frozen=True)
class TuningBound:
    """An upper end for an error, the choice among all candidates paid for.

    Attributes
    ----------
    value : the bound
    delta : probability with which the statement may fail
    n_candidates : settings that could have been chosen
    what : what is bounded, in words
    paid : whether the choice is paid for
    """

    value: float
    delta: float
    n_candidates: int
    what: str
    paid: bool = True

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is 1 or more."""
        return self.value >= 1.0

    def __str__(self) -> str:
        said = "vacuous" if self.vacuous else f"{self.value:.6g}"
        paid = f"{self.n_candidates:,} candidates paid for" if self.paid else "the choice not paid for"
        return f"{self.what}: at most {said}, but for a failure of probability {self.delta:g}; {paid}"


@result
@dataclass(frozen=True)
class Nested:
    """The procedure, choice included, on outer folds that chose nothing.

    Attributes
    ----------
    params : setting that was chosen on each outer fold
    entries : (score, relative gap, errors, rows) of each outer fold
    """

    params: tuple[dict[str, Any], ...]
    entries: tuple[tuple[Any, ...], ...]

    @property
    def scores(self) -> np.ndarray:
        """Score on each outer fold."""
        return np.array([entry[0] for entry in self.entries])

    @property
    def score(self) -> float:
        """Mean score over the outer folds."""
        return float(self.scores.mean())

    def __str__(self) -> str:
        spread = float(self.scores.std(ddof=1)) if self.scores.size > 1 else math.nan
        return f"nested: {self.score:.6g} (spread of {self.scores.size} outer folds {spread:.2g})"


@result
@dataclass(frozen=True, eq=False)
class Tuning:
    """The record of a search.

    Attributes
    ----------
    method : "grid", "bisection", "bayes" or "random"
    status : complete, time_limit or interrupted
    lattice : all candidates
    best_index : number of the candidate that was chosen
    scores : of each candidate that was visited, a number for each fold
    entries : of each candidate, (score, relative gap, errors, rows) for each fold
    folds : the splits
    n_fits : of this run; scores from a file are not counted
    resumed : scores that came from a file
    seconds : seconds of work
    refit : whether the chosen setting was fitted on all rows
    counted : whether errors were counted (a classifier, rows without weights), so that ``bound`` exists
    failed : candidate -> why its fit failed
    nested : score of the whole procedure on outer folds, None unless asked for
    """

    method: str
    status: str
    lattice: Lattice
    best_index: int
    scores: dict[int, np.ndarray]
    entries: dict[int, list[Any]]
    folds: Folds
    n_fits: int
    resumed: int
    seconds: float
    refit: bool
    counted: bool
    failed: dict[int, str] = field(default_factory=dict)
    nested: Nested | None = None

    @property
    def n_candidates(self) -> int:
        """Settings among which the rows may have chosen: all of the lattice, not only those visited."""
        return len(self.lattice)

    @property
    def n_visited(self) -> int:
        """Candidates that were scored."""
        return len(self.scores)

    @property
    def best_params(self) -> dict[str, Any]:
        """The setting that was chosen."""
        return self.lattice.parameters(self.best_index)

    @property
    def best_score(self) -> float:
        """The mean score of the chosen setting over the folds."""
        return self.folds.mean(self.scores[self.best_index])

    @property
    def unconverged(self) -> int:
        """Fits whose relative gap is above 1e-2: their scores are of models far from their optimum."""
        return sum(1 for line in self.entries.values() for entry in line if entry and entry[1] > 1e-2)

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each candidate that was visited, best first: params, score, the score of each fold, the worst gap."""
        rows = [
            {
                "params": self.lattice.parameters(k),
                "score": self.folds.mean(found),
                "folds": found.tolist(),
                "gap": max((entry[1] for entry in self.entries[k] if entry), default=math.nan),
            }
            for k, found in self.scores.items()
        ]
        return sorted(rows, key=lambda row: -np.inf if math.isnan(row["score"]) else row["score"], reverse=True)

    def surface(self, row: str, column: str) -> tuple[np.ndarray, list[Any], list[Any]]:
        """Mean scores as a matrix over two parameters, the best over all others; NaN where nothing was visited.

        ``row`` and ``column`` name the two.
        """
        axes = {axis.name: axis for part in self.lattice.parts for axis in part.axes}
        missing = [name for name in (row, column) if name not in axes]
        if missing:
            raise ValueError(f"no parameter {missing[0]!r}; there are {', '.join(axes)}")
        left, right = list(axes[row].values), list(axes[column].values)
        found = np.full((len(left), len(right)), np.nan)
        for k, scores in self.scores.items():
            own = self.lattice.parameters(k)
            if row in own and column in own:
                i, j = left.index(own[row]), right.index(own[column])
                found[i, j] = np.fmax(found[i, j], self.folds.mean(scores))
        return found, left, right

    def bound(self, delta: float = 0.05, *, paid: bool = True) -> TuningBound:
        """A bound on the error of the chosen setting on new rows, from the rows that were left out.

        refit=False, one split: the error of the returned model is at most the exact binomial end for its errors on the rows held
        out, at delta divided by the number of candidates. K folds: the mean error of the K models that the chosen setting
        gave, each on K - 1 folds, at delta divided by K and by the number of candidates; the model fitted on all rows is
        another one, for which `gapless.bounds` has bounds. ``paid=False`` leaves the candidates unpaid, which is false for what
        was chosen, and is there to show it.
        """
        line = self.entries[self.best_index]
        if not self.counted or any(entry is None or math.isnan(entry[2]) for entry in line):
            raise ValueError("errors are counted for classifiers, on rows without weights")
        if not 0.0 < float(delta) < 1.0:
            raise ValueError(f"delta must be between 0 and 1; got {written(delta)}")
        share = float(delta) / len(line) / (self.n_candidates if paid else 1)
        ends = [clopper_pearson(int(entry[2]), int(entry[3]), share, 1).high for entry in line]
        tests = [test for _, test in self.folds.splits]
        if len(line) == 1:
            what = "error of the model that was fitted on the training part"
            what = what if not self.refit else what + " (not of the one that was fitted on all rows)"
        else:
            what = f"mean error of the {len(line)} models of the folds"
            if sum(test.size for test in tests) != np.unique(np.concatenate(tests)).size:
                what += ", which overlap"
        return TuningBound(float(np.mean(ends)), float(delta), self.n_candidates, what, paid)

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """The best candidates, as a notebook shows them."""
        head = ("params", "score", "folds", "gap")
        return head, [[row[name] for name in head] for row in self.table[:12]]

    def __str__(self) -> str:
        chosen = ", ".join(f"{name}={_short(value)}" for name, value in self.best_params.items())
        d = max((len(part.axes) for part in self.lattice.parts), default=1)
        cost = ""
        if self.method != "grid":
            points = round(len(self.lattice) ** (1.0 / d))
            cost = f" ({100.0 * self.n_visited / len(self.lattice):.0f} % of the grid's {points}^{d})" if d > 1 else ""
        lines = [
            f"{chosen}: {self.best_score:.6g} on {self.folds.said}",
            f"{self.method}: {self.n_visited:,} of {self.lattice} visited{cost}, {self.n_fits:,} fits"
            + (f" and {self.resumed:,} scores from the file" if self.resumed else "")
            + f", {self.seconds:.3g} s, {self.status}",
        ]
        lines += [str(self.nested)] if self.nested is not None else []
        if self.failed:
            lines.append(f"{len(self.failed)} candidates could not be fitted: {next(iter(self.failed.values()))}")
        if self.unconverged:
            lines.append(f"{self.unconverged} fits ended far from their optimum")
        return "\n".join(lines)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def attach(model: Any, tuning: Tuning, held_out: Any) -> Any:
    """Put the record on the fitted model; its certificate states the number of settings that the rows chose among."""
    model.tuning_ = tuning
    step = model
    while hasattr(step, "steps"):
        step = step.steps[-1][1]
    certificate = getattr(step, "certificate_", None)
    if is_dataclass(certificate) and not isinstance(certificate, type) and hasattr(certificate, "statement"):
        named = None
        if held_out is not None:
            named = digest(row_hashes(as_matrix(last_step(model, held_out)[1])), "<u8")
        stated = {
            "method": tuning.method,
            "candidates": tuning.n_candidates,
            "visited": tuning.n_visited,
            "folds": len(tuning.folds),
            "held_out": named,
        }
        step.certificate_ = replace(certificate, statement={**certificate.statement, "tuning": stated})
    return model
