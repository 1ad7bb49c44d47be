"""Kernel machines: one subproblem, of two classes or of all rows, solved on distinct rows and certified on all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gapless import kernels, losses
from gapless.backends.choose import solve_kernel_on_card
from gapless.backends.numpy.kernel import solve_small
from gapless.backends.numpy.kernel_gram import HeldGram
from gapless.certificates.kernel import Pair, certify_kernel
from gapless.encode.equal_rows import EqualRows
from gapless.gram.blocks import Gram, SubGram
from gapless.gram.class_pairs import ClassPairGram
from gapless.gram.dense import DenseGram
from gapless.problems.constant import at_least_as_good_as_constant
from gapless.problems.kernel import KernelDual, evaluate_point
from gapless.problems.linear import LinearProblem
from gapless.solvers.kernel.meeting_hulls import find_common_measure
from gapless.solvers.kernel.smo import try_few_pairs
from gapless.solvers.kernel.solve import solve_kernel
from gapless.solvers.kernel.thresholds import KERNEL_THRESHOLDS
from gapless.solvers.linear.solve import solve
from gapless.solvers.loop import Loop, Stop
from gapless.solvers.solution import Event, Solution

from .frame import Frame
from .hard_margin import fit_hard_margin_kernel
from .kernel_encode import ClassPair, KernelRequest, KernelRows, group_equal_rows


@dataclass(frozen=True, eq=False)
class KernelSubproblemFit:
    """The solution of one subproblem, on its own rows, and its claim."""

    u: np.ndarray
    scalars: np.ndarray
    scores: np.ndarray
    claim: Pair
    history: list[Event]
    off: np.ndarray | None = None  #: bounds on the errors of the scores beyond float64's


def fit_subproblem(
    request: KernelRequest, data: KernelRows, pairs: list[ClassPair], k: int, frame: Frame
) -> KernelSubproblemFit:
    """Fit subproblem k, with its share of the time that is left."""
    pair = pairs[k]
    inside = np.flatnonzero(data.member(pair))
    stop = frame.share_time(k, len(pairs))
    if pair is not None and ((first := data.index[inside] == pair[0]).all() or not first.any()):
        return _constant_fit(request, inside, pair, np.unique(data.index[inside]))
    if math.isinf(request.C):
        assert pair is not None
        return _fit_hard_margin(request, data, inside, pair, stop)
    # Products through w, not through K.
    by_rows = isinstance(data.kernel, kernels.Linear) and request.kind == "c_svc" and data.backend == "numba"
    groups, held = _distinct_rows(data, inside, pair)
    problem = build_dual(request, data, inside, data.cost.c[inside], pair, hold=groups is None and not by_rows)
    _refuse_infeasible(request, problem)
    start = _resume_point(data, problem, inside, k, len(pairs))
    small, rows = problem, inside
    if groups is not None:
        rows = inside[groups.first]
        small = build_dual(request, data, rows, groups.c, pair, None if by_rows else held, hold=not by_rows)
        start = (
            find_common_measure(small, groups.value)
            if start is None
            else small.beta(groups.to_groups(problem.u(start)))
        )
    proved = data.positive.shift is not None
    if data.backend == "numpy":
        point = None if data.points is None or pair is None else data.points.of_pair(small, pair)
        solution = solve_small(
            small, stop, start=start, point=point, watch=data.watch, positive=proved, exact=groups is None
        )
    elif data.backend == "cuda":
        if data.first is not None:
            start = problem.repair(problem.beta(data.first[k][inside]))
        solution = solve_kernel_on_card(small, stop, start=start, watch=data.watch)
    elif by_rows:
        found = None if start is not None else _try_pairs(data, small, rows, held, stop)
        solution = found or _solve_linear(data, small, rows, stop, start)
    else:
        exact = groups is None and data.pairwise is None
        solution = solve_kernel(small, stop, start=start, watch=data.watch, positive=proved, exact=exact)
    if data.judged is not data.gram:
        problem = build_dual(request, data, inside, data.cost.c[inside], pair, data.judged, hold=False)
    if groups is not None or data.judged is not data.gram:
        solution = _on_all_rows(data, problem, solution, groups)
    assert solution.scores is not None
    if solution.status not in ("converged", "stalled"):
        beta, theta, scores = at_least_as_good_as_constant(problem, (solution.u, solution.theta, solution.scores))
        off = solution.off if theta is solution.theta else None
        solution = replace(solution, u=beta, theta=theta, scores=scores, off=off)
    if request.kind in ("nu_svr", "epsilon_svr"):
        solution = _without_common_parts(problem, solution)
    claim = certify_kernel(problem, solution, tol=request.stop.relative_gap, pair=pair, positive=proved)
    assert solution.scores is not None
    return KernelSubproblemFit(
        problem.u(solution.u), solution.theta, solution.scores, claim, solution.history, solution.off
    )


def _distinct_rows(data: KernelRows, inside: np.ndarray, pair: ClassPair) -> tuple[EqualRows | None, Gram | None]:
    """Equal rows as one, and their matrix where that is held; None where rows stay as they are."""
    if data.shared is not None and pair is not None:
        return data.shared.part(pair, inside)
    if data.pairwise is not None or data.backend == "cuda":
        return None, None
    return group_equal_rows(data, inside), None


def _without_common_parts(problem: KernelDual, solution: Solution) -> Solution:
    """The solution of a regression as u holds it, which does not know what the two variables of a row have in common.

    Where that is larger than u itself, u has lost digits to the difference: scores and offset are those of the u that is left.
    """
    u = problem.u(solution.u)
    without = replace(solution, u=problem.beta(u))
    if not solution.u.max(initial=0.0) > 2.0 * np.abs(u).max(initial=0.0):
        return without
    scores = problem.scores(without.u)
    return replace(without, scores=scores, theta=problem.best_scalars(scores), off=None)


def _on_all_rows(data: KernelRows, problem: KernelDual, solution: Solution, groups: EqualRows | None) -> Solution:
    """The solution of distinct rows as one of all rows, or that of K as one of K + shift I: with new scores."""
    beta = solution.u
    if groups is not None:
        beta = np.concatenate([groups.to_all_rows(half) for half in np.split(beta, problem.n // problem.n_points)])
        if data.judged is data.gram and solution.scores is not None and groups.first.size == groups.group.size:
            # The same rows in another order: what is known of them stays so.
            off = None if solution.off is None else solution.off[groups.group]
            return replace(solution, u=beta, scores=solution.scores[groups.group], off=off)
    beta = problem.repair(beta)
    scores = problem.scores(beta)
    theta = problem.best_scalars(scores) if data.judged is data.gram else solution.theta
    return replace(solution, u=beta, theta=theta, scores=scores, off=None)


def _fit_hard_margin(
    request: KernelRequest, data: KernelRows, inside: np.ndarray, pair: tuple[int, int], stop: Stop
) -> KernelSubproblemFit:
    if data.positive.shift is None:
        raise ValueError(
            f"{request.estimator}(C=inf): a hard margin needs a positive semidefinite kernel. Use a finite C."
        )
    y = np.where(data.index[inside] == pair[0], 1.0, -1.0)
    weights = data.cost.c[inside]
    gram = SubGram(data.judged, inside)
    best, claim = fit_hard_margin_kernel(request.estimator, gram, y, weights, pair, stop, data.watch)
    return KernelSubproblemFit(best.u, np.array([best.b]), best.scores, claim, [])


def _constant_fit(
    request: KernelRequest, inside: np.ndarray, pair: tuple[int, int], present: np.ndarray
) -> KernelSubproblemFit:
    """The fit of one class alone, where the other has no weight: w = 0, and an offset that predicts it; no loss is left."""
    sign = 0.0 if present.size == 0 else (1.0 if present[0] == pair[0] else -1.0)
    zeros = np.zeros(inside.size)
    claim = Pair(pair[0], "converged", 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, "none", pair[1], 0.0)
    scalars = np.array([sign, 0.0] if request.kind == "nu_svc" else [sign])
    return KernelSubproblemFit(zeros, scalars, zeros.copy(), claim, [])


def build_dual(
    request: KernelRequest,
    data: KernelRows,
    rows: np.ndarray,
    c: np.ndarray,
    pair: ClassPair,
    gram: Gram | None = None,
    *,
    hold: bool = True,
) -> KernelDual:
    """The problem on some rows, by ``gram`` in the place of the rows' own, of all rows or, where it is held, of these.

    ``hold``: the solver will need many products.
    """
    of = data.gram if gram is None else gram
    if isinstance(of, HeldGram):
        every = gram is None or gram is data.judged
        return _dual_of(request, data, rows, c, pair, of.part(rows) if every else of)
    whole = of if rows.size == of.n and (np.diff(rows) > 0).all() else SubGram(of, rows)
    laid_out = getattr(of, "laid_out", None)
    # As many matrices as are held at once on four threads: the route of a fit, and with it its bits, does not depend on n_jobs.
    room = 8 * rows.size**2 * min(4, data.n_pairs) <= request.cache_bytes
    if isinstance(of, DenseGram):
        whole = of
    elif data.pairwise is not None and pair is not None:
        whole = ClassPairGram(of, rows, data.pairwise, pair)
    elif hold and laid_out is not None and rows.size <= KERNEL_THRESHOLDS.dense_points and room:
        whole = DenseGram(whole, laid_out if whole is of else laid_out.reorder(rows, np.float64))
    return _dual_of(request, data, rows, c, pair, whole)


def _dual_of(
    request: KernelRequest, data: KernelRows, rows: np.ndarray, c: np.ndarray, pair: ClassPair, whole: Gram
) -> KernelDual:
    """The problem of the request's kind on some rows, whose matrix is ``whole``."""
    if pair is not None:
        y = np.where(data.index[rows] == pair[0], 1.0, -1.0)
        return KernelDual.c_svc(whole, y, c) if request.kind == "c_svc" else KernelDual.nu_svc(whole, y, c, request.nu)
    if request.kind == "one_class":
        return KernelDual.one_class(whole, c, request.nu)
    assert data.targets is not None
    targets = data.targets[rows]
    if request.kind == "epsilon_svr":
        return KernelDual.epsilon_svr(whole, targets, c, request.epsilon)
    return KernelDual.nu_svr(whole, targets, c, request.nu)


