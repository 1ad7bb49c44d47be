"""Compile kernels once, so that the first fit of each later process finds them on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from gapless import registry
from gapless._compile import kernel_store as store
from gapless._compile.processor import HOST
from gapless._runtime.clock import Stopwatch

#: The rows that kernels are compiled for. Two processes, one for each, share next to nothing.
KINDS = ("dense", "CSR")

LINEAR_SVM = registry.with_kernels("linear_svm")
LOGISTIC = registry.with_kernels("logistic")
LEAST_SQUARES = registry.with_kernels("least_squares")
MACHINES = registry.with_kernels("kernel_machines")
GAUSSIAN = registry.with_kernels("gaussian")
TREES = registry.with_kernels("trees")
STUMPS = registry.with_kernels("stumps")
ESTIMATORS = tuple(registry.MODULES)
#: What a function or a command needs: the kernels of these estimators besides its own.
CALLS: dict[str, tuple[str, ...]] = {
    "train": (*LINEAR_SVM, *LOGISTIC, "SVC", "SVR", *LEAST_SQUARES, *TREES, *STUMPS),
    "tune": (*LINEAR_SVM, *LOGISTIC, "SVC", "Ridge"),
    "path": (*LINEAR_SVM, *LOGISTIC, "SVC", "Ridge"),
    "descend": (*LINEAR_SVM, *LOGISTIC),
    "reduce": (*LINEAR_SVM, "SVC"),
    "report": ESTIMATORS,
    "predict": (),
    "verify": (),
    "bounds": (),
    "margins": (),
    "calibrate": (),
    "separability": (),
    "demo": (*LINEAR_SVM, *LOGISTIC, "SVC", *TREES, *STUMPS),
    "lab": (
        "Perceptron",
        *LINEAR_SVM,
        *LOGISTIC,
        *LEAST_SQUARES,
        "SVC",
        *GAUSSIAN,
        *TREES,
        *STUMPS,
        "descend",
        "reduce",
        "separability",
    ),
}
NAMES = (*ESTIMATORS, *CALLS)
#: Commands read files; all of them, and all fits, hash rows.
READING = ("train", "tune", "predict", "verify", "bounds", "report", "demo")


#: The estimators of a loss.
OF_LOSS = {"hinge": LINEAR_SVM, "squared_hinge": LINEAR_SVM, "logistic": LOGISTIC, "squared": ("descend",)}


_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); names, kinds = json.loads(sys.argv[2]); "
    "from gapless._warmup import warmup; warmup(names, kinds=tuple(kinds))"
)


class Step(NamedTuple):
    """Something that compiles kernels, and the names that it is for."""

    what: str
    names: tuple[str, ...]
    run: Callable[[], Any]


def warmup(
    names: str | Iterable[str] | None = None,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    kinds: tuple[str, ...] = KINDS,
) -> float:
    """Compile kernels for this processor and keep them on disk: the first fit of a later process does not wait.

    Parameters
    ----------
    names : str or list of str, optional
        Estimators, functions and commands ("LinearSVC", "separability", "train") whose kernels are wanted. All by default:
        each loss × each solver × dense and CSR × float32 and float64.
    progress : callable, optional
        ``progress(what, done, total)`` is called before each step.
    kinds : tuple of str, optional
        The forms of rows that are wanted, as words of "dense float64", "dense float32", "CSR float64" and "CSR float32".

    Returns
    -------
    float
        The seconds taken.
    """
    watch = Stopwatch()
    if store.level() != HOST and not os.environ.get("GAPLESS_PROCESSOR"):
        # This process runs kernels of the wheel, for many processors. Another one compiles for the host's own.
        given = json.dumps([None if names is None else known(names), kinds])
        environment = {**os.environ, "GAPLESS_PROCESSOR": HOST, "GAPLESS_QUIET": "1"}
        places = json.dumps([os.path.abspath(place) for place in sys.path])
        subprocess.run([sys.executable, "-P", "-c", _CHILD, places, given], env=environment, check=True)
        store.keep_to_host()
        return watch.seconds + watch.compile_seconds
    steps = wanted(names, kinds)
    for done, step in enumerate(steps):
        if progress is not None:
            progress(step.what, done, len(steps))
        step.run()
    if store.level() == HOST:
        store.keep_to_host()
    if progress is not None:
        progress("done", len(steps), len(steps))
    return watch.seconds + watch.compile_seconds


def known(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Names as they were meant, each once; a name that is not known is an error."""
    if names is None:
        return NAMES
    given = names.split(",") if isinstance(names, str) else list(names)
    meant = {name.lower(): name for name in NAMES}
    found = []
    for name in filter(None, (str(text).strip() for text in given)):
        if name.lower() not in meant:
            raise ValueError(f"warmup knows no {name!r}; it knows {', '.join(NAMES)}")
        found.append(meant[name.lower()])
    if not found:
        raise ValueError(f"warmup was asked for nothing; it knows {', '.join(NAMES)}")
    return tuple(dict.fromkeys(found))


