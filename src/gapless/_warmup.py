"""Compile every kernel once, so that the first fit of each later process finds it on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

#: The rows that kernels are compiled for. Two processes, one for each, share next to nothing.
KINDS = ("dense", "CSR")


def warmup(progress: Callable[[str, int, int], None] | None = None, kinds: tuple[str, ...] = KINDS) -> float:
    """Compile all variants: each loss × each solver × dense and CSR × float32 and float64; of the descents
    (`descend`, solver="sgd", ...), which fewer people use, the commonest. Returns the seconds taken.

    ``progress(what, done, total)`` is called before each step.
    """
    started = time.perf_counter()
    steps = [(what, run) for what, run in _steps() if any(kind in what for kind in kinds)]
    for done, (what, run) in enumerate(steps):
        if progress is not None:
            progress(what, done, len(steps))
        run()
    if progress is not None:
        progress("done", len(steps), len(steps))
    return time.perf_counter() - started


def _steps() -> Iterator[tuple[str, Callable[[], Any]]]:
    import numpy as np
    from scipy import sparse

    from gapless import losses
    from gapless._config import config_context
    from gapless._watch import watch
    from gapless.certificates.fingerprint import row_hashes
    from gapless.certificates.gap import certify
    from gapless.estimators.svc import SVC
    from gapless.estimators.svr import SVR
    from gapless.kernels.whole import gather
    from gapless.problems.least_squares import LeastSquares
    from gapless.problems.linear_erm import LinearERM
    from gapless.problems.multinomial import Multinomial
    from gapless.rows import as_rows
    from gapless.rows.compact import WORTH, compact
    from gapless.rows.moments import moments
    from gapless.rows.products import curved, gram
    from gapless.solvers.choose import SOLVERS, solve, solve_multinomial
    from gapless.solvers.gradient import Until, descend
    from gapless.solvers.loop import Stop
    from gapless.solvers.perceptron import Penalty, Run
    from gapless.solvers.tree import Limits, Target, finite, grow, leaves, pack, prepare
    from gapless.solvers.tree_prune import pruned

    random = np.random.default_rng(0)
    dense = random.normal(size=(60, 4))
    # Wide enough for the sparse Gram matrix, narrow enough for a Cholesky factor.
    thin = np.zeros((60, 40))
    thin[np.arange(60), np.arange(60) % 40] = random.normal(size=60)
    marks = np.hstack((dense, np.where(random.random((60, 30)) < 0.1, 2.0, -0.5)))
    y = np.where(random.normal(size=60) + dense[:, 0] > 0, np.int8(1), np.int8(-1))

    def variants() -> Iterator[tuple[str, Any]]:
        for dtype in (np.float64, np.float32):
            yield f"dense {np.dtype(dtype).name}", dense.astype(dtype)
            yield f"CSR {np.dtype(dtype).name}", sparse.csr_matrix(thin.astype(dtype))

    def run(X: Any, loss: Any, solver: str) -> None:
        problem = LinearERM.build(X, y, np.ones(y.size), loss, "free")
        solution = solve(problem, Stop(1e-6, 20), solver=solver)
        certify(problem, solution, tol=1e-6)
        problem.dual_from_primal(solution.theta)
        problem.best_offset(problem.scores(solution.theta))

    def run_lean(X: np.ndarray, loss: Any, solver: str) -> None:
        problem = LinearERM.build(X, y, np.ones(y.size), loss, "free")
        problem.read_lean(0)
        solve(problem, Stop(1e-6, 20), solver=solver)
        curved(problem.passed, problem.c, np.ones(problem.d + 1))

    def multiply(X: np.ndarray) -> None:
        gram(as_rows(np.tile(X, 40), 1.0), np.ones(y.size), np.arange(y.size), single=True)

    def run_squares(X: Any) -> None:
        problem = LeastSquares.build(X, y[:, None].astype(np.float64), None, np.ones(1), True)
        w, b = np.zeros(problem.d), np.zeros(1)
        moments(problem.rows, None, problem.Y, w, b)
        problem.residuals(w[:, None], b)
        problem.own_gap(0, w, 0.0)

    def run_softmax(X: Any) -> None:
        problem = Multinomial.build(X, np.arange(y.size) % 3, np.ones(y.size), 3, "free")
        certify(problem, solve_multinomial(problem, Stop(1e-6, 20)), tol=1e-6)

    def visit(X: Any) -> None:
        rows, start = as_rows(X, 1.0), np.zeros(X.shape[1] + 1)
        for fast in {id(kind): kind for kind in (rows, compact(rows, worth=0))}.values():
            for variant in ("plain", "pocket", "voted"):
                Run(rows, y, np.arange(y.size), start.copy(), shuffle=True, variant=variant, fast=fast).advance(
                    _nothing
                )
        Run(rows, y, np.arange(y.size), start, penalty=Penalty(1e-4, 0.5)).advance(_nothing)

    def run_descent(X: Any, loss: Any, method: str) -> None:
        problem = LinearERM.build(X, y, np.ones(y.size), loss, "free")
        if method == "literal":
            descend(problem, method="sgd", literal=True, stop=Until(epochs=2))
        else:
            descend(problem, method=method, stop=Until(epochs=2), visits="random")  # type: ignore[arg-type]

    def boost(K: int, decimals: int, sparse_rows: bool) -> None:
        from gapless.estimators.adaboost import AdaBoostClassifier

        values = np.round(
            random.normal(size=(300, 3)), decimals
        )  # more than 256 values, or fewer: wide and narrow codes
        rows = sparse.csr_matrix(values) if sparse_rows else values
        model = AdaBoostClassifier(n_estimators=2).fit(rows, np.arange(300) % K)
        model.predict(rows)

    def run_machine(X: Any) -> None:
        with config_context(convergence="ignore"):
            for kernel in ("rbf", "poly"):
                SVC(kernel=kernel, C=100.0).fit(X, y).predict(X)
            SVR().fit(X, dense[:, 0]).predict(X)

    def run_many_classes() -> None:
        rows = random.normal(size=(3100, 4))
        SVC(gamma=0.2).fit(rows, np.arange(3100) % 3)
        SVC(gamma=0.2, tol=1e-2).fit(rows, np.arange(3100) % 2)
        gather(np.zeros((2, 2)), np.arange(2), np.zeros((2, 2), dtype=np.float32))

    def run_images() -> None:
        rows = random.integers(0, 256, size=(3100, 200)).astype(float)
        SVC(gamma=1e-6, tol=1e-2).fit(rows, np.arange(3100) % 2).predict(rows)

    def scan_text() -> None:
        from gapless.files import scan_bytes, scan_cells, scan_columns, scan_svmlight
        from gapless.files.scan_number import powers_of_five, powers_of_two

        powers = powers_of_five(), powers_of_two()
        lines = np.frombuffer(bytearray(b"1 1:2.5\n"), dtype=np.uint8)
        scan_svmlight.scan_svmlight(lines, *powers)
        scan_bytes.count_of(lines, 10)
        cells = np.full(2 * scan_bytes.PAD + 2, 10, dtype=np.uint8)
        cells[scan_bytes.PAD] = 49  # the digit 1
        ends, begins, odd = (np.empty(shape, dtype=np.uint32) for shape in (8, 8, (1, 4)))
        where = np.zeros(1, dtype=np.int64)
        scan_cells.cut(cells, scan_bytes.PAD, scan_bytes.PAD + 2, 1, 44, 10, True, ends, begins)
        facts, known, X = (
            np.zeros(5, dtype=np.int64),
            np.empty((1, scan_columns.KNOWN), dtype=np.uint64),
            np.empty((1, 1)),
        )
        table = np.zeros(scan_columns.SPARSE, dtype=np.int32)
        scan_columns.scan_columns(
            cells, ends, begins, 1, np.ones(1, dtype=np.int8), where, 0, X, X, np.zeros(1, dtype=np.uint64), odd, facts, facts,
            where, table, known, cells, *powers,
        )  # fmt: skip
        scan_columns.place_texts(table, known, 0)
        for dtype in (np.float64, np.float32):
            scan_columns.recode(np.zeros((1, 1), dtype=dtype), where, np.zeros(2), where + 1)

    yield "readers of files, CSR and dense", scan_text
    for X in (dense, dense.astype(np.float32), (thin != 0.0).astype(np.float64)):
        what = "bits" if X.shape == thin.shape else X.dtype.name
        yield f"kernel machine, dense {what}", partial(run_machine, X)
    yield "kernel machine, dense images", run_images

    yield "kernel machines of many rows, dense", run_many_classes

    def search() -> None:
        from gapless.estimators.logistic import LogisticRegression
        from gapless.tuning.search import tune

        bits = (thin[:, :4] != 0.0).astype(np.float64)
        with config_context(convergence="ignore"):
            for X in (dense, bits):
                tune(SVC(), X, y, {"C": [1.0, 1e3], "gamma": [0.1]}, cv=2)
            tune(LogisticRegression(), dense, np.arange(60) % 3, {"C": [1.0, 10.0]}, cv=2)

    yield "search, dense", search

    def plant(columns: Any, kind: str, **limits: Any) -> Any:
        """A tree; ``kind``: numbers, two or three classes, or two outputs."""
        n = columns.n_rows
        target = {
            "numbers": lambda: Target.values(np.arange(n) % 7),
            "two": lambda: Target.classes(np.arange(n) % 2, 2),
            "three": lambda: Target.classes(np.arange(n) % 3, 3),
            "outputs": lambda: Target.values(np.stack([np.arange(n) % 3, np.arange(n) % 5], axis=1)),
        }[kind]()
        return grow(columns, target, None, Limits(max_depth=3, **limits))

    def plant_sorted(wide: bool) -> None:
        """Trees on sorted columns: exact and in bins; ``wide``: codes of 32 bits, and columns that are not kept in order."""
        n = 140_000 if wide else 60
        columns = prepare(np.arange(n, dtype=np.float32).repeat(2).reshape(n, 2))
        for kind in ("two",) if wide else ("two", "numbers", "three"):
            for entropy in (False,) if wide or kind == "numbers" else (False, True):
                tree = plant(columns, kind, entropy=entropy)
        if not wide:
            rows = dense.astype(np.float32)
            for missing in (False, True):
                leaves(pack(pruned(tree, 1e-9)), np.ascontiguousarray(rows[:, :2]), missing=missing)
            finite(rows)
            plant(prepare(rows, bins=9), "two")

    def plant_by_node(kind: str, categories: bool) -> None:
        """Trees node by node, depth first and best first, on codes of 16 and of 32 bits."""
        for n in (60, 66_000) if not categories and kind in ("numbers", "three") else (60,):
            X = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
            columns = prepare(X, np.array([True, False]) if categories else None)
            plant(columns, kind, max_features=1)
            plant(columns, kind, max_leaves=4)

    def bag() -> None:
        from gapless.estimators.bagging import BaggingClassifier

        BaggingClassifier(n_estimators=2, random_state=0).fit(dense, y).predict(dense)

    for name, X in variants():
        if name in ("dense float64", "CSR float64"):
            for kind in ("hinge", "squared_hinge", "logistic"):
                for method in ("sgd", "minibatch", "gd", "literal") if kind == "hinge" else ("sgd", "minibatch", "gd"):
                    yield f"{kind} by {method}, {name}", partial(run_descent, X, losses.BY_NAME[kind], method)
        yield f"softmax, {name}", partial(run_softmax, X)
        if "dense" in name:
            yield f"products in single precision, {name}", partial(multiply, X)
            yield f"least squares, {name}", partial(run_squares, X)
        yield f"fingerprint, {name}", partial(row_hashes, X)
        yield f"perceptron, {name}", partial(visit, X)
        for kind, loss in losses.BY_NAME.items():
            hinge = kind == "hinge"
            for solver in SOLVERS:
                if solver == "coordinate_descent" or (solver == "newton") is not hinge:
                    yield f"{kind} by {solver}, {name}", partial(run, X, loss, solver)
    for kind, loss in losses.BY_NAME.items():
        for form, X in (("mostly zeros", thin), ("of two values a column", marks)):
            way = "semismooth" if kind == "hinge" else "newton"
            yield f"{kind}, dense, {form}", partial(run_lean, X, loss, way)
    for K in (2, 3):
        for decimals in (1, 12):
            yield (
                f"stumps, {K} classes, dense {'float32' if decimals > 1 else 'codes'}",
                partial(boost, K, decimals, False),
            )
        yield f"stumps, {K} classes, CSR", partial(boost, K, 1, True)
    yield "trees on sorted columns, dense", partial(plant_sorted, False)
    yield "trees on sorted columns, dense, codes of 32 bits", partial(plant_sorted, True)
    for kind in ("numbers", "three", "outputs"):
        for categories in (False, True):
            what = "categories" if categories else "numbers"
            yield f"trees node by node, dense {what}, target {kind}", partial(plant_by_node, kind, categories)
    yield "bagged trees, dense", bag
    wide = sparse.csr_matrix(thin)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "fingerprint, CSR with 64-bit indices", partial(row_hashes, wide)  # all others read 32-bit ones
    yield "perceptron, dense thin rows", partial(visit, thin)
    yield "perceptron, CSR rows of ones", partial(visit, sparse.csr_matrix((thin != 0.0).astype(np.float64)))

    def run_ones() -> None:
        signs = np.tile(y[:50], WORTH // 1250)
        ones = sparse.csr_matrix(np.tile(np.tri(50), (WORTH // 1250, 1)))  # rows of many lengths
        problem = LinearERM.build(ones, signs, np.ones(signs.size), losses.BY_NAME["hinge"], "free")
        solve(problem, Stop(1e-6, 2), solver="coordinate_descent")

    yield "hinge by coordinate_descent, CSR rows of ones", run_ones
    yield "helpers that wait", lambda: watch(np.zeros(1, np.int64), 0, 0, 0.0, 0.0)


def _nothing() -> None:
    """Nobody looks at the clock."""
