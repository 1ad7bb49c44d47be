"""Random problems of the five kinds, and their optimum by another solver."""

from __future__ import annotations

import numpy as np

from gapless.gram.blocks import build_gram
from gapless.kernels import RBF, Linear, Polynomial
from gapless.problems.kernel import KernelDual

#: The five kernel machines, as problems and documents name them.
KINDS = ("c_svc", "nu_svc", "epsilon_svr", "nu_svr", "one_class")
KERNELS = (RBF(0.4), RBF(3.0), Polynomial(2, 0.5, 1.0), Linear())


def random_problem(seed: int, n: int | None = None, kind: str | None = None, spread: float = 0.0) -> KernelDual:
    """Points with some structure; weights of rows differ, by up to 10^spread more."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40)) if n is None else n
    kind = KINDS[seed % len(KINDS)] if kind is None else kind
    X = rng.normal(size=(n, 3))
    matrix = build_gram(KERNELS[int(rng.integers(len(KERNELS)))], X)
    c = rng.uniform(0.2, 2.0, n) * 10.0 ** rng.integers(-1, 2)
    c *= 10.0 ** -(spread * rng.random(n))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    target = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)
    nu = float(rng.uniform(0.05, 0.95))
    if kind == "c_svc":
        return KernelDual.c_svc(matrix, y, c)
    if kind == "nu_svc":
        smaller = min(c[y > 0].sum(), c[y < 0].sum())
        return KernelDual.nu_svc(matrix, y, c, nu * 2.0 * smaller / c.sum())
    if kind == "epsilon_svr":
        return KernelDual.epsilon_svr(matrix, target, c, float(rng.uniform(0.0, 0.3)))
    if kind == "nu_svr":
        return KernelDual.nu_svr(matrix, target, c, nu)
    return KernelDual.one_class(matrix, c, nu)


def optimum(problem: KernelDual) -> tuple[np.ndarray, float]:
    """beta and the optimal value, by Clarabel: minimise 1/2 |L'v|^2 - tau'beta, v = s beta, K = LL'."""
    import clarabel
    from scipy import sparse

    n, points = problem.n, problem.n_points
    every = np.arange(points)
    values, vectors = np.linalg.eigh(problem.gram.block(every, every))
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    at = every if problem.at is None else problem.at
    A = L[at] * problem.sign[:, None]
    m = A.shape[1]
    P = sparse.block_diag([sparse.csc_matrix((n, n)), sparse.eye(m)], format="csc")
    q = np.concatenate([-problem.tau, np.zeros(m)])
    rows = [sparse.hstack([sparse.csc_matrix(A.T), -sparse.eye(m)])]
    right = [np.zeros(m)]
    lines = [problem.sign] if not problem.nu_form else [problem.sign, np.ones(n)]
    for line, total in zip(lines, problem.totals):
        rows.append(sparse.csc_matrix(np.concatenate([line, np.zeros(m)])[None, :]))
        right.append(np.array([total]))
    eye = sparse.hstack([sparse.eye(n), sparse.csc_matrix((n, m))])
    rows += [-eye, eye]
    right += [np.zeros(n), problem.c]
    cones = [clarabel.ZeroConeT(m + len(lines)), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        P, q, sparse.vstack(rows, format="csc"), np.concatenate(right), cones, settings
    ).solve()
    return np.asarray(solution.x[:n]), -float(solution.obj_val)