def known_rows(text: str) -> tuple[str, ...]:
    """Forms of rows as they were meant; one that is not known is an error."""
    forms = (*KINDS, *(f"{kind} {dtype}" for kind in KINDS for dtype in ("float64", "float32")))
    meant = {form.lower(): form for form in forms}
    found = [meant.get(" ".join(part.lower().split())) for part in text.split(",")]
    if None in found:
        raise ValueError(f"warmup knows no rows {text!r}; it knows {', '.join(forms)}")
    return tuple(form for form in found if form is not None)


def wanted(names: str | Iterable[str] | None = None, kinds: tuple[str, ...] = KINDS) -> list[Step]:
    """The steps for some names and forms of rows."""
    asked = known(names)
    whole = {*asked, *(other for name in asked for other in CALLS.get(name, ()))}
    return [step for step in _steps() if whole & set(step.names) and any(_fits(step.what, kind) for kind in kinds)]


def _fits(what: str, kind: str) -> bool:
    """Whether a step is for such rows, or for rows of any kind or precision."""
    form, _, dtype = kind.partition(" ")
    other = {"float64": "float32", "float32": "float64", "": "nothing"}[dtype]
    return (form in what or not any(each in what for each in KINDS)) and other not in what


def first_fits() -> dict[str, Callable[[], Any]]:
    """A fit of each model that `gapless train` compares, on a small dense table: the kernels that such a table needs."""
    import numpy as np

    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5))
    target = X[:, 0] + X[:, 1] ** 2 + random.normal(size=120)
    two, three = np.asarray(["no", "yes"])[(target > 1.0).astype(int)], np.digitize(target, [0.5, 1.5])

    def fit(name: str, y: np.ndarray, **given: Any) -> None:
        import gapless

        with gapless.config_context(convergence="ignore"):
            model = getattr(gapless, name)(**given).fit(X, y)
            model.predict(X[:20])

    trees = {"n_estimators": 2, "random_state": 0}
    fits: dict[str, Callable[[], Any]] = {
        "LinearSVC": partial(fit, "LinearSVC", two),
        "LogisticRegression": partial(fit, "LogisticRegression", two),
        "LogisticRegression, many classes": partial(fit, "LogisticRegression", three),
        "AdaBoostClassifier": partial(fit, "AdaBoostClassifier", two, **trees),
        "AdaBoostClassifier, many classes": partial(fit, "AdaBoostClassifier", three, **trees),
        "BaggingClassifier": partial(fit, "BaggingClassifier", two, **trees),
        "BaggingRegressor": partial(fit, "BaggingRegressor", target, **trees),
        "LeastSquaresClassifier": partial(fit, "LeastSquaresClassifier", two),
    }
    for name in ("SVC", "SVR", "LinearRegression", "Ridge"):
        fits[name] = partial(fit, name, two if name == "SVC" else target)
    return fits


