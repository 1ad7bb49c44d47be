"""The way of the data through AdaBoost: encode -> rounds -> certify."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.clock import Stopwatch
from gapless._runtime.threads import one_blas_thread
from gapless.certificates.boosting import BoostingCertificate, enough_rounds
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.model_document import statement
from gapless.encode.labels import Labels
from gapless.solvers.boosting.features import CodedFeatures, encode_features
from gapless.solvers.boosting.margin_game import find_hardest_weights
from gapless.solvers.boosting.rounds import Rounds, order_by_class
from gapless.solvers.boosting.search import find_best_stump, find_first_largest
from gapless.solvers.boosting.stumps import Stumps, sum_sides, write_answers
from gapless.solvers.loop import Interruption

#: Beyond this exp(a_t / 2) overflows.
LARGEST = 1400.0
#: Rows times rounds up to which it is remembered which rows each stump had right.
REMEMBERED = 4_000_000


class Overflow(Exception):
    """A stage weight that no float can raise e to."""


@dataclass
class Run:
    """What a run has come to, also where it did not reach its end."""

    rounds: Rounds
    kept: list[Any]  #: learners, or stumps as tuples
    status: str = "converged"
    reason: str = ""
    failure: BaseException | None = None
    best: float | None = None  #: no vote of stumps has a larger smallest margin


@dataclass
class Clock:
    stopwatch: Stopwatch
    limit: float | None
    interruption: Interruption

    def over(self) -> str | None:
        """Why no further round may begin."""
        if self.interruption.requested:
            return "interrupted"
        if self.limit is not None and self.stopwatch.seconds > self.limit:
            return "time_limit"
        return None


def cut_short(error: BaseException, t: int) -> tuple[str, str]:
    """Status and reason of a run whose round t + 1 raised: the base learner, or a handler of a signal in the middle of it."""
    status = "interrupted" if isinstance(error, KeyboardInterrupt) else "stalled"
    return status, f"round {t + 1} raised {type(error).__name__}: {error}".removesuffix(": ")


def noted(error: BaseException, name: str, reason: str, kept: int) -> BaseException:
    """What was raised in a round, itself, with a note of what is kept."""
    error.add_note(f"{name}: {reason}. The {kept} rounds before it are kept, and predict uses them.")
    return error


def boost(rounds: Rounds, most: int, propose: Callable[[int], tuple[np.ndarray, Any]], clock: Clock) -> Run:
    """Rounds until ``most``, a perfect learner, a useless one, a failure, or the clock."""
    run = Run(rounds, [])
    run.reason = f"all {most} rounds that n_estimators asks for were made"
    for t in range(most):
        over = clock.over() if t else None  # one round there must be
        if over is not None:
            run.status = over
            how = "time_limit came" if over == "time_limit" else "the user stopped it"
            run.reason = f"{how} after {t} of {most} rounds"
            break
        try:
            answer, learner = propose(t)
        except BaseException as error:
            if t == 0 or clock.interruption.requested:  # a second Ctrl-C ends at once
                raise
            run.status, run.reason = cut_short(error, t)
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
        beyond = not alpha <= LARGEST
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
    """Rounds of stumps; the run, its stumps, and these as the document has them."""
    there = None if weights is None else np.flatnonzero(weights > 0.0)
    there = None if there is None or there.size == index.size else there
    order, starts = order_by_class(index, K, there)
    rounds_first = None if weights is None else weights[order]
    with one_blas_thread():
        data = encode_features(X, order, clock.over)
        few = K == 2 and index.size * most <= REMEMBERED
        kept_order = order if few else None
        del order  # eight bytes a row, for the length of the fit
        right: list[np.ndarray] = []  # of each round, which rows it has right
        own = np.repeat(np.arange(K), np.diff(starts)) if few else starts
        rounds = Rounds(starts, rounds_first, rate)
        edges: list[float] = []
        answer = np.empty(rounds.n, dtype=np.uint16)

        def propose(t: int) -> tuple[np.ndarray, Any]:
            found = find_best_stump(data, starts, rounds.weights)
            edges.append(found.edge)
            if found.split is None:
                sums = np.add.reduceat(rounds.weights, starts[:-1]) if (np.diff(starts) > 0).all() else None
                mass = (
                    sums
                    if sums is not None
                    else np.array([rounds.weights[a:b].sum() for a, b in itertools.pairwise(starts)])
                )
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
    """The stumps as the document has them. Thresholds that are not all midpoints of values go with them."""
    arrays = stumps._asdict()
    if edges is not None:
        arrays["edges"] = edges
    if isinstance(data, CodedFeatures) and not data.exact:
        arrays["cuts"] = np.concatenate(data.cuts)
        arrays["cut_ends"] = np.cumsum([cuts.size for cuts in data.cuts]).astype(np.int64)
    return arrays


def certify_rounds(
    run: Run,
    name: str,
    parameters: dict[str, Any],
    classes: np.ndarray,
    n_features: int,
    mark: dict[str, Any],
    extra: dict[str, np.ndarray],
    *,
    learner: str,
    uniform: bool,
    feature_names: Sequence[str] | np.ndarray | None,
    stopwatch: Stopwatch,
) -> BoostingCertificate:
    """The certificate of what the run came to."""
    rounds = run.rounds
    margins = rounds.margins()
    errors = np.array(rounds.errors)
    K = rounds.K
    enough = enough_rounds(errors, rounds.n) if K == 2 and rounds.rate == 1.0 and uniform else None
    problem = {
        "learner": learner,
        "rounds": len(rounds),
        "rate": float(rounds.rate),
        "cuts": int(extra["cuts"].size) if "cuts" in extra else None,
    }
    said = statement(name, parameters, classes, n_features, problem, feature_names=feature_names)
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


def mark_of(X: Any, labels: Labels, sample_weight: np.ndarray | None) -> dict[str, Any]:
    return fingerprint(X, labels.index, sample_weight)


def scores(total: np.ndarray, mass: float, K: int) -> np.ndarray:
    """scikit-learn's decision function of votes: in [-2, 2] for two classes, in [-1/(K - 1), 1] a class for more."""
    if K == 2:
        return 2.0 * (total[:, 0] / mass)
    return (K * (total / mass) - 1.0) / (K - 1.0)  # of all votes exactly 1


def probabilities(decision: np.ndarray, K: int) -> np.ndarray:
    """softmax of the scores, halved or over K - 1, as scikit-learn has it: these are no estimates of anything."""
    z = np.column_stack((-decision, decision)) / 2.0 if K == 2 else decision / (K - 1.0)
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(z / z.sum(axis=1, keepdims=True))