def _refuse_infeasible(request: KernelRequest, problem: KernelDual) -> None:
    if problem.is_infeasible():
        masses = [float(problem.c[side].sum()) for side, _ in problem.sides]
        most = 2.0 * min(masses) / sum(masses)
        raise ValueError(
            f"specified nu is infeasible: nu={request.nu:g} asks for more weight of the smaller class than it has; the classes "
            f"allow nu <= {most:.6g}."
        )


def _resume_point(data: KernelRows, problem: KernelDual, inside: np.ndarray, k: int, lines: int) -> np.ndarray | None:
    """The beta of the fit to resume from, where that has the same number of rows and of subproblems."""
    if data.start is None:
        return None
    dual = getattr(data.start, "certificate_", data.start).arrays.get("dual")
    if dual is None or dual.shape != (lines, data.cost.n_rows):
        return None
    return problem.repair(problem.beta(data.cost.take(dual[k])[inside]))


def _try_pairs(
    data: KernelRows, problem: KernelDual, rows: np.ndarray, held: Gram | None, stop: Stop
) -> Solution | None:
    """The solution by few pairs, with the matrix of a small problem, for a gap that pairs reach; None where they do not."""
    least_gap = 1e-6  # a smaller one takes the active sets of the linear solver
    laid_out, few = getattr(data.gram, "laid_out", None), KERNEL_THRESHOLDS.trial.rows
    if problem.n > few or stop.relative_gap < least_gap or stop.passes < 2 or laid_out is None:
        return None
    if held is None:
        whole = problem.gram is data.gram
        held = DenseGram(problem.gram, laid_out if whole else laid_out.reorder(rows, np.float64))
    small, loop, found = replace(problem, gram=held), Loop(stop, data.watch), None
    with loop.catch_end():
        found = try_few_pairs(small, loop)
    if found is None:
        return None
    beta, scores = found
    scalars = small.best_scalars(scores)
    return Solution(scalars, beta, "converged", loop.n_iter, loop.seconds, "smo", loop.history, scores)


