"""Descents: each loss by each method, on few rows, on many rows and on long rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gapless import losses
from gapless._warmup.names import users_of_loss
from gapless._warmup.samples import Samples, to_form
from gapless._warmup.step import Step
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial
from gapless.registry import with_kernels
from gapless.solvers.descent.descend import Until, descend
from gapless.solvers.descent.objective import LOSSES
from gapless.solvers.descent.visits import interleave_streams
from gapless.solvers.loop import SMALL_FIT_VALUES


def steps(samples: Samples) -> Iterator[Step]:
    """Each loss × each method × each variant of rows."""
    methods = ("sgd", "minibatch", "gd")
    for name, X in samples.variants():
        # In float32 only: fewer values than these are stepped over in float64.
        many = [to_form(name, samples.random.normal(size=(SMALL_FIT_VALUES // 50, 51)))] if "float32" in name else []
        for kind in ("hinge", "squared_hinge", "logistic"):
            loss, names = losses.BY_NAME[kind], (*users_of_loss(kind), "descend")
            for method in (*methods, "literal"):
                yield Step(f"{kind} by {method}, {name}", names, partial(_descend, samples, X, loss, method))
            yield Step(f"{kind} by a long descent, {name}", names, partial(_descend_long_rows, samples, name, loss))
            for rows in many:
                for method in methods:
                    run = partial(_descend_many_rows, samples, rows, loss, method)
                    yield Step(f"{kind} by {method} of many rows, {name}", names, run)
        for kind in ("squared", "perceptron"):
            users = () if kind == "perceptron" else with_kernels("least_squares")
            for method in (*methods, "literal"):
                run = partial(_descend, samples, X, LOSSES[kind], method)
                yield Step(f"{kind} by {method}, {name}", (*users, "descend"), run)
        for rows in (X, *many):
            names = (*with_kernels("logistic"), "descend")
            yield Step(f"softmax by descents, {name}", names, partial(_descend_softmax, rows))


def _descend(samples: Samples, X: Any, loss: Any, method: Any) -> None:
    targets = samples.y.astype(float) if loss == losses.Squared() else samples.y
    problem = LinearProblem.build(X, targets, np.ones(targets.size), loss, "free")
    if method == "literal":
        descend(problem, method="sgd", literal=True, stop=Until(epochs=2))
    else:
        descend(problem, method=method, stop=Until(epochs=2), visits="random")


def _descend_many_rows(samples: Samples, X: Any, loss: Any, method: Any) -> None:
    problem = LinearProblem.build(X, samples.signs(X.shape[0]), np.ones(X.shape[0]), loss, "free")
    descend(problem, method=method, stop=Until(epochs=2))


def _descend_long_rows(samples: Samples, name: str, loss: Any) -> None:
    """Descend over long rows, larger than a cache together and visited often: they are copied in the order of their visits."""
    random = samples.random
    rows = np.where(random.random((300, 2000)) < 0.25, random.normal(size=(300, 2000)), 0.0).astype(name.split()[1])
    signs = np.where(rows[:, :50].sum(axis=1) > 0, np.int8(1), np.int8(-1))
    problem = LinearProblem.build(to_form(name, rows), signs, np.ones(signs.size), loss, "free")
    descend(problem, method="sgd", stop=Until(epochs=40), average="uniform")
    interleave_streams(4, 2, np.arange(2), 0, 2, np.empty(4, dtype=np.int64))  # the order of many short rows


def _descend_softmax(X: Any) -> None:
    n = X.shape[0]
    problem = Multinomial.build(X, np.arange(n) % 3, np.ones(n), 3, "free")
    descend(problem, method="gd", stop=Until(epochs=2))
    descend(problem, method="minibatch", stop=Until(epochs=2))