def _steps() -> Iterator[Step]:
    import numpy as np
    from scipy import sparse

    from gapless import losses
    from gapless._runtime.config import config_context
    from gapless._runtime.spin_wait import watch
    from gapless.certificates.subproblem import certify
    from gapless.estimators.perceptron import Perceptron
    from gapless.estimators.svc import SVC
    from gapless.estimators.svr import SVR, NuSVR
    from gapless.gram.bits import BitTiles
    from gapless.gram.bytes import ByteTiles
    from gapless.gram.dense import gather_square
    from gapless.gram.tiles import RowTiles
    from gapless.kernels.polynomial import Polynomial
    from gapless.kernels.rbf import RBF
    from gapless.problems.least_squares import LeastSquares
    from gapless.problems.linear import LinearProblem
    from gapless.problems.multinomial import Multinomial
    from gapless.rows import as_rows
    from gapless.rows.copies.choose import COPY_THRESHOLDS, best_copy
    from gapless.rows.hashes import row_hashes
    from gapless.rows.products import curved
    from gapless.rows.second_moments import moments
    from gapless.rows.weighted_gram import gram
    from gapless.solvers.boosting.features import cut_into_bins
    from gapless.solvers.descent.descend import Until, descend
    from gapless.solvers.descent.objective import LOSSES
    from gapless.solvers.descent.visits import _interleave
    from gapless.solvers.linear.solve import SOLVERS, solve, solve_multinomial
    from gapless.solvers.loop import SMALL, Stop
    from gapless.solvers.perceptron import Penalty, Run
    from gapless.solvers.tree.prune import prune_tree
    from gapless.solvers.tree.tree import (
        TreeLimits,
        TreeTarget,
        all_finite,
        find_leaves,
        grow_tree,
        pack_tree,
        prepare_columns,
    )

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
        problem = LinearProblem.build(X, y, np.ones(y.size), loss, "free")
        solution = solve(problem, Stop(1e-6, 20), solver=solver)
        certify(problem, solution, tol=1e-6)
        problem.dual_from_primal(solution.theta)
        problem.best_offset(problem.scores(solution.theta))

    def run_lean(X: np.ndarray, loss: Any, solver: str) -> None:
        problem = LinearProblem.build(X, y, np.ones(y.size), loss, "free")
        problem.use_fast_copy(0)
        solve(problem, Stop(1e-6, 20), solver=solver)
        curved(problem.pass_rows, problem.c, np.ones(problem.d + 1))

    def multiply(X: Any) -> None:
        """Rows that are filled into tiles: dense ones of many columns, sparse ones of few zeros."""
        full = sparse.csr_matrix(dense.astype(X.dtype)) if sparse.issparse(X) else np.tile(X, 40)
        for single in (False, True):
            gram(as_rows(full, 1.0), np.ones(y.size), np.arange(y.size), single=single)

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
        for fast in {id(kind): kind for kind in (rows, best_copy(rows, "random", least_values=0))}.values():
            for variant in ("plain", "pocket", "voted"):
                made = Run(rows, y, np.arange(y.size), start.copy(), shuffle=True, variant=variant, fast=fast)
                made.advance(_nothing)
                made.weights()
        Run(rows, y, np.arange(y.size), start, penalty=Penalty(1e-4, 0.5)).advance(_nothing)
        with config_context(convergence="ignore"):
            Perceptron(max_iter=3).fit(X, y)

    def run_descent(X: Any, loss: Any, method: str) -> None:
        targets = y.astype(float) if loss == losses.Squared() else y
        problem = LinearProblem.build(X, targets, np.ones(y.size), loss, "free")
        if method == "literal":
            descend(problem, method="sgd", literal=True, stop=Until(epochs=2))
        else:
            descend(problem, method=method, stop=Until(epochs=2), visits="random")  # type: ignore[arg-type]

    def run_tall(X: Any, kind: str, method: Any) -> None:
        signs = np.where(random.normal(size=X.shape[0]) > 0, np.int8(1), np.int8(-1))
        problem = LinearProblem.build(X, signs, np.ones(signs.size), losses.BY_NAME[kind], "free")
        descend(problem, method=method, stop=Until(epochs=2))

    def shaped(name: str, X: np.ndarray) -> Any:
        form, dtype = name.split()
        return sparse.csr_matrix(X.astype(dtype)) if form == "CSR" else X.astype(dtype)

    def run_long(name: str, kind: str) -> None:
        """Long rows, larger than a cache together, visited often: they are copied in the order of their visits."""
        form, dtype = name.split()
        rows = np.where(random.random((300, 2000)) < 0.25, random.normal(size=(300, 2000)), 0.0).astype(dtype)
        signs = np.where(rows[:, :50].sum(axis=1) > 0, np.int8(1), np.int8(-1))
        given = sparse.csr_matrix(rows) if form == "CSR" else rows
        problem = LinearProblem.build(given, signs, np.ones(signs.size), losses.BY_NAME[kind], "free")
        descend(problem, method="sgd", stop=Until(epochs=40), average="uniform")
        _interleave(4, 2, np.arange(2), 0, 2, np.empty(4, dtype=np.int64))  # of many short rows

    def run_many_scores(X: Any) -> None:
        n = X.shape[0]
        problem = Multinomial.build(X, np.arange(n) % 3, np.ones(n), 3, "free")
        for method in ("gd", "minibatch"):
            descend(problem, method=method, stop=Until(epochs=2))  # type: ignore[arg-type]

    def run_path(X: Any) -> None:
        from gapless.estimators.least_squares import Ridge
        from gapless.tuning.path.path import path

        path(Ridge(), X, dense[:, 0] + dense[:, 1] ** 2, [0.5, 1.0])

    def boost(K: int, decimals: int, sparse_rows: bool) -> None:
        from gapless.estimators.adaboost import AdaBoostClassifier

        values = np.round(
            random.normal(size=(300, 3)), decimals
        )  # more than 256 values, or fewer: wide and narrow codes
        rows = sparse.csr_matrix(values) if sparse_rows else values
        model = AdaBoostClassifier(n_estimators=2).fit(rows, np.arange(300) % K)
        model.predict(rows)
        if not sparse_rows:  # of more than 65,536 rows
            cut_into_bins(values[:, 0].astype(np.float32), np.empty(300, dtype=np.uint8))

    def run_machine(X: Any) -> None:
        with config_context(convergence="ignore"):
            for kernel in ("rbf", "poly"):
                SVC(kernel=kernel, C=100.0).fit(X, y).predict(X)
            SVR().fit(X, dense[:, 0]).predict(X)
            NuSVR().fit(X, dense[:, 0] + dense[:, 1] ** 2).predict(X)

    def multiply_tiles() -> None:
        """Every product that a kernel machine may ask for: of floats, bits and bytes, in both precisions."""
        every, bits = np.arange(520), (random.random((520, 40)) < 0.3).astype(float)
        for dtype in (np.float64, np.float32):
            for tiles in (
                RowTiles.from_rows(RBF(0.1), bits, dtype),
                RowTiles.from_rows(Polynomial(2, 0.1, 1.0), bits, dtype),
                BitTiles.from_binary_rows(RBF(0.1), bits, dtype),
                ByteTiles.from_whole_steps(RBF(1e-6), random.integers(0, 256, size=(520, 200)).astype(float), dtype),
            ):
                if tiles is None:  # this processor has no instruction for bytes
                    continue
                tiles.square(every)
                tiles.add_among(np.zeros(520), every, np.ones(520))
                tiles.fill_columns(every[:70], np.empty((70, 576), dtype))
                tiles.add(np.zeros(520), every, np.ones(520))
                if dtype == np.float32 and tiles.kernel.__class__ is RBF:
                    tiles.add(np.zeros(520), every, np.ones(520), off=np.zeros((520, 2)))

    def run_linear_machine(X: Any) -> None:
        with config_context(convergence="ignore"):
            SVC(kernel="linear").fit(X, y)

    def run_many_classes() -> None:
        rows = random.normal(size=(3100, 4))
        SVC(gamma=0.2).fit(rows, np.arange(3100) % 3)
        SVC(gamma=0.2, tol=1e-2).fit(rows, np.arange(3100) % 2)
        gather_square(np.zeros((2, 2)), np.arange(2), np.zeros((2, 2), dtype=np.float32))

    def run_images() -> None:
        rows = random.integers(0, 256, size=(3100, 200)).astype(float)
        SVC(gamma=1e-6, tol=1e-2).fit(rows, np.arange(3100) % 2).predict(rows)

    def scan_text() -> None:
        from gapless.files import scan_svmlight
        from gapless.files.csv import scan_bytes, scan_cells, scan_columns
        from gapless.files.csv.scan_number import powers_of_five, powers_of_two

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

    yield Step("readers of files", READING, scan_text)
    for X in (dense, dense.astype(np.float32), (thin != 0.0).astype(np.float64)):
        what = "bits" if X.shape == thin.shape else X.dtype.name
        yield Step(f"kernel machine, dense {what}", MACHINES, partial(run_machine, X))
    yield Step("kernel machine, dense images", MACHINES, run_images)
    yield Step("products of kernel machines, dense", MACHINES, multiply_tiles)

    yield Step("kernel machines of many rows, dense", MACHINES, run_many_classes)

    def search() -> None:
        from gapless.estimators.logistic import LogisticRegression
        from gapless.tuning.search.tune import tune

        bits = (thin[:, :4] != 0.0).astype(np.float64)
        with config_context(convergence="ignore"):
            for X in (dense, bits):
                tune(SVC(), X, y, {"C": [1.0, 1e3], "gamma": [0.1]}, cv=2)
            tune(LogisticRegression(), dense, np.arange(60) % 3, {"C": [1.0, 10.0]}, cv=2)

    yield Step("search, dense", ("tune",), search)

    def plant(columns: Any, kind: str, **limits: Any) -> Any:
        """A tree; ``kind``: numbers, two or three classes, or two outputs."""
        n = columns.n_rows
        target = {
            "numbers": lambda: TreeTarget.from_values(np.arange(n) % 7),
            "two": lambda: TreeTarget.from_classes(np.arange(n) % 2, 2),
            "three": lambda: TreeTarget.from_classes(np.arange(n) % 3, 3),
            "outputs": lambda: TreeTarget.from_values(np.stack([np.arange(n) % 3, np.arange(n) % 5], axis=1)),
        }[kind]()
        return grow_tree(columns, target, None, TreeLimits(max_depth=3, **limits))

    def plant_sorted(wide: bool) -> None:
        """Trees on sorted columns: exact and in bins; ``wide``: codes of 32 bits, and columns that are not kept in order."""
        n = 140_000 if wide else 60
        columns = prepare_columns(np.arange(n, dtype=np.float32).repeat(2).reshape(n, 2))
        if wide:  # codes of 16 bits in columns that are not kept in order, too
            plant(prepare_columns((np.arange(n) // 4).astype(np.float32).reshape(n, 1)), "two")
        for kind in ("two",) if wide else ("two", "numbers", "three"):
            for entropy in (False,) if wide or kind == "numbers" else (False, True):
                tree = plant(columns, kind, entropy=entropy)
        if not wide:
            rows = dense.astype(np.float32)
            for missing in (False, True):
                find_leaves(pack_tree(prune_tree(tree, 1e-9)), np.ascontiguousarray(rows[:, :2]), missing=missing)
            all_finite(rows)
            plant(prepare_columns(rows, bins=9), "two")

    def plant_by_node(kind: str, categories: bool) -> None:
        """Trees node by node, depth first and best first, on codes of 16 and of 32 bits; categories and outputs on the latter."""
        for n in (60, 66_000) if not categories and kind != "outputs" else (60,):
            X = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
            columns = prepare_columns(X, np.array([True, False]) if categories else None)
            if categories:
                prepare_columns(X, np.array([True, False]), bins=9)
            plant(columns, kind, max_features=1)
            plant(columns, kind, max_leaves=4)

    def bag() -> None:
        from gapless.estimators.bagging import BaggingClassifier

        BaggingClassifier(n_estimators=2, random_state=0).fit(dense, y).predict(dense)

    for name, X in variants():
        tall = shaped(name, random.normal(size=(SMALL // 50, 51)))  # smaller data of float32 is stepped over in float64
        for kind in ("hinge", "squared_hinge", "logistic"):
            for method in ("sgd", "minibatch", "gd", "literal"):
                names = (*OF_LOSS[kind], "descend")
                yield Step(f"{kind} by {method}, {name}", names, partial(run_descent, X, losses.BY_NAME[kind], method))
            yield Step(f"{kind} by a long descent, {name}", (*OF_LOSS[kind], "descend"), partial(run_long, name, kind))
            if "float32" in name:
                for method in ("sgd", "minibatch", "gd"):
                    names = (*OF_LOSS[kind], "descend")
                    yield Step(f"{kind} by {method} of many rows, {name}", names, partial(run_tall, tall, kind, method))
        for kind in ("squared", "perceptron"):
            for method in ("sgd", "minibatch", "gd", "literal"):
                call = partial(run_descent, X, LOSSES[kind], method)
                users = () if kind == "perceptron" else LEAST_SQUARES
                yield Step(f"{kind} by {method}, {name}", (*users, "descend"), call)
        yield Step(f"linear kernel machine, {name}", ("SVC",), partial(run_linear_machine, X))
        for rows in (X, tall) if "float32" in name else (X,):
            yield Step(f"softmax by descents, {name}", (*LOGISTIC, "descend"), partial(run_many_scores, rows))
        yield Step(f"path of Ridge, {name}", ("path", "Ridge"), partial(run_path, X))
        yield Step(f"softmax, {name}", LOGISTIC, partial(run_softmax, X))
        yield Step(f"products of rows, {name}", (*LINEAR_SVM, *LOGISTIC), partial(multiply, X))
        if "dense" in name:
            yield Step(f"least squares, {name}", LEAST_SQUARES, partial(run_squares, X))
        yield Step(f"fingerprint, {name}", NAMES, partial(row_hashes, X))
        yield Step(f"perceptron, {name}", ("Perceptron",), partial(visit, X))
        for kind, loss in losses.BY_NAME.items():
            hinge = kind == "hinge"
            for solver in SOLVERS:
                if solver == "coordinate_descent" or (solver == "newton") is not hinge:
                    yield Step(f"{kind} by {solver}, {name}", OF_LOSS[kind], partial(run, X, loss, solver))
    for kind, loss in losses.BY_NAME.items():
        for form, X in (("mostly zeros", thin), ("of two values a column", marks)):
            way = "semismooth" if kind == "hinge" else "newton"
            yield Step(f"{kind}, dense, {form}", OF_LOSS[kind], partial(run_lean, X, loss, way))
    for K in (2, 3):
        for decimals in (1, 12):
            codes = "wide" if decimals > 1 else "narrow"
            yield Step(f"stumps, {K} classes, dense, {codes} codes", STUMPS, partial(boost, K, decimals, False))
        yield Step(f"stumps, {K} classes, CSR", STUMPS, partial(boost, K, 1, True))
    yield Step("trees on sorted columns, dense", TREES, partial(plant_sorted, False))
    yield Step("trees on sorted columns, dense, codes of 32 bits", TREES, partial(plant_sorted, True))
    for kind in ("numbers", "three", "outputs"):
        for categories in (False, True):
            what = "categories" if categories else "numbers"
            yield Step(
                f"trees node by node, dense {what}, target {kind}", TREES, partial(plant_by_node, kind, categories)
            )
    yield Step("bagged trees, dense", TREES, bag)
    wide = sparse.csr_matrix(thin)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield Step("fingerprint, CSR with 64-bit indices", NAMES, partial(row_hashes, wide))  # all others read 32-bit ones
    yield Step("perceptron, dense thin rows", ("Perceptron",), partial(visit, thin))
    ones = sparse.csr_matrix((thin != 0.0).astype(np.float64))
    yield Step("perceptron, CSR rows of ones", ("Perceptron",), partial(visit, ones))

    def run_ones() -> None:
        signs = np.tile(y[:50], COPY_THRESHOLDS.random_values // 1250)
        ones = sparse.csr_matrix(
            np.tile(np.tri(50), (COPY_THRESHOLDS.random_values // 1250, 1))
        )  # rows of many lengths
        problem = LinearProblem.build(ones, signs, np.ones(signs.size), losses.BY_NAME["hinge"], "free")
        solve(problem, Stop(1e-6, 2), solver="coordinate_descent")

    yield Step("hinge by coordinate_descent, CSR rows of ones", LINEAR_SVM, run_ones)
    yield Step("helpers that wait", NAMES, lambda: watch(np.zeros(1, np.int64), 0, 0, 0.0, 0.0))


def _nothing() -> None:
    """Nobody looks at the clock."""
