"""The way of the data for perceptrons: encode -> run -> test separability where the passes go on -> certify -> decode."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gapless._runtime.backend import use_backend
from gapless._runtime.clock import Stopwatch, now
from gapless._runtime.config import get_config
from gapless._runtime.threads import map_threads, one_blas_thread
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.model_document import encode_float, statement
from gapless.certificates.perceptron import BoundCertificate, Perceived, Witness, count_errors
from gapless.fits.perceptron_proofs import (
    EncodedRows,
    LearningRows,
    PerceptronRequest,
    RunEnding,
    Step,
    ask_separability,
    find_direction,
    list_steps,
)
from gapless.rows import n_stored, scores, scores_many
from gapless.solvers.loop import Ended, Interruption, Loop, Stop, Watch
from gapless.solvers.perceptron import Run, drive
from gapless.solvers.perceptron_thresholds import PERCEPTRON_THRESHOLDS

from .frame import Frame


@dataclass(frozen=True, eq=False)
class PerceptronFit:
    """A fitted model: arrays with a line for each class (one for two classes), and their certificate."""

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
    vote: np.ndarray | None  #: of each row, where all weights vote


def fit_perceptron(
    request: PerceptronRequest,
    encoded: EncodedRows,
    start: np.ndarray,
    seeds: np.ndarray,
    *,
    interruption: Interruption | None = None,
    note: Callable[[Run, int], None] | None = None,
) -> PerceptronFit:
    """Fit one class after the other; ``start`` has a line (w, b) for each."""
    frame = Frame(Stop(0.0, request.passes, request.seconds), request.n_jobs)
    positives = encoded.labels.positives
    with use_backend(_choose_backend(request, encoded)), one_blas_thread(), np.errstate(all="ignore"):
        rows = LearningRows(request, encoded)
        watch = _PassWatch(interruption, note, frame.stopwatch.started)

        def fit_class(k: int) -> _Part:
            return _fit_class(rows, positives[k], start[k], int(seeds[k]), frame.share_time(k, len(positives)), watch)

        parts = _no_worse_than_constants(rows, map_threads(fit_class, range(len(positives)), request.n_jobs))
        weights = encoded.weights if encoded.weighted else None
        named = fingerprint(encoded.X, encoded.labels.index, weights)
        certificate = _certificate(request, encoded, parts, _arrays(request, parts, start), named, frame.stopwatch)
    longest = max(parts, key=lambda part: part.run.passes)
    return PerceptronFit(
        certificate.arrays["coef"], certificate.arrays["intercept"], certificate, longest.history,
        [part.trace for part in parts], np.array([part.run.lag for part in parts]), longest.run.visits,
    )  # fmt: skip


def _choose_backend(request: PerceptronRequest, encoded: EncodedRows) -> str:
    """numpy for a plain fit to few dense rows that looks for no proof, by their shape alone or as the settings ask."""
    plain = request.variant == "plain" and request.penalty is None and not request.traced
    if sparse.issparse(encoded.X) or not (plain and request.heeds_tol):
        return "numba"
    asked = get_config()["backend"]
    if asked != "auto":
        return str(asked)
    n, d = encoded.X.shape
    few = n * d * len(encoded.labels.positives) <= PERCEPTRON_THRESHOLDS.in_order_values
    return "numpy" if few else "numba"


def _arrays(request: PerceptronRequest, parts: list[_Part], start: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of the model document, in the user's units."""
    model = np.array([part.weights for part in parts])
    arrays = {
        "coef": np.ascontiguousarray(model[:, :-1]),
        "intercept": model[:, -1].copy(),
        "last": np.array([part.run.theta / part.scale for part in parts]),
        "start": np.array(start, dtype=np.float64),
        "direction": np.array([part.direction for part in parts]),
        "updates": np.array([part.run.updates for part in parts], dtype=np.int64),
    }
    if request.variant == "voted":
        elected = [part.run.electorate() for part in parts]
        arrays["voters"] = np.concatenate([voters / part.scale for (voters, _), part in zip(elected, parts)])
        arrays["votes"] = np.concatenate([votes for _, votes in elected])
    return arrays


