"""Fits of rows in blocks: the same optimum as in memory, and a certificate that the judge recomputes from blocks or in memory."""

from __future__ import annotations

import numpy as np
import pytest

from gapless import (
    CertificateError,
    LeastSquaresClassifier,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Ridge,
    load,
    save,
    verify,
)
from gapless.backends.stream.source import GivenBlocks
from gapless.backends.stream.vectors import Vectors, mapped
from tests.stream.data import cut, labels, rows, weights

CLASSIFIERS = {
    "squared hinge": lambda: LinearSVC(),
    "hinge": lambda: LinearSVC(loss="hinge"),
    "hinge, penalised offset": lambda: LinearSVC(loss="hinge", penalize_intercept=True, class_weight="balanced"),
    "logistic": lambda: LogisticRegression(),
    "least squares": lambda: LeastSquaresClassifier(alpha=0.5, class_weight={0: 2.0}),
}


def within_gaps(one, other):
    """The optimum is between primal and dual of either."""
    a, b = one.certificate_, other.certificate_
    return abs(a.primal - b.primal) <= a.gap + b.gap + a.rounding + b.rounding


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_blocks_have_the_optimum_of_the_rows_in_memory(name, kind, classes):
    X = rows(kind=kind)
    y, w = labels(X, classes), weights(X.shape[0])
    whole, blocks = CLASSIFIERS[name]().fit(X, y, w), cut(5, X, y, w)
    found = CLASSIFIERS[name]().fit(blocks)
    assert found.status_ == "converged"
    assert "stream" in found.certificate_.backend
    assert within_gaps(found, whole)
    assert np.array_equal(found.classes_, whole.classes_)
    assert (found.predict(X) == whole.predict(X)).mean() > 0.99
    # The judge shares no code with the fit: from blocks, from other blocks, and from memory.
    assert verify(found, blocks)
    assert verify(found, cut(3, X, y, w))
    assert verify(found, X, y, w, rigorous=True)
    assert verify(whole, blocks)


@pytest.mark.parametrize("make", [LinearRegression, Ridge])
@pytest.mark.parametrize("targets", [1, 3])
def test_regressions(make, targets):
    X, w = rows(), weights(2400)
    Y = X @ np.random.default_rng(5).normal(size=(9, targets)) + np.random.default_rng(6).normal(size=(2400, targets))
    Y = Y[:, 0] if targets == 1 else Y
    for blocks, given in ((cut(4, X, Y, w), w), (cut(4, X, Y), None)):
        found, whole = make().fit(blocks), make().fit(X, Y, given)
        assert np.allclose(found.coef_, whole.coef_, rtol=1e-9)
        assert found.coef_.shape == whole.coef_.shape
        assert verify(found, blocks)
        assert verify(found, X, Y, given)


