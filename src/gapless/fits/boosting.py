"""The way of the data through AdaBoost: encode -> rounds -> certify."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import one_blas_thread
from gapless.certificates.boosting import BoostingCertificate, enough_rounds
from gapless.certificates.model_document import statement
from gapless.solvers.boosting.features import CodedFeatures, encode_features
from gapless.solvers.boosting.margin_game import find_hardest_weights
from gapless.solvers.boosting.rounds import Rounds, order_by_class
from gapless.solvers.boosting.search import find_best_stump, find_first_largest
from gapless.solvers.boosting.stumps import Stumps, sum_sides, write_answers
from gapless.solvers.boosting.thresholds import BOOSTING_THRESHOLDS
from gapless.solvers.loop import Interruption


@dataclass
class Run:
    """The rounds that were made, and how they ended."""

    rounds: Rounds
    kept: list[Any]  #: learners, or stumps as tuples
    status: str = "converged"
    reason: str = ""
    failure: BaseException | None = None
    best: float | None = None  #: no vote of stumps has a larger smallest margin


@dataclass
class Clock:
    """When a run must end: a limit of seconds, and Ctrl-C."""

    stopwatch: Stopwatch
    limit: float | None
    interruption: Interruption

    def find_status(self) -> str | None:
        """The status of a run that must end now; None where a further round may begin."""
        if self.interruption.requested:
            return "interrupted"
        if self.limit is not None and self.stopwatch.seconds > self.limit:
            return "time_limit"
        return None


def describe_failure(error: BaseException, t: int) -> tuple[str, str]:
    """Status and reason of a run whose round t + 1 raised an error, in the base learner or in a handler of a signal."""
    status = "interrupted" if isinstance(error, KeyboardInterrupt) else "stalled"
    return status, f"round {t + 1} raised {type(error).__name__}: {error}".removesuffix(": ")


def add_note_of_rounds(error: BaseException, name: str, reason: str, kept: int) -> BaseException:
    """The error of a round, with a note that says how many rounds are kept."""
    error.add_note(f"{name}: {reason}. The {kept} rounds before it are kept, and predict uses them.")
    return error


def boost(rounds: Rounds, most: int, propose: Callable[[int], tuple[np.ndarray, Any]], clock: Clock) -> Run:
    """Make rounds until there are ``most``, or a learner is perfect, useless or raises, or the clock ends the run.

    ``propose(t)`` fits the learner of round t + 1: the classes that it gives the rows, and the learner to keep."""
    largest = 1400.0  # exp(a_t / 2) of a larger stage weight a_t overflows
    run = Run(rounds, [])
    run.reason = f"all {most} rounds that n_estimators asks for were made"
    for t in range(most):
        ended = clock.find_status() if t else None  # the first round is always made
        if ended is not None:
            run.status = ended
            how = "time_limit came" if ended == "time_limit" else "the user stopped it"
            run.reason = f"{how} after {t} of {most} rounds"
            break
        try:
            answer, learner = propose(t)
        except BaseException as error:
            if t == 0 or clock.interruption.requested:  # a second Ctrl-C ends at once
                raise
            run.status, run.reason = describe_failure(error, t)
            run.failure = error
            break
        right, wrong = rounds.weigh_answer(answer)
        if rounds.is_useless(wrong):
            limit = f"1 - 1/K = {1.0 - 1.0 / rounds.K:.3g} for K = {rounds.K} classes"
            run.status = "stalled"
            kept = f"the {t} rounds before it are kept" if t else "no round is kept; the heaviest class is predicted"
            how = f"its weighted error {wrong:.6g} is at least {limit}, no better than guessing"
            run.reason = f"round {t + 1} is useless: {how}; {kept}"
            break
        alpha = rounds.stage_weight(right, wrong)
        beyond = not alpha <= largest
        rounds.add_learner(answer, right, wrong, 1.0 if beyond else alpha)
        run.kept.append(learner)
        if beyond:
            run.status = "not_finite"
            run.reason = f"the stage weight of round {t + 1} is {alpha:.3g}: weights of rows would overflow"
            break
        if wrong <= 0.0:
            run.reason = f"the classifier of round {t + 1} makes no mistake"
            break
    return run


def boost_stumps(
    X: Any, index: np.ndarray, K: int, weights: np.ndarray | None, rate: float, most: int, clock: Clock
) -> Any:
    """Boost stumps: the run, its stumps, and the arrays of the document.

    Two classes on little data also get a bound on the margin of any vote, from the weights that are hardest for the stumps."""
    there = None if weights is None else np.flatnonzero(weights > 0.0)
    there = None if there is None or there.size == index.size else there
    order, starts = order_by_class(index, K, there)
    rounds_first = None if weights is None else weights[order]
    with one_blas_thread():
        data = encode_features(X, order, clock.find_status)
        few = K == 2 and index.size * most <= BOOSTING_THRESHOLDS.remembered_answers
        kept_order = order if few else None
        del order  # frees eight bytes a row during the rounds
        right: list[np.ndarray] = []  # for each round, which rows its stump has right
        own = np.repeat(np.arange(K), np.diff(starts)) if few else starts
        rounds = Rounds(starts, rounds_first, rate)
        edges: list[float] = []
        answer = np.empty(rounds.n, dtype=np.uint16)

        def propose(t: int) -> tuple[np.ndarray, Any]:
            found = find_best_stump(data, starts, rounds.weights)
            edges.append(found.edge)
            if found.split is None:
                if (np.diff(starts) > 0).all():
                    mass = np.add.reduceat(rounds.weights, starts[:-1])
                else:
                    mass = np.array([rounds.weights[a:b].sum() for a, b in itertools.pairwise(starts)])
                best = find_first_largest(mass)
                answer[:] = best
                if few:
                    right.append(own == best)
                return answer, (-1, 0.0, (best, best), (mass, np.zeros(K)), (rounds.n, 0))
            split = found.split
            masses = sum_sides(split.side, split.cut, starts, rounds.weights)
            low, high = find_first_largest(masses[0]), find_first_largest(masses[1])
            write_answers(split.side, split.cut, low, high, answer)
            if few:
                right.append(answer == own)
            beyond = int(np.count_nonzero(split.side > split.cut))
            return answer, (split.feature, split.threshold, (low, high), masses, (rounds.n - beyond, beyond))

        run = boost(rounds, most, propose, clock)
        stumps = Stumps.from_rounds(run.kept, K)
        extra = _learner_arrays(stumps, np.array(edges[: len(run.kept)]) if K == 2 else None, data)
        against = None
        if right and run.kept:
            rows = X[kept_order]
            signs = np.where(own == 1, 1.0, -1.0)
            against = (
                find_hardest_weights(rows, signs, np.array(right[: len(run.kept)]))
                if isinstance(rows, np.ndarray)
                else None
            )
        if against is not None:
            run.best = float(find_best_stump(data, starts, against).edge)
            extra["against"] = np.zeros(index.size)
            extra["against"][kept_order] = against
    return run, stumps, extra


def _learner_arrays(stumps: Stumps, edges: np.ndarray | None, data: Any) -> dict[str, np.ndarray]:
    """The arrays of the document about the stumps, with the thresholds where these are not all midpoints of values."""
    arrays = stumps._asdict()
    if edges is not None:
        arrays["edges"] = edges
    if isinstance(data, CodedFeatures) and not data.exact:
        arrays["cuts"] = np.concatenate(data.cuts)
        arrays["cut_ends"] = np.cumsum([cuts.size for cuts in data.cuts]).astype(np.int64)
    return arrays


def certify_rounds(
    model: Any, run: Run, mark: dict[str, Any], extra: dict[str, np.ndarray], *, learner: str, uniform: bool, stopwatch: Stopwatch
) -> BoostingCertificate:  # fmt: skip
    """The certificate of a run; ``model`` has its classes and features, ``uniform``: all first weights are equal."""
    rounds = run.rounds
    margins = rounds.margins()
    errors = np.array(rounds.errors)
    enough = enough_rounds(errors, rounds.n) if rounds.K == 2 and rounds.rate == 1.0 and uniform else None
    problem = {
        "learner": learner,
        "rounds": len(rounds),
        "rate": float(rounds.rate),
        "cuts": int(extra["cuts"].size) if "cuts" in extra else None,
    }
    said = statement(
        type(model).__name__, model.get_params(deep=False), model.classes_, model.n_features_in_, problem,
        feature_names=getattr(model, "feature_names_in_", None),
    )  # fmt: skip
    said["learners"] = None
    arrays = {
        "errors": errors,
        "stage_weights": np.array(rounds.alphas),
        "factors": np.array(rounds.factors),
        "training": np.array(rounds.training),
        **extra,
    }
    return BoostingCertificate(
        status=run.status,
        reason=run.reason,
        mistakes=rounds.mistakes,
        clean_round=rounds.clean,
        enough=enough,
        loss=rounds.loss(),
        margin=float(margins.min()),
        median_margin=float(np.median(margins)),
        best=run.best,
        seconds=stopwatch.seconds,
        compile_seconds=stopwatch.compile_seconds,
        fingerprint=mark,
        statement=said,
        arrays=arrays,
    )
