"""Linear classifiers: labels, weights and rows in the problem's units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gapless._runtime.threads import in_background
from gapless._runtime.written import written
from gapless.certificates.fingerprint import fingerprint
from gapless.encode.equal_rows import EqualRows, find_equal_rows
from gapless.encode.labels import Labels, encode_labels
from gapless.encode.offset import Offset
from gapless.encode.weights import Costs, check_sample_weight, costs, resolve_class_weight, weightless_classes
from gapless.rows.hashes import row_hashes
from gapless.solvers.loop import SMALL_FIT_VALUES, Stop, Watch


@dataclass(frozen=True)
class LinearRequest:
    """What an estimator of linear classifiers asks for."""

    estimator: str
    parameters: Mapping[str, Any]
    loss: str
    C: float
    offset: Offset
    class_weight: Any
    stop: Stop
    solver: str
    n_jobs: int | None
    dtype: np.dtype
    seed: int = 0
    on_separation: str = "warn"
    schedule: Any = None
    l1: float = 0.0  #: with l2 the penalty l1 |w|_1 + l2/2 |w|^2; above 0 it is the family "sparse" that fits
    l2: float = 1.0
    device: str = "cpu"


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The data in the problem's units: rows that count, their classes and costs, equal rows grouped."""

    X: Any
    index: np.ndarray
    labels: Labels
    cost: Costs
    groups: EqualRows | None
    order: np.ndarray | None
    weights: np.ndarray
    class_weight: np.ndarray
    fingerprint: Callable[[], dict[str, Any]]
    start: Any
    watch: Watch
    given: Any = None  #: X as it came, with the rows of weight 0
    shared: dict[Any, Any] | None = (
        None  #: of a path: the problems on these rows at another C, with the norms of the rows
    )
    #: what the problems of all classes know of the rows, by the number of rows: all, or equal ones once
    of_rows: dict[int, dict[str, Any]] = field(default_factory=dict)

    def take_distinct(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, classes and costs as the solver sees them: equal rows once."""
        if self.groups is None:
            return self.X, self.index, self.cost.c
        return self.X[self.groups.first], self.index[self.groups.first], self.groups.c

    def change_C(self, C: float, start: Any) -> LinearRows:
        """The same rows for another C."""
        cost = costs(C, self.weights, self.class_weight, self.labels.index)
        return replace(
            self, cost=cost, groups=None if self.groups is None else self.groups.with_costs(cost.c), start=start
        )

    def build_shared(self, key: Any, c: np.ndarray, build: Callable[[], Any]) -> Any:
        """Build a problem with these costs, from the problem of this key on the same rows if a path shares it."""
        if self.shared is None:
            return build()
        known = self.shared.get(key)
        found = build() if known is None else replace(known, c=np.ascontiguousarray(c, float))
        if known is not None:
            found.__dict__.update({name: known.__dict__[name] for name in ("norms2", "R2") if name in known.__dict__})
        self.shared[key] = found
        return found

    def expand(self, u: np.ndarray) -> np.ndarray:
        return u if self.groups is None else self.groups.to_all_rows(u)

    def gather(self, u: np.ndarray) -> np.ndarray:
        return u if self.groups is None else self.groups.to_groups(u)


def encode_linear(
    request: LinearRequest, X: Any, y: Any, sample_weight: Any, start: Any = None, watch: Watch = Watch()
) -> LinearRows:
    """Labels, weights and rows in the problem's units. Without a penalty (C = inf) the costs are the weights alone."""
    if request.l1 > 0.0:
        raise NotImplementedError(
            f"{request.estimator} with an L1 penalty can be fitted; paths and walks over blocks are not offered."
        )
    labels = encode_labels(y)
    if labels.n_classes < 128:
        labels = replace(labels, index=labels.index.astype(np.int8))
    weights = check_sample_weight(sample_weight, X.shape[0])
    class_weight = resolve_class_weight(request.class_weight, labels, weights)
    gone = weightless_classes(labels, weights, class_weight)
    if gone and request.loss == "logistic" and request.offset.kind == "free":
        other = ", or set penalize_intercept=True" if math.isfinite(request.C) else ""
        raise ValueError(
            f"the class {written(gone[0])} has no weight: with a free offset its log-odds would be minus infinity. Remove the "
            f"class, give it weight{other}."
        )
    cost = costs(request.C if math.isfinite(request.C) else 1.0, weights, class_weight, labels.index)
    index = cost.take(labels.index)
    given = None if sample_weight is None else weights
    groups = order = hashes = None
    # Equal problems shall give equal answers where sorting costs little; larger fits are as good as tol.
    if not hasattr(X, "row_hashes") and 0 < index.size and index.size * (X.shape[1] + 1) <= SMALL_FIT_VALUES:
        hashes = row_hashes(X)
        groups = find_equal_rows(cost.take(hashes), index, cost.c)
    elif hasattr(X, "row_hashes"):  # rows on a card
        hashes = X.row_hashes()
    named = in_background(lambda: fingerprint(X, labels.index, given, hashes=hashes))
    if groups is not None and groups.first.size == index.size:  # no two are equal: their order alone is of use
        order, groups = groups.first, None
    rows = X if cost.rows is None else X[cost.rows]
    return LinearRows(
        rows, index, labels, cost, groups, order, weights, class_weight, named, start, watch, X
    )  # fmt: skip
