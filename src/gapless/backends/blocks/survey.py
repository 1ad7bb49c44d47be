"""The first look at a block: its size, classes, weights and hashes, and what no pass needs to compute again.

It runs where the block is. What it tells is small; codes of the labels, weights and lengths of the rows stay with the block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from gapless import rows as R
from gapless.backends.blocks.walk import InBlocks, Job, Shape, Tick, Walk
from gapless.encode.labels import Labels, encode_labels, one_class_error
from gapless.encode.weights import check_sample_weight
from gapless.judge.fingerprint import digest
from gapless.rows.hashes import row_hashes
from gapless.rows.products import curved_cost
from gapless.rows.weighted_gram import gram_cost


class BlockFacts(NamedTuple):
    """What is known of a block."""

    rows: int
    columns: int
    single: bool  #: float32
    sparse: bool
    row_digest: str
    weight_digest: str
    classes: np.ndarray | None  #: of its labels; None for targets
    masses: np.ndarray | None  #: the weight of each of these classes
    targets: int  #: columns of y; 0 where it is a vector
    heaviest: float  #: the largest weight
    bytes: int  #: of X
    shape: Shape


def survey(number: int, X: Any, y: Any, weight: Any, classify: bool) -> tuple[Any, ...]:
    """The facts, and three vectors: codes of the labels or the targets, weights or None, and |x|^2."""
    n = X.shape[0]
    try:
        assert_all_finite(X.data if sparse.issparse(X) else X, input_name="X")
        given = None if weight is None else _weights(weight, n)
        if y is None:
            raise ValueError("a block has no labels: (X, y) or (X, y, weight) is asked for")
        codes, classes, K = _codes(y, n) if classify else _targets(y, n)
    except ValueError as error:
        raise ValueError(f"block {number}: {error}") from error
    masses = None
    if classes is not None:
        masses = np.bincount(codes, weights=given, minlength=classes.size).astype(float)
    facts = BlockFacts(
        n, X.shape[1], X.dtype == np.float32, sparse.issparse(X), digest(row_hashes(X), "<u8"),
        digest(np.ones(n) if given is None else given + 0.0, "<f8"), classes, masses, K,
        1.0 if given is None else float(given.max(initial=0.0)), _bytes(X), _shape(X),
    )  # fmt: skip
    return facts, codes, given, R.norms2(R.as_rows(X, 0.0))


def _shape(X: Any) -> Shape:
    rows = R.as_rows(X, 1.0)
    length = float(R.sum_length(rows))
    return Shape(R.is_sparse(rows), R.n_stored(rows), curved_cost(rows), gram_cost(rows, X.shape[0]), length, 0.0)


def _bytes(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes


def _weights(weight: Any, n: int) -> np.ndarray:
    try:
        return np.array(check_sample_weight(weight, n))
    except ValueError as error:
        if "at least one non-zero" in str(error):  # another block may have some
            return np.zeros(n)
        raise


def _codes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray, int]:
    found = encode_labels_of_block(y)
    if found.index.size != n:
        raise ValueError(f"X has {n} rows, y {found.index.size}")
    return found.index.astype(np.int32), found.classes, 1


def encode_labels_of_block(y: Any) -> Labels:
    """As `encode_labels`; a block may have one class alone."""
    values = y.to_numpy() if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray) else np.asarray(y)
    values = values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values
    try:
        return encode_labels(values)
    except ValueError:
        if values.size == 0 or not (values == values[0]).all():
            raise
        two = encode_labels(np.concatenate([values[:1], _another(values)]))  # whatever is wrong with its type is told
        return Labels(two.classes[two.index[:1]], np.zeros(values.size, np.int64))


def _another(values: np.ndarray) -> np.ndarray:
    """A label of the same type that differs from the first."""
    first = values[0]
    if values.dtype.kind in "OUT":
        return np.array([f"{first}'" if isinstance(first, str) else not first], dtype=values.dtype)
    return np.array([not first if values.dtype.kind == "b" else (first - 1 if first > 0 else first + 1)], values.dtype)


def _targets(y: Any, n: int) -> tuple[np.ndarray, None, int]:
    Y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray) else y, dtype=np.float64)
    K = 0 if Y.ndim == 1 else Y.shape[1]
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or Y.shape[0] != n:
        raise ValueError(f"X has {n} rows, y has shape {Y.shape}")
    assert_all_finite(Y, input_name="y")
    return np.ascontiguousarray(Y), None, K


class Surveyed(NamedTuple):
    """All blocks: what is known of each, and the vectors that stay with them."""

    facts: list[BlockFacts]
    codes: InBlocks
    weights: InBlocks
    norms2: InBlocks

    @property
    def n(self) -> int:
        return sum(f.rows for f in self.facts)

    @property
    def d(self) -> int:
        return self.facts[0].columns

    @property
    def shape(self) -> Shape:
        """That of all blocks; sums go over their rows, and then over the blocks."""
        every = [f.shape for f in self.facts]
        stored, curve, gram = (sum(each[k] for each in every) for k in (1, 2, 3))
        longest = max(each.sum_length for each in every) + len(every)
        return Shape(self.facts[0].sparse, int(stored), float(curve), float(gram), longest, 0.0)

    @property
    def single(self) -> bool:
        return all(f.single for f in self.facts)

    @property
    def weighted(self) -> bool:
        return any(f.weight_digest != f0 for f, f0 in ((f, digest(np.ones(f.rows), "<f8")) for f in self.facts))


def refuse_unequal(facts: list[BlockFacts]) -> None:
    """Blocks that do not belong together, or hold no row."""
    if not facts or not sum(f.rows for f in facts):
        raise ValueError("the blocks hold no row: found array with 0 sample(s) while a minimum of 1 is required")
    first = facts[0]
    for k, f in enumerate(facts):
        if f.columns != first.columns:
            raise ValueError(f"block {k} has {f.columns} columns, block 0 has {first.columns}")
        if f.sparse != first.sparse:
            raise ValueError(f"block {k} is {'sparse' if f.sparse else 'dense'}, block 0 is not")
        if f.targets != first.targets:
            raise ValueError(f"y of block {k} has {f.targets} columns, that of block 0 has {first.targets}")
    if not any(f.heaviest > 0.0 for f in facts):
        raise ValueError("Sample weights must contain at least one non-zero number.")


class Classes(NamedTuple):
    """The classes of all blocks, for each block the class that each of its codes is, and the weight of each class."""

    values: np.ndarray
    tables: list[np.ndarray]
    masses: np.ndarray


def find_classes(facts: list[BlockFacts]) -> Classes:
    """The classes of all blocks in their order."""
    named = [f.classes for f in facts if f.classes is not None]
    every = np.concatenate(named)
    if every.dtype.kind not in "OUT" and any(c.dtype.kind in "OUT" for c in named):
        raise ValueError("the labels of some blocks are texts, those of others numbers")
    try:
        labels = encode_labels(every)
    except ValueError as error:
        if np.unique(every).size == 1:
            raise one_class_error(np.unique(every)) from error
        raise
    tables = np.split(labels.index, np.cumsum([c.size for c in named])[:-1])
    masses = np.zeros(labels.n_classes)
    for f, table in zip(facts, tables):
        np.add.at(masses, table, np.asarray(f.masses))
    return Classes(labels.classes, tables, masses)


# -- costs -----------------------------------------------------------------------------------------------------------


class Bare(NamedTuple):
    """No problem yet: the vectors of a block as they are."""

    def build(self, rows: Any, *parts: Any) -> tuple[Any, ...]:
        return parts


def encode(parts: tuple[Any, ...], C: float, class_weight: np.ndarray, table: np.ndarray) -> tuple[Any, ...]:
    """Class indices, costs and lengths of the rows that count, and which do (None: all); digest and number of them."""
    codes, weights, norms2 = parts
    index = table[codes]
    kept = None
    if weights is None and (class_weight == 1.0).all():
        c = np.full(index.size, C)
    else:
        w = np.ones(index.size) if weights is None else weights
        with np.errstate(invalid="ignore", over="ignore"):
            c = (C * w) * class_weight[index]
        counts = c > 0.0
        if not counts.all():
            kept = np.flatnonzero(counts)
    named = digest(index, "<i8")
    kind = np.int8 if class_weight.size < 128 else np.int32
    if kept is None:
        return (named, index.size), index.astype(kind), c, norms2, None
    return (named, kept.size), index[kept].astype(kind), c[kept], norms2[kept], kept


class Encoded(NamedTuple):
    """The vectors of a linear problem, and the digests of the labels of each block."""

    base: tuple[InBlocks, InBlocks, InBlocks]
    kept: InBlocks
    sizes: list[int]
    label_digests: list[str]


def encode_blocks(
    walk: Walk, seen: Surveyed, C: float, class_weight: np.ndarray, tables: list[np.ndarray], tick: Tick
) -> Encoded:
    """Class indices and costs of all blocks."""
    job = Job(encode, Bare(), (C, class_weight), 4)
    found, *made = walk.each(job, (seen.codes, seen.weights, seen.norms2), (walk.place(tables),), tick)
    index, c, norms2, kept = made
    return Encoded((index, c, norms2), kept, [f[1] for f in found], [f[0] for f in found])


def fingerprint_of_blocks(facts: list[BlockFacts], label_digests: list[str]) -> dict[str, Any]:
    """Which data a certificate of blocks speaks of: what `judge/fingerprint` computes of rows that are cut like this."""
    blocks = [[f.rows, f.row_digest, named, f.weight_digest] for f, named in zip(facts, label_digests)]
    of_all = [digest(np.frombuffer("".join(str(b[k]) for b in blocks).encode(), np.uint8), "u1") for k in (1, 2, 3)]
    return {
        "n_rows": sum(f.rows for f in facts),
        "n_features": facts[0].columns,
        "rows": of_all[0],
        "labels": of_all[1],
        "weights": of_all[2],
        "blocks": blocks,
    }