def _solve_linear(
    data: KernelRows, problem: KernelDual, rows: np.ndarray, stop: Stop, start: np.ndarray | None
) -> Solution:
    """Solve kernel="linear" by the linear solver: its dual point is u, and w = sum u x.

    The gap of that w may be wider than the gap of the solver's own w; then the solver goes on to a smaller one, and where that
    does not help, pairs go on from u.
    """
    X = data.X[rows] if rows.size != data.X.shape[0] or not (np.diff(rows) > 0).all() else data.X
    linear = LinearProblem.build(X, problem.sign.astype(np.int8), problem.c, losses.BY_NAME["hinge"], "free")
    point = None
    if start is not None:
        u = problem.u(start)
        point = linear.primal_from_dual(u), u
    aim = stop.relative_gap
    seconds, history, passes = 0.0, [], 0
    for _ in range(4):
        left = stop if stop.seconds is None else replace(stop, seconds=max(0.0, stop.seconds - seconds))
        found = solve(
            linear, replace(left, relative_gap=aim), start=point, watch=data.watch
        )  # fmt: skip
        seconds, passes = seconds + found.seconds, passes + found.n_iter
        history += found.history
        beta = problem.repair(problem.sign * found.u)
        scores = problem.scores(beta)
        scalars, primal, _, gap = evaluate_point(problem, beta, scores)
        reached = gap <= stop.relative_gap * max(abs(primal), abs(primal - gap))
        if reached or found.status not in ("converged", "stalled"):
            break
        aim, point = 0.1 * aim, (found.theta, found.u)
    status, solver = found.status, found.solver
    if not reached and status in ("converged", "stalled"):
        beta, scalars, scores, other = _go_on_by_pairs(data, problem, beta, gap, stop, seconds)
        if other is not None:
            passes, seconds, history = passes + other.n_iter, seconds + other.seconds, history + other.history
            ours = other.status == "max_iter" and passes < stop.passes  # the limit was not the user's
            status, solver = "stalled" if ours else other.status, f"{solver}+{other.solver}"
    return Solution(scalars, beta, status, passes, seconds, solver, history, scores)


def _go_on_by_pairs(
    data: KernelRows, problem: KernelDual, beta: np.ndarray, gap: float, stop: Stop, seconds: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Solution | None]:
    """SMO from the dual point where the linear solver stalled, unless its gap is rounding.

    Returns beta, scalars and scores, and the solution where that is better.
    """
    most_passes = 20  # some 0.2 s each at large C, where pairs hardly move
    small = 1e-10  # of the objective: what the scores of rows some powers of ten apart are off by
    scores = problem.scores(beta)
    scalars, primal, dual, _ = evaluate_point(problem, beta, scores)
    if gap <= min(problem.rounding(beta, scalars, scores, primal, dual), small * abs(primal)):
        return beta, scalars, scores, None
    left = None if stop.seconds is None else max(0.0, stop.seconds - seconds)
    found = solve_kernel(
        problem, Stop(stop.relative_gap, min(stop.passes, most_passes), left), start=beta, watch=data.watch
    )
    assert found.scores is not None
    better = evaluate_point(problem, found.u, found.scores).gap < gap
    return (found.u, found.theta, found.scores, found) if better else (beta, scalars, scores, None)