def _certificate(
    request: PerceptronRequest, encoded: EncodedRows, parts: list[_Part], arrays: dict[str, np.ndarray], named: Any,
    stopwatch: Stopwatch,
) -> BoundCertificate:  # fmt: skip
    """The claims of all classes, with the status of the class that ended worst."""
    statuses = [part.claim.status for part in parts]
    worst = ("interrupted", "time_limit", "max_iter", "infeasible", "stalled")
    problem = {
        "offset": "constant" if request.fit_intercept else "none",
        "rate": encode_float(request.rate),
        "penalty": request.penalty,
        "variant": request.variant,
        "class_weight": [encode_float(w) for w in encoded.class_weight],
        "voters": [part.run.n_voters if request.variant == "voted" else 0 for part in parts],
    }
    classes, n_features = encoded.labels.classes, encoded.X.shape[1]
    proved = all(part.claim.bound is not None or part.claim.witness is not None for part in parts)
    return BoundCertificate(
        kind="bound" if proved else "heuristic",
        status=next((s for s in worst if s in statuses), "converged"),
        subproblems=tuple(part.claim for part in parts),
        n_iter=max(part.run.passes for part in parts),
        seconds=stopwatch.seconds,
        compile_seconds=stopwatch.compile_seconds,
        fingerprint=named,
        statement=statement(
            request.estimator, request.parameters, classes, n_features, problem, feature_names=encoded.feature_names
        ),
        arrays=arrays,
    )


class _PassWatch(NamedTuple):
    """Who may stop the passes, and who is told of each."""

    interruption: Interruption | None
    note: Callable[[Run, int], None] | None
    started: float


def _fit_class(data: LearningRows, positive: int, start: np.ndarray, seed: int, stop: Stop, watch: _PassWatch) -> _Part:
    task = data.request
    y = np.where(data.labels.index == positive, np.int8(1), np.int8(-1))
    run = Run(
        data.rows, y, data.counted, data.scale * start, rate=task.rate, steps=data.c if data.weighted else np.empty(0),
        shuffle=task.shuffle, seed=seed, variant=task.variant, penalty=task.shrinks, traced=task.traced, fast=data.fast,
        held_out=data.held_out,
    )  # fmt: skip
    loop = Loop(stop, Watch(interruption=watch.interruption))
    history: list[tuple[int, float, int, float]] = []

    def note(run: Run, made: int) -> None:
        history.append((run.passes, now() - watch.started, made, run.loss / data.scale / data.scale))
        if watch.note is not None:
            watch.note(run, made)

    ending = _run_to_end(data, run, loop, y, note)
    if not np.isfinite(run.theta / data.scale).all():
        raise ValueError(
            f"Floating-point under-/overflow occurred at epoch #{run.passes}. Scaling input data with StandardScaler or "
            "MinMaxScaler might help."
        )
    if ending.status == "converged" and count_errors(data.rows, y, data.learns, run.theta):
        ending = ending._replace(status="stalled")  # a score whose sign was rounding
    vote = _take_vote(data, run, loop) if task.variant == "voted" else None
    status, witness = ending.status, ending.witness
    if vote is not None and status not in ("converged", "infeasible"):
        status = loop.status or status  # the time may have ended while votes were counted
    weights = run.weights()
    if status == "infeasible" and task.variant == "plain" and not task.heeds_tol:
        weights = run.fill_pocket(PERCEPTRON_THRESHOLDS.passes_of_pocket(n_stored(data.rows)), loop.tick)
    direction, proved, why = find_direction(data, run, y, ending)
    if vote is not None:
        errors = int(np.count_nonzero(~(y * vote > 0.0)[data.counted]))
    else:
        errors = count_errors(data.rows, y, data.counted, weights)
        if task.variant == "pocket" or (task.variant == "plain" and status == "infeasible"):
            last = count_errors(data.rows, y, data.counted, run.theta)
            if last < errors and not data.weighted:  # scores that underflow had the pocket choose by other errors
                weights, errors = run.theta.copy(), last
    radius, margin, bound = proved if proved is not None else (None, None, None)
    claim = Perceived(positive, status, run.mistakes, run.passes, errors, why, radius, margin, bound, witness)
    trace = list_steps(run, y, direction, proved) if task.traced else []
    return _Part(weights / data.scale, run, claim, direction, history, data.scale, trace, vote)


def _no_worse_than_constants(data: LearningRows, parts: list[_Part]) -> list[_Part]:
    """Where a fit was stopped and errs by more weight than the best constant, use constants for the classes that were stopped."""
    stopped = [part.claim.status in ("time_limit", "interrupted") for part in parts]
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


def _scores(data: LearningRows, part: _Part) -> np.ndarray:
    """The scores of the rows that count, as ``decision_function`` gives them."""
    if part.vote is None:
        return scores(data.rows, part.weights * data.scale)[data.counted]
    return part.vote[data.counted] / max(1, part.run.electorate()[1].sum())