def test_texts_as_labels_and_blocks_with_one_class():
    X = rows()
    y = np.sort(np.array(["no", "yes", "maybe"], dtype=object)[labels(X, 3)])  # most blocks have one class alone
    found = LogisticRegression().fit(cut(6, X, y))
    assert found.classes_.tolist() == ["maybe", "no", "yes"]
    assert within_gaps(found, LogisticRegression().fit(X, y))


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_fewer_rows_than_columns_in_units_of_their_own(C):
    """Softmax then asks for matrices of the rows."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 150)) * 10.0 ** np.linspace(-2.0, 3.0, 150), np.arange(60) % 3
    found, whole = (LogisticRegression(C=C, tol=1e-8).fit(*data) for data in ((cut(3, X, y),), (X, y)))
    assert found.status_ == "converged"
    assert within_gaps(found, whole)
    assert verify(found, X, y)


def test_float32_rows_make_a_float32_model():
    X = rows().astype(np.float32)
    found = LogisticRegression().fit(cut(3, X, labels(X)))
    assert found.coef_.dtype == np.float32
    assert verify(found, cut(3, X, labels(X)))


def test_the_bits_are_those_of_the_cut_and_not_of_the_threads():
    X = rows(60_000)
    blocks = cut(3, X, labels(X))
    one, two = (LinearSVC(loss="hinge", n_jobs=k).fit(blocks) for k in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.certificate_.arrays["dual"], two.certificate_.arrays["dual"])


def test_other_data_are_named_by_their_block():
    X = rows()
    y, w = labels(X), weights(2400)
    found = LinearSVC().fit(cut(5, X, y, w))
    changed = X.copy()
    changed[2000, 3] = np.nextafter(changed[2000, 3], 9.0)
    with pytest.raises(CertificateError, match="the rows of X of block 4 of 5"):
        verify(found, cut(5, changed, y, w))
    with pytest.raises(CertificateError, match="sample_weight of block 0"):
        verify(found, cut(5, X, y))
    with pytest.raises(CertificateError, match="y of block"):
        verify(found, cut(5, X, 1 - y, w))


def test_a_forged_block_is_found():
    X = rows()
    blocks = cut(4, X, labels(X))
    found = LinearSVC().fit(blocks)
    named = found.certificate_.fingerprint["blocks"]
    assert sum(block[0] for block in named) == 2400
    named[1][1] = "0" * 32
    with pytest.raises(CertificateError, match="block 1"):
        verify(found, blocks)
    named[1][1], named[1][0] = found.certificate_.fingerprint["rows"], named[1][0] + 1
    with pytest.raises(CertificateError, match="n_rows"):
        verify(found, blocks)


def test_a_model_file_is_verified_from_blocks(tmp_path):
    X = rows()
    blocks = cut(4, X, labels(X, 3))
    save(LogisticRegression().fit(blocks), tmp_path / "m.gapless")
    assert verify(tmp_path / "m.gapless", blocks)
    assert load(tmp_path / "m.gapless").certificate_.backend.endswith("stream")


def test_a_fit_may_be_stopped_and_gone_on_with():
    X = rows(20_000)
    blocks = cut(4, X, labels(X))
    with pytest.warns(match="max_iter"):
        stopped = LinearSVC(loss="hinge", max_iter=2).fit(blocks)
    assert stopped.certificate_.relative_gap > 1e-4
    assert verify(stopped, blocks)
    more = LinearSVC(loss="hinge", init=stopped).fit(blocks)
    assert more.status_ == "converged"
    with pytest.warns(match="time_limit"):
        late = LogisticRegression(time_limit=1e-9, tol=1e-12).fit(blocks)
    assert verify(late, blocks)


def test_what_cannot_be_walked_again_is_refused():
    X = rows()
    blocks = cut(3, X, labels(X))
    with pytest.raises(TypeError, match="only once"):
        LinearSVC().fit(block for block in blocks)
    with pytest.raises(ValueError, match="bring their labels"):
        LinearSVC().fit(GivenBlocks(blocks), labels(X))
    with pytest.raises(ValueError, match="requires y|dtype|array"):
        LinearSVC().fit(["ab", "cd"])


def test_errors_name_the_block():
    X = rows()
    y = labels(X)
    bad = X.copy()
    bad[2399, 0] = np.nan
    with pytest.raises(ValueError, match="block 2: Input X contains NaN"):
        LinearSVC().fit(cut(3, bad, y))
    with pytest.raises(ValueError, match="block 1 has 8 columns, block 0 has 9"):
        LinearSVC().fit([(X, y), (X[:, :8], y)])
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(cut(3, X, np.zeros(2400, int)))
    with pytest.raises(ValueError, match="visits rows one by one"):
        LinearSVC(solver="sgd").fit(cut(3, X, y))


def test_rows_that_change_between_walks_are_found():
    X = rows()
    y = labels(X)

    class Shrinking:
        times = 0

        def __iter__(self):
            self.times += 1
            return iter(cut(3, X[: 2400 - 100 * (self.times > 3)], y[: 2400 - 100 * (self.times > 3)]))

    with pytest.raises(ValueError, match="other rows than when it was walked first"):
        LinearSVC(loss="hinge").fit(Shrinking())


def test_long_vectors_lie_in_files():
    sizes = [5, 3]
    found = Vectors(sizes, 32).hold([np.arange(5.0), np.arange(3.0)])
    assert [part.tolist() for part in found.parts] == [[0, 1, 2, 3, 4], [0, 1, 2]]
    bases = {id(part.base) for part in found.parts}
    assert len(bases) == 1  # one file
    with pytest.raises(MemoryError, match="no room"):
        mapped((1 << 50,), float)
