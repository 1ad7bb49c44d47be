"""The rows of a perceptron's fit, and the proofs about them: can they be separated, by which direction, how many mistakes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._runtime.results import result
from gapless.certificates.perceptron import MistakeBound, Witness, mistake_bound
from gapless.encode.labels import Labels
from gapless.problems.separation import Separation
from gapless.rows import Rows, as_rows, n_stored, scores
from gapless.rows.copies.choose import best_copy
from gapless.solvers.hard_margin.solve import hard_margin
from gapless.solvers.loop import SMALL_FIT_VALUES
from gapless.solvers.perceptron import Penalty, Run
from gapless.solvers.perceptron_thresholds import PERCEPTRON_THRESHOLDS
from gapless.solvers.separation.decide import Undecided, separate


@dataclass(frozen=True)
class PerceptronRequest:
    """The parameters of an estimator, and the model that it asks for."""

    estimator: str
    parameters: Mapping[str, Any]
    fit_intercept: bool
    rate: float
    penalty: str | None
    alpha: float
    l1_ratio: float
    tol: float | None
    patience: int
    passes: int
    seconds: float | None
    shuffle: bool
    variant: str
    certify: bool | str
    traced: bool
    n_jobs: int | None

    @property
    def proves(self) -> bool:
        """Whether the proof is asked for at any cost: a direction that separates, or multipliers that none does."""
        return self.certify is True or (bool(self.certify) and self.tol is None)

    @property
    def heeds_tol(self) -> bool:
        """Whether ``tol`` ends the fit with the last weights, as in scikit-learn; a proof is then an addition."""
        return self.tol is not None and self.certify is not True

    @property
    def shrinks(self) -> Penalty | None:
        if self.penalty is None:
            return None
        return Penalty(self.alpha, {"l2": 0.0, "l1": 1.0}.get(self.penalty, self.l1_ratio))


class EncodedRows(NamedTuple):
    """The data of a fit: classes as numbers, and the weights of rows and of classes."""

    X: Any
    labels: Labels
    weights: np.ndarray
    class_weight: np.ndarray
    validation: np.ndarray  #: rows that are held out, and not learnt from
    weighted: bool  #: the user gave weights
    feature_names: Any = None


class LearningRows:
    """Rows and costs of a fit, shared by the subproblems of all classes."""

    def __init__(self, request: PerceptronRequest, encoded: EncodedRows) -> None:
        X, labels, validation = encoded.X, encoded.labels, encoded.validation
        self.request, self.X, self.labels = request, X, labels
        self.c = encoded.weights * encoded.class_weight[labels.index]
        self.counted = np.flatnonzero(self.c > 0.0)
        self.learns = np.flatnonzero((self.c > 0.0) & ~validation)
        self.held_out = np.flatnonzero((self.c > 0.0) & validation)
        self.weighted = bool((self.c[self.learns] != 1.0).any())
        values = X.data if sparse.issparse(X) else X
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        self.scale = 1.0
        large = 2.0**400  # entries up to here are squared without overflow; larger ones are scaled by a power of two
        if largest > large or (0.0 < largest < 1.0 / large and not request.fit_intercept):
            self.scale = 2.0 ** -float(math.frexp(largest)[1])
        if self.scale != 1.0:
            X = X * X.dtype.type(self.scale) if X.dtype == np.float64 else X.astype(np.float64) * self.scale
        # With s (x, 1) in the place of (x, 1) everything is the same, theta being s theta.
        self.rows: Rows = as_rows(X, self.scale if request.fit_intercept else 0.0)
        repays = request.passes * len(labels.positives) >= 6  # passes from which on a copy of the rows pays
        self.fast = best_copy(self.rows, "random") if repays else self.rows

    @property
    def small(self) -> bool:
        """Whether separability and the margin may be asked for at once, without regard to time."""
        return self.X.shape[0] * (self.X.shape[1] + 1) <= SMALL_FIT_VALUES

    @property
    def in_time(self) -> bool:
        """Whether a proof may be looked for, which looks at no clock: with a time limit on small data alone."""
        return self.small or self.request.seconds is None

    def can_afford_proof(self, run: Run) -> bool:
        """Whether a proof costs at most a fifth of what the run did, both counted in values read: equal fits go equal ways."""
        limits, stored = PERCEPTRON_THRESHOLDS, n_stored(self.rows)
        work = limits.proof_work(stored, self.X.shape[1])
        done = run.passes * limits.pass_work(stored, self.learns.size)
        return bool(self.request.certify) and self.in_time and done >= limits.proof_share * work

    def unbounded(self) -> str:
        """Why there can be no bound on the mistakes, in words; nothing where there can."""
        if self.request.penalty is not None:
            return "the penalty shrinks the weights at each visit, which the bound does not allow for"
        if self.weighted:
            return "the weights of rows change the length of steps, which the bound does not allow for"
        if self.held_out.size:
            return "some rows were held out by early_stopping"
        if self.scale != 1.0:
            return "squares of the values are out of the range of floats"
        return "" if self.request.certify else "certify=False"


class RunEnding(NamedTuple):
    """How a run ended, and what is known about its rows then."""

    status: str
    witness: Witness | None = None  #: a proof that nothing separates them
    known: np.ndarray | None = None  #: a direction that does
    asked: bool = False  #: whether the question was asked


def ask_separability(data: LearningRows, y: np.ndarray) -> tuple[Witness | None, np.ndarray | None]:
    """Find multipliers that prove that nothing separates the rows, or a direction that does; neither where rounding hides it."""
    learns, offset = data.learns, data.request.fit_intercept
    problem = Separation(data.X[learns], (y[learns] > 0).astype(np.int64), 2, offset)
    if problem.index.min() == problem.index.max():
        return None, None  # rows of one class alone count
    try:
        found = separate(problem, brief=True)
    except Undecided:
        return None, None
    if found.theta is None or found.status != "complete":
        return Witness.of(
            learns[found.pairs].tolist(), found.multipliers
        ), None  # a pair is a row where classes are two
    theta = np.asarray(found.theta[0], dtype=np.float64)
    return None, theta if offset else np.append(theta, 0.0)


def find_direction(
    data: LearningRows, run: Run, y: np.ndarray, ending: RunEnding
) -> tuple[np.ndarray, MistakeBound | None, str]:
    """Find the direction that proves the best bound; returns it with the bound, or with the reason why there is none.

    Any direction that separates proves a bound: the last weights after a clean pass, the direction of the separation test, and,
    where the proof is asked for, the direction of the largest margin, whose bound is the least that the proof can give.
    """
    task, known = data.request, ending.known
    none = np.zeros(run.theta.size)
    why = data.unbounded()
    if why:
        return none, None, why
    if ending.status == "infeasible":
        return none, None, "no hyperplane separates the classes"
    candidates = [known] if known is not None else []
    if ending.status == "converged":
        candidates.append(run.theta)
    if candidates and (task.certify is True or (task.proves and data.small)):
        widest = _widest(data, y)
        candidates += [widest] if widest is not None else []
    best: tuple[np.ndarray, MistakeBound | None] = (none, None)
    for t in candidates:
        found = mistake_bound(data.rows, y, data.learns, t, run.start, data.request.rate)
        if found is not None and (best[1] is None or found.bound < best[1].bound):
            best = t / np.linalg.norm(t), found
    if best[1] is None:
        why = "no direction is known that separates the classes"
        if candidates:
            why = "the margin is too small for float64"
        elif not ending.asked:
            why = "whether a hyperplane separates the classes was not asked (certify=True asks)"
    return *best, why


def _widest(data: LearningRows, y: np.ndarray) -> np.ndarray | None:
    """The direction of the largest margin of (x, 1)."""
    learns = data.learns
    found = hard_margin(data.X[learns], y[learns], offset="penalised" if data.request.fit_intercept else "none")
    if found.status == "infeasible" or not np.isfinite(found.w).all():
        return None
    return np.append(found.w, found.b if data.request.fit_intercept else 0.0)


@result
class Step(NamedTuple):
    """One row of a trace: update number k, with the two inequalities of the proof that it will end.

    ``along`` = <t, theta_k> is at least ``along_least``, and ``norm`` = |theta_k| at most ``norm_most``; their quotient
    ``cosine`` cannot exceed 1, and that is what bounds k. t is the direction of the certificate; without one these are not
    a number.

    Attributes
    ----------
    k : number of the update, from 1
    pass_, row : the pass, and the row that was on the wrong side
    before, after : y <theta, x> of the row before and after the update
    broke, mended : rows that the update put on the wrong side, and on the right one
    norm, norm_most : the length of theta, and the most that it can be: sqrt(|start|^2 + k rate^2 R^2)
    along, along_least : <t, theta>, and the least that it can be: <t, start> + k rate gamma
    cosine : along / norm
    theta : (w, b) after the update; of a fit without offset b is 0
    """

    k: int
    pass_: int
    row: int
    before: float
    after: float
    broke: tuple[int, ...]
    mended: tuple[int, ...]
    norm: float
    norm_most: float
    along: float
    along_least: float
    cosine: float
    theta: np.ndarray

    def __str__(self) -> str:
        return (
            f"update {self.k} (pass {self.pass_}, row {self.row}): y<theta, x> from {self.before:.4g} to {self.after:.4g}; "
            f"<t, theta> = {self.along:.4g} >= {self.along_least:.4g}, |theta| = {self.norm:.4g} <= {self.norm_most:.4g}"
        )


def list_steps(run: Run, y: np.ndarray, direction: np.ndarray, proved: MistakeBound | None) -> list[Step]:
    """The updates of a run beside the two inequalities of the proof."""
    nan = along = least = first = math.nan
    gain = np.zeros(0)
    if proved is not None:
        gain = run.rate * y * scores(run.rows, direction)
        along, first = float(direction @ run.start), float(run.start @ run.start)
        least = along
    steps = []
    for k, update in enumerate(run.trace, 1):
        most = at_least = cosine = nan
        if proved is not None:
            along += float(gain[update.row])
            least += run.rate * proved.margin
            at_least, most = least, math.sqrt(first + k * (run.rate * proved.radius) ** 2)
            cosine = along / update.norm if update.norm else nan
        u = update
        steps.append(
            Step(
                k, u.pass_, u.row, u.before, u.after, u.broke, u.mended, u.norm, most, along, at_least, cosine, u.theta
            )
        )
    return steps