def _constant(data: LearningRows, part: _Part, masses: np.ndarray) -> _Part:
    """Score each row by the share of the weight by which the class outweighs the rest: the largest class wins."""
    positive, total = float(masses[part.claim.positive]), float(masses.sum())
    weights = np.zeros(part.weights.size)
    weights[-1] = (2.0 * positive - total) / total or -(2.0**-40)  # between two classes of equal weight: any size but 0
    y = np.where(data.labels.index == part.claim.positive, np.int8(1), np.int8(-1))
    votes = 1 << 30  # of variant="voted", for and against the constant
    against = min(votes - 1, max(1, round(votes * (1.0 - positive / total))))
    if 2 * against == votes:
        against += 1 if weights[-1] < 0.0 else -1
    one = np.append(np.zeros(weights.size - 1), data.scale)
    part.run.voters, part.run.votes, part.run.survived = [one, -one], [votes - against, against], 0
    errors = int(np.count_nonzero(y[data.counted] != np.sign(weights[-1])))
    return part._replace(weights=weights, claim=replace(part.claim, errors=errors))


def _run_to_end(data: LearningRows, run: Run, loop: Loop, y: np.ndarray, note: Any) -> RunEnding:
    """Pass after pass until the fit ends; ask whether the rows can be separated where that is wanted or costs little."""
    task, known, asked, tol = data.request, None, False, data.request.tol
    plain = task.penalty is None and not data.held_out.size
    enough = PERCEPTRON_THRESHOLDS.passes_to_ask(n_stored(run.rows))

    def due(run: Run) -> bool:
        return task.proves and plain and data.in_time and not asked and run.passes >= enough

    score = (lambda run: _accuracy(run, y, data.held_out)) if data.held_out.size else None
    try:
        while True:
            ending = drive(
                run, loop, tol=tol, patience=task.patience, cycles=not task.heeds_tol, ask_after=due, score=score, note=note
            )  # fmt: skip
            if ending == "clean":
                return RunEnding("converged", None, known, asked)
            if ending == "cycle":
                found = _turn_into_witness(data, run)
                if found.proves(run.rows, y):
                    return RunEnding("infeasible", found, None, asked)
            status = {"max_iter": "max_iter", "not_finite": "not_finite"}.get(ending, "stalled")
            if ending != "ask" and not (plain and not asked and _is_wanted(data, run, ending)):
                return RunEnding(status, None, known, asked)
            asked = True
            with use_backend("numba"):
                witness, known = ask_separability(data, y)
            if witness is not None:
                return RunEnding("infeasible", witness, None, asked)
            if ending != "ask" and (ending != "still" or known is None or task.heeds_tol):
                return RunEnding(status, None, known, asked)
            tol = None if known is not None else tol  # the rows can be separated: go on until they are
    except Ended:
        assert loop.status is not None
        return RunEnding(loop.status, None, known, asked)


def _turn_into_witness(data: LearningRows, run: Run) -> Witness:
    """The multipliers of a state that came back: the corrections on the way round. They prove something if they add up to 0."""
    corrected = np.flatnonzero(run.cycle)
    c = data.c[corrected]
    counts = [int(m) * Fraction(float(w)) for m, w in zip(run.cycle[corrected], c)]
    return Witness.of(corrected.tolist(), counts)


def _is_wanted(data: LearningRows, run: Run, ending: str) -> bool:
    """Whether to ask, at the end of a run, if the rows can be separated."""
    task = data.request
    if ending not in ("still", "cycle", "max_iter"):
        return False
    if task.heeds_tol:
        return data.can_afford_proof(run)
    return task.proves and data.in_time and (ending != "max_iter" or task.certify is True)


def _accuracy(run: Run, y: np.ndarray, held_out: np.ndarray) -> float:
    return float(np.mean((scores(run.rows, run.weights())[held_out] > 0.0) == (y[held_out] > 0)))


def _take_vote(data: LearningRows, run: Run, loop: Loop) -> np.ndarray:
    """The votes for the positive class less those against it, of each row.

    Each voter reads all rows. Where the fit was stopped, or is stopped while they are counted, the means of consecutive
    weights vote, of as many stretches as are counted in a moment.
    """
    with suppress(Ended):
        if loop.status is None:
            return _count_votes(run, loop.tick)
    moment = 3e8 / len(data.labels.positives)  # values read: some 0.1 s
    run.merge_voters(max(1, int(moment / (n_stored(run.rows) + run.y.size))))
    return _count_votes(run)


def _count_votes(run: Run, tick: Callable[[], None] | None = None) -> np.ndarray:
    total, (voters, votes) = np.zeros(run.y.size), run.electorate()
    held = 2_000_000  # scores, in 16 MB
    step = max(1, held // run.y.size)
    for first in range(0, votes.size, step):
        part = slice(first, first + step)
        total += np.sign(scores_many(run.rows, voters[part])) @ votes[part]
        if tick is not None:
            tick()
    return total
