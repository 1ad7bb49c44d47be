"""The way of the data for perceptrons: encode -> run -> ask, if need be, whether there is an end -> certify -> decode."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._runtime.clock import Stopwatch, now
from gapless._runtime.results import result
from gapless._runtime.threads import map_threads, n_threads, one_blas_thread
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.model_document import encode_float, statement
from gapless.certificates.perceptron import (
    BoundCertificate,
    MistakeBound,
    Perceived,
    Witness,
    count_errors,
    mistake_bound,
)
from gapless.certificates.separation import separability
from gapless.encode.labels import Labels
from gapless.rows import Rows, as_rows, n_stored, scores
from gapless.rows.copies.choose import best_copy
from gapless.solvers.hard_margin.solve import hard_margin
from gapless.solvers.loop import SMALL, Ended, Interruption, Loop, Stop
from gapless.solvers.perceptron import Penalty, Run, drive
from gapless.solvers.separation.decide import Undecided

#: Passes, none of them clean, before anybody asks whether the classes can be separated: as many as read so many values.
PASSES, MOST_PASSES, VALUES = 10, 100, 50_000_000
#: Entries up to here are squared without overflow; beyond, everything is scaled by a power of two.
LARGE = 2.0**400
#: Passes from which on a copy of the rows pays.
FEW = 6
#: Endings that come at any moment.
STOPPED = ("time_limit", "interrupted")
#: The size of a constant between two classes of equal weight.
TIE = 2.0**-40
#: The votes for and against a constant of variant="voted".
VOTES = 1 << 30
#: Values read while a pocket is filled at the end.
POCKET = 20_000_000


@dataclass(frozen=True)
class Task:
    """What an estimator asks for."""

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
    def shrinks(self) -> Penalty | None:
        if self.penalty is None:
            return None
        return Penalty(self.alpha, {"l2": 0.0, "l1": 1.0}.get(self.penalty, self.l1_ratio))


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


@dataclass(frozen=True, eq=False)
class Fitted:
    """What it gets back: arrays with a line for each class (one for two classes), and the certificate of them."""

    coef: np.ndarray
    intercept: np.ndarray
    certificate: BoundCertificate
    history: list[tuple[int, float, int, float]]
    traces: list[list[Step]]
    lag: np.ndarray  #: (S, d + 1), for averages that go on
    visits: int


class _Part(NamedTuple):
    """One class against the others."""

    weights: np.ndarray
    run: Run
    claim: Perceived
    direction: np.ndarray
    history: list[tuple[int, float, int, float]]
    scale: float
    trace: list[Step]


def fit_perceptron(
    task: Task,
    X: Any,
    labels: Labels,
    weights: np.ndarray,
    class_weight: np.ndarray,
    start: np.ndarray,
    seeds: np.ndarray,
    validation: np.ndarray,
    *,
    weighted: bool,
    feature_names: Any = None,
    interruption: Interruption | None = None,
    note: Callable[[Run, int], None] | None = None,
) -> Fitted:
    """``start`` has a line (w, b) for each class; rows of ``validation`` are not learnt from."""
    stopwatch = Stopwatch()
    deadline = None if task.seconds is None else stopwatch.started + task.seconds
    with one_blas_thread(), np.errstate(all="ignore"):
        data = _Data(task, X, labels, weights, class_weight, validation, interruption, note, stopwatch.started)

        def one(k: int) -> _Part:
            left = None
            if deadline is not None:  # a fair share of what is left, for those that are left
                share = min(1.0, n_threads(task.n_jobs) / (len(labels.positives) - k))
                left = share * max(0.0, deadline - now())
            return _one_class(data, labels.positives[k], start[k], int(seeds[k]), left)

        parts = _no_worse_than_constants(data, map_threads(one, range(len(labels.positives)), task.n_jobs))
        named = fingerprint(X, labels.index, weights if weighted else None)
    voters = [part.run.electorate() if task.variant == "voted" else None for part in parts]
    problem = {
        "offset": "constant" if task.fit_intercept else "none",
        "rate": encode_float(task.rate),
        "penalty": task.penalty,
        "variant": task.variant,
        "class_weight": [encode_float(w) for w in class_weight],
        "voters": [0 if vote is None else len(vote[1]) for vote in voters],
    }
    model = np.array([part.weights for part in parts])
    arrays = {
        "coef": np.ascontiguousarray(model[:, :-1]),
        "intercept": model[:, -1].copy(),
        "last": np.array([part.run.theta / part.scale for part in parts]),
        "start": np.array(start, dtype=np.float64),
        "direction": np.array([part.direction for part in parts]),
        "updates": np.array([part.run.updates for part in parts], dtype=np.int64),
    }
    if task.variant == "voted":
        arrays["voters"] = np.concatenate([v[0] / p.scale for v, p in zip(voters, parts) if v is not None])
        arrays["votes"] = np.concatenate([v[1] for v in voters if v is not None])
    statuses = [part.claim.status for part in parts]
    certificate = BoundCertificate(
        status=next((s for s in _WORST if s in statuses), "converged"),
        subproblems=tuple(part.claim for part in parts),
        n_iter=max(part.run.passes for part in parts),
        seconds=stopwatch.seconds,
        compile_seconds=stopwatch.compile_seconds,
        fingerprint=named,
        statement=statement(
            task.estimator, task.parameters, labels.classes, X.shape[1], problem, feature_names=feature_names
        ),
        arrays=arrays,
    )
    longest = max(parts, key=lambda part: part.run.passes)
    return Fitted(
        arrays["coef"], arrays["intercept"], certificate, longest.history, [part.trace for part in parts],
        np.array([part.run.lag for part in parts]), longest.run.visits,
    )  # fmt: skip


#: Which of several endings is that of the whole.
_WORST = ("interrupted", "time_limit", "max_iter", "infeasible", "stalled")


class _Data:
    """Rows, costs and what a subproblem needs besides, once for all of them."""

    def __init__(
        self, task: Task, X: Any, labels: Labels, weights: np.ndarray, class_weight: np.ndarray, validation: np.ndarray,
        interruption: Interruption | None, note: Any, started: float,
    ) -> None:  # fmt: skip
        self.task, self.X, self.labels = task, X, labels
        self.c = weights * class_weight[labels.index]
        self.counted = np.flatnonzero(self.c > 0.0)
        self.learns = np.flatnonzero((self.c > 0.0) & ~validation)
        self.held_out = np.flatnonzero((self.c > 0.0) & validation)
        self.weighted = bool((self.c[self.learns] != 1.0).any())
        self.interruption, self.note, self.started = interruption, note, started
        values = X.data if sparse.issparse(X) else X
        largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        self.scale = 1.0
        if largest > LARGE or (0.0 < largest < 1.0 / LARGE and not task.fit_intercept):
            self.scale = 2.0 ** -float(math.frexp(largest)[1])
        if self.scale != 1.0:
            X = X * X.dtype.type(self.scale) if X.dtype == np.float64 else X.astype(np.float64) * self.scale
        # With s (x, 1) in the place of (x, 1) everything is the same, theta being s theta.
        self.rows: Rows = as_rows(X, self.scale if task.fit_intercept else 0.0)
        self.fast = best_copy(self.rows, "random") if task.passes * len(labels.positives) >= FEW else self.rows

    @property
    def small(self) -> bool:
        return self.X.shape[0] * (self.X.shape[1] + 1) <= SMALL

    def unbounded(self) -> str:
        """Why there can be no bound on the mistakes, in words; nothing where there can."""
        if self.task.penalty is not None:
            return "the penalty shrinks the weights at each visit, which the bound does not allow for"
        if self.weighted:
            return "the weights of rows change the length of steps, which the bound does not allow for"
        if self.held_out.size:
            return "some rows were held out by early_stopping"
        if self.scale != 1.0:
            return "squares of the values are out of the range of floats"
        return "" if self.task.certify else "certify=False"


def _one_class(data: _Data, positive: int, start: np.ndarray, seed: int, seconds: float | None) -> _Part:
    task = data.task
    y = np.where(data.labels.index == positive, np.int8(1), np.int8(-1))
    run = Run(
        data.rows, y, data.learns, data.scale * start, rate=task.rate, steps=data.c if data.weighted else np.empty(0),
        shuffle=task.shuffle, seed=seed, variant=task.variant, penalty=task.shrinks, traced=task.traced, fast=data.fast,
    )  # fmt: skip
    loop = Loop(Stop(0.0, task.passes, seconds), interruption=data.interruption)
    history: list[tuple[int, float, int, float]] = []

    def note(run: Run, made: int) -> None:
        history.append((run.passes, now() - data.started, made, run.loss / data.scale / data.scale))
        if data.note is not None:
            data.note(run, made)

    status, witness, known = _until_it_ends(data, run, loop, y, note)
    if not np.isfinite(run.theta / data.scale).all():
        raise ValueError(
            f"Floating-point under-/overflow occurred at epoch #{run.passes}. Scaling input data with StandardScaler or "
            "MinMaxScaler might help."
        )
    if status == "converged" and count_errors(data.rows, y, data.learns, run.theta):
        status = "stalled"  # a score whose sign was rounding
    weights = run.weights()
    if status == "infeasible" and task.variant == "plain":
        weights = run.fill_pocket(int(min(100, max(5, POCKET / max(1, n_stored(data.rows))))), loop.tick)
    direction, proved, why = _direction(data, run, y, status, known)
    if task.variant == "voted":
        errors = int(np.count_nonzero(~(y * _votes(run) > 0.0)[data.counted]))
    else:
        errors = count_errors(data.rows, y, data.counted, weights)
        if task.variant == "pocket" or (task.variant == "plain" and status == "infeasible"):
            last = count_errors(data.rows, y, data.counted, run.theta)
            if last < errors and not data.weighted:  # scores that underflow had the pocket choose by other errors
                weights, errors = run.theta.copy(), last
    radius, margin, bound = proved if proved is not None else (None, None, None)
    claim = Perceived(positive, status, run.mistakes, run.passes, errors, why, radius, margin, bound, witness)
    trace = _steps(run, y, direction, proved) if task.traced else []
    return _Part(weights / data.scale, run, claim, direction, history, data.scale, trace)


def _no_worse_than_constants(data: _Data, parts: list[_Part]) -> list[_Part]:
    """Where a fit was stopped, and errs by more weight than the best constant: the constants of all classes that were stopped."""
    stopped = [part.claim.status in STOPPED for part in parts]
    if not any(stopped) or not data.rows.constant:
        return parts
    index, c = data.labels.index[data.counted], data.c[data.counted]
    masses = np.bincount(index, c, minlength=data.labels.n_classes)
    if len(parts) == 1:
        said = np.where(_scores(data, parts[0]) > 0.0, 1, 0)
    else:
        said = np.argmax([_scores(data, part) for part in parts], axis=0)
    if float(c[said != index].sum()) <= float(masses.sum() - masses.max()):
        return parts
    return [_constant(data, part, masses) if late else part for late, part in zip(stopped, parts)]


def _scores(data: _Data, part: _Part) -> np.ndarray:
    """Of the rows that count, as ``decision_function`` gives them."""
    if data.task.variant != "voted":
        return scores(data.rows, part.weights * data.scale)[data.counted]
    return _votes(part.run)[data.counted] / max(1, part.run.electorate()[1].sum())


def _constant(data: _Data, part: _Part, masses: np.ndarray) -> _Part:
    """The share of the weight by which the class outweighs the others: of several classes the largest has the largest score."""
    positive, total = float(masses[part.claim.positive]), float(masses.sum())
    weights = np.zeros(part.weights.size)
    weights[-1] = (2.0 * positive - total) / total or -TIE
    y = np.where(data.labels.index == part.claim.positive, np.int8(1), np.int8(-1))
    against = min(VOTES - 1, max(1, round(VOTES * (1.0 - positive / total))))
    if 2 * against == VOTES:
        against += 1 if weights[-1] < 0.0 else -1
    one = np.append(np.zeros(weights.size - 1), data.scale)
    part.run.voters, part.run.votes, part.run.survived = [one, -one], [VOTES - against, against], 0
    errors = int(np.count_nonzero(y[data.counted] != np.sign(weights[-1])))
    return part._replace(weights=weights, claim=replace(part.claim, errors=errors))


def _until_it_ends(
    data: _Data, run: Run, loop: Loop, y: np.ndarray, note: Any
) -> tuple[str, Witness | None, np.ndarray | None]:
    """Status, the proof that there is no end, and a direction that separates if one came to be known."""
    task, asked, known = data.task, False, None
    tol = task.tol
    plain = task.penalty is None and not data.held_out.size

    def due(run: Run) -> bool:
        enough = min(MOST_PASSES, max(PASSES, VALUES / max(1, n_stored(run.rows))))
        # The separation test looks at no clock: with a time limit it is for small data.
        wanted = bool(task.certify) and (data.small or (task.tol is None and task.seconds is None))
        return plain and wanted and not asked and run.passes >= enough

    score = (lambda run: _accuracy(run, y, data.held_out)) if data.held_out.size else None
    try:
        while True:
            ending = drive(run, loop, tol=tol, patience=task.patience, ask_after=due, score=score, note=note)
            if ending == "clean":
                return "converged", None, known
            if ending == "cycle":
                corrected = np.flatnonzero(run.cycle)
                c = data.c[corrected]
                counts = [int(m) * Fraction(float(w)) for m, w in zip(run.cycle[corrected], c)]
                found = Witness.of(corrected.tolist(), counts)
                if found.proves(run.rows, y):
                    return "infeasible", found, None
            worth = bool(task.certify) and plain and not asked and (data.small or task.seconds is None)
            wanted = (
                ending == "cycle"
                or (ending == "still" and data.small)
                or (ending == "max_iter" and task.certify is True)
            )
            if ending == "ask" or (worth and wanted):
                asked = True
                witness, known = _ask(data, y)
                if witness is not None:
                    return "infeasible", witness, None
                if ending == "ask" or (ending == "still" and known is not None):
                    tol = None if known is not None else tol  # they can be separated: go on until they are
                    continue
            return {"max_iter": "max_iter", "not_finite": "not_finite"}.get(ending, "stalled"), None, known
    except Ended:
        assert loop.status is not None
        return loop.status, None, known


def _ask(data: _Data, y: np.ndarray) -> tuple[Witness | None, np.ndarray | None]:
    """Multipliers that prove that nothing separates the rows, or a direction that does; neither where rounding hides it."""
    learns = data.learns
    try:
        found = separability(data.X[learns], y[learns], fit_intercept=data.task.fit_intercept)
    except Undecided:
        return None, None
    if found.status != "complete":
        return Witness.of(learns[np.asarray(found.rows)].tolist(), found.multipliers), None
    return None, np.concatenate([found.w, [found.b if data.task.fit_intercept else 0.0]])  # type: ignore[list-item]


def _direction(
    data: _Data, run: Run, y: np.ndarray, status: str, known: np.ndarray | None
) -> tuple[np.ndarray, MistakeBound | None, str]:
    """The direction that proves the best bound, the bound, or why there is none.

    Any direction that separates proves one: the last weights after a clean pass, what the separation test found, and, where
    that is cheap or asked for, the one of the largest margin, whose bound is the least that the proof can give.
    """
    none = np.zeros(run.theta.size)
    why = data.unbounded()
    if why:
        return none, None, why
    if status == "infeasible":
        return none, None, "no hyperplane separates the classes"
    candidates = [known] if known is not None else []
    if status == "converged":
        candidates.append(run.theta)
    if candidates and (data.task.certify is True or data.small):
        widest = _widest(data, y)
        candidates += [widest] if widest is not None else []
    best: tuple[np.ndarray, MistakeBound | None] = (none, None)
    for t in candidates:
        found = mistake_bound(data.rows, y, data.learns, t, run.start, data.task.rate)
        if found is not None and (best[1] is None or found.bound < best[1].bound):
            best = t / np.linalg.norm(t), found
    if best[1] is None:
        why = (
            "the margin is too small for float64" if candidates else "no direction is known that separates the classes"
        )
    return *best, why


def _widest(data: _Data, y: np.ndarray) -> np.ndarray | None:
    """The direction of the largest margin of (x, 1)."""
    learns = data.learns
    found = hard_margin(data.X[learns], y[learns], offset="penalised" if data.task.fit_intercept else "none")
    if found.status == "infeasible" or not np.isfinite(found.w).all():
        return None
    return np.append(found.w, found.b if data.task.fit_intercept else 0.0)


def _accuracy(run: Run, y: np.ndarray, held_out: np.ndarray) -> float:
    return float(np.mean((scores(run.rows, run.weights())[held_out] > 0.0) == (y[held_out] > 0)))


def _votes(run: Run) -> np.ndarray:
    """The votes for the positive class less those against it, of each row."""
    total = np.zeros(run.y.size)
    for voter, vote in zip(*run.electorate()):
        total += vote * np.sign(scores(run.rows, voter))
    return total


def _steps(run: Run, y: np.ndarray, direction: np.ndarray, proved: MistakeBound | None) -> list[Step]:
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
