"""A first point of a kernel machine by LIBSVM, which scikit-learn brings compiled.

It minimises the same dual on the matrix that is certified, down to a violation of the optimality conditions that it is asked
for. It knows neither a time limit nor Ctrl-C, and at a large C it may go on for hours: a cap on its steps ends it. Nothing that
it says is believed: its point is repaired, and the gap there is computed by us.

The classes are bound when this module is imported: where our estimators are put in the place of scikit-learn's, these stay
LIBSVM's.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from gapless.backends.numpy.kernel_gram import HeldGram
from gapless.problems.kernel import KernelDual


class Effort(NamedTuple):
    """How far LIBSVM goes: the violation that it ends at, and the steps that it may take."""

    violation: float
    steps: int


class Point(NamedTuple):
    """A feasible beta of LIBSVM's, and the passes that it took: as many steps as there are variables are one."""

    beta: np.ndarray
    passes: int


def effort_for(gap: float, unit: float, points: int, variables: int, limits: tuple[int, int, bool]) -> Effort:
    """What LIBSVM is asked for; ``unit``: the size of scores; ``limits``: passes, problems, and whether w may be nearly 0.

    The relative gap is some 0.1 to 10 times the violation, and more where w is small beside the scores. On few variables steps
    cost less than the polish that a wider gap needs, on many the polish costs less; of many problems only some need it. Steps
    that cost more than an interior point are not taken.
    """
    few, least_violation = 600, 1e-5  # in units of the scores: LIBSVM holds its matrix in single precision
    many = 10  # problems
    passes, problems, small = limits
    share = 3.0 if variables > few else 1.0 if problems > many else 0.1
    visits = min(
        8e6 + 0.4 * float(points) ** 3, 5e8 / problems + 3e6
    )  # variables looked at in all steps: 1e9 are some 0.4 s
    most = max(2_000, int(visits / max(variables, 1)))
    wide = 1e-3 if small else 1e-2
    return Effort(
        max(unit, 1e-300) * min(max(share * gap, least_violation), wide), max(1, min(most, passes * variables))
    )


def run_libsvm(problem: KernelDual, effort: Effort) -> Point | None:
    """LIBSVM's point; None where it refuses the problem."""
    n = problem.n_points
    assert isinstance(problem.gram, HeldGram)
    K, c = problem.gram.whole, problem.c[:n]
    if problem.kind == "one_class":
        engine, y = make_silent(OneClassSVM, effort, nu=_share(problem.totals[0], c)), None
    elif problem.kind == "nu_svc":
        engine, y = make_silent(NuSVC, effort, nu=_share(problem.totals[1], c)), problem.sign
    elif problem.kind == "c_svc":
        engine, y = make_silent(SVC, effort, C=1.0), problem.sign
    else:
        y = 0.5 * (problem.tau[:n] - problem.tau[n:])
        if problem.kind == "nu_svr":
            engine = make_silent(NuSVR, effort, C=1.0, nu=_share(problem.totals[1], c))
        else:
            engine = make_silent(SVR, effort, C=1.0, epsilon=problem.kink)
    if not run_engine(engine, K, y, c):
        return None
    u = np.zeros(n)
    u[engine.support_] = engine.dual_coef_[0]
    beta = np.abs(u) if problem.at is None else problem.beta(u)
    if problem.kind == "nu_svr":
        beta += _common_part(problem, beta)
    return Point(problem.repair(_rescale(problem, beta)), _passes(int(np.max(engine.n_iter_)), problem))


class PairPoints:
    """LIBSVM's points of the problems of all pairs of classes, from one call. ``index`` has the class of each row."""

    def __init__(self, coefficients: np.ndarray, classes: np.ndarray, steps: np.ndarray, index: np.ndarray) -> None:
        self.coefficients, self.index = coefficients, index
        self.place = {int(k): i for i, k in enumerate(classes)}
        self.steps = dict(zip(combinations(range(classes.size), 2), steps, strict=True))

    def of_pair(self, problem: KernelDual, pair: tuple[int, int]) -> Point:
        """The point of a pair's problem, whose rows are those of its two classes in the order of all rows."""
        i, j = (self.place[k] for k in pair)
        rows = np.flatnonzero((self.index == pair[0]) | (self.index == pair[1]))
        # The coefficients of a class against each of the others, in their order: its own place is left out.
        line = np.where(self.index[rows] == pair[0], j if j < i else j - 1, i if i < j else i - 1)
        beta = problem.repair(_rescale(problem, self.coefficients[line, rows]))
        return Point(beta, _passes(int(self.steps[min(i, j), max(i, j)]), problem))


def run_libsvm_on_pairs(
    K: np.ndarray, index: np.ndarray, c: np.ndarray, nu: float | None, effort: Effort
) -> PairPoints | None:
    """The points of all pairs of the classes ``index``; None where LIBSVM refuses. ``nu``: that of nu-SVC, None for C-SVC."""
    engine = make_silent(SVC, effort, C=1.0) if nu is None else make_silent(NuSVC, effort, nu=nu)
    if not run_engine(engine, K, index, c):
        return None
    coefficients = np.zeros((engine.classes_.size - 1, index.size))
    coefficients[:, engine.support_] = np.abs(engine.dual_coef_)
    return PairPoints(coefficients, engine.classes_, engine.n_iter_, index)


def _share(total: float, c: np.ndarray) -> float:
    """nu, from the sum that it asks for."""
    return min(1.0, total / float(c.sum()))


def _passes(steps: int, problem: KernelDual) -> int:
    return max(1, -(-steps // problem.n))


def _rescale(problem: KernelDual, beta: np.ndarray) -> np.ndarray:
    """LIBSVM divides the coefficients of nu-SVC by rho: back to the sum that the problem asks for."""
    found = float(beta.sum())
    return beta * (problem.totals[1] / found) if problem.kind == "nu_svc" and found > 0.0 else beta


def run_engine(engine: Any, K: np.ndarray, y: np.ndarray | None, c: np.ndarray) -> bool:
    """Fit; False where LIBSVM refuses."""
    try:
        with config_context(assume_finite=bool(np.isfinite(K.sum())), skip_parameter_validation=True):
            engine.fit(K, y, sample_weight=c)
    except ValueError as error:
        if type(error) is not ValueError:  # of the handler of a signal, not of scikit-learn's
            raise
        return False
    return True


def _common_part(problem: KernelDual, beta: np.ndarray) -> np.ndarray:
    """The mass that is missing, on both variables of rows with room: their difference does not show what they have in common."""
    plus, minus = np.split(beta, 2)
    room = problem.c[: plus.size] - np.maximum(plus, minus)
    missing = 0.5 * (problem.totals[1] - float(beta.sum()))
    return np.tile(np.clip(missing - (np.cumsum(room) - room), 0.0, room), 2)


def make_silent(engine: type, effort: Effort, **parameters: Any) -> Any:
    """An estimator on a matrix that says nothing."""
    return _without_warning(engine)(
        kernel="precomputed", tol=effort.violation, max_iter=effort.steps, shrinking=True, cache_size=100, **parameters
    )


@cache
def _without_warning(engine: type) -> type:
    """The cap on the steps is ours: that it was reached is for the certificate to say, not for scikit-learn's warning.

    scikit-learn warns where its attribute ``fit_status_`` is 1. A filter of warnings would be that of all threads.
    """
    return type(engine.__name__, (engine,), {"fit_status_": property(lambda self: 0, lambda self, status: None)})
