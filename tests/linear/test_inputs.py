"""Whatever holds the numbers and the labels, the answer is that of the plain float64 C-ordered array."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import gapless
from tests.linear.sets import LOSSES, bits, load, model, trusted

# -- X -----------------------------------------------------------------------------------------------------


def whole_numbers():
    """Small whole numbers: every container below can hold them exactly."""
    X, y = load("digits_two")
    return np.ascontiguousarray(X[:, 10:40]), y


def memmap(X, tmp_path):
    file = tmp_path / "X.dat"
    X.tofile(file)
    return np.memmap(file, dtype=X.dtype, mode="r", shape=X.shape)


DENSE = {
    "F order": lambda X, _: np.asfortranarray(X),
    "every second column of a wider one": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards in memory": lambda X, _: X[::-1].copy()[::-1],
    "read-only": lambda X, _: _read_only(X),
    "read-only memmap": memmap,
    "int8": lambda X, _: X.astype(np.int8),
    "uint8": lambda X, _: X.astype(np.uint8),
    "int64": lambda X, _: X.astype(np.int64),
    "float16": lambda X, _: X.astype(np.float16),
    "big-endian": lambda X, _: X.astype(">f8"),
    "long double": lambda X, _: X.astype(np.longdouble),
    "object": lambda X, _: X.astype(object),
    "list of lists": lambda X, _: X.tolist(),
    "negative zeros": lambda X, _: np.where(X == 0, -0.0, X),
}


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("loss", LOSSES)
def test_dense(loss, name, tmp_path):
    X, y = whole_numbers()
    expected = model(loss).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other_X = DENSE[name](X, tmp_path)
        other = model(loss).fit(other_X, y)
    assert bits(other) == bits(expected)
    np.testing.assert_allclose(other.decision_function(other_X), expected.decision_function(X), rtol=1e-12, atol=1e-12)
    # The certificate is about the values: the plain array verifies it.
    trusted(other, X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_bool(loss):
    X, y = whole_numbers()
    X = X > 8
    expected = model(loss).fit(X.astype(float), y)
    assert bits(model(loss).fit(X, y)) == bits(expected)
    assert bits(model(loss).fit(sparse.csr_matrix(X), y)) == bits(
        model(loss).fit(sparse.csr_matrix(X.astype(float)), y)
    )


def _unsorted(X):
    X = sparse.csr_matrix(X)
    random = np.random.default_rng(0)
    for row in range(X.shape[0]):
        part = slice(X.indptr[row], X.indptr[row + 1])
        order = random.permutation(part.stop - part.start)
        X.indices[part], X.data[part] = X.indices[part][order], X.data[part][order]
    X.has_sorted_indices = False
    return X


def _explicit_zeros(X):
    X = sparse.csr_matrix(np.where(X == 0, 99.0, X))
    X.data[X.data == 99.0] = 0.0
    return X


def _duplicates(X):
    """Each value in two parts, whose sum it is."""
    X = sparse.coo_matrix(X)
    row, column = np.tile(X.row, 2), np.tile(X.col, 2)
    order = np.argsort(row, kind="stable")
    data = np.concatenate([X.data - 1.0, np.ones_like(X.data)])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    return sparse.csr_matrix((data[order], column[order], indptr), shape=X.shape)


def _int64(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


SPARSE = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
    "coo": sparse.coo_matrix,
    "coo_array": sparse.coo_array,
    "lil": sparse.lil_matrix,
    "int64 indices": _int64,
    "unsorted indices": _unsorted,
    "explicit zeros": _explicit_zeros,
    "duplicates": _duplicates,
    "int8 values": lambda X: sparse.csr_matrix(X.astype(np.int8)),
}


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("loss", LOSSES)
def test_sparse(loss, name):
    X, y = whole_numbers()
    dense = model(loss).fit(X, y)
    given = SPARSE[name](X)
    before = [np.array(getattr(given, part)) for part in ("data", "indices", "indptr") if hasattr(given, part)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = model(loss).fit(given, y)
    np.testing.assert_allclose(other.decision_function(given), dense.decision_function(X), rtol=1e-7, atol=1e-7)
    if name != "explicit zeros":
        assert bits(other) == bits(model(loss).fit(sparse.csr_matrix(X), y))
    # What the user gave is what the user still has.
    after = [np.array(getattr(given, part)) for part in ("data", "indices", "indptr") if hasattr(given, part)]
    assert all((a == b).all() for a, b in zip(before, after) if a.dtype != object)
    trusted(other, X, y)  # the same rows, dense
    trusted(other, given, y)


def test_a_row_and_a_column_of_zeros_in_csr():
    X, y = whole_numbers()
    X = X.copy()
    X[4] = 0
    X[:, 2] = 0
    for loss in LOSSES:
        dense = model(loss).fit(X, y)
        thin = model(loss).fit(sparse.csr_matrix(X), y)
        np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
        assert thin.coef_[0, 2] == 0.0


def test_nothing_is_written_to_the_input():
    X, y = load("breast_cancer")
    weights = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    for given in (X.copy(), sparse.csr_matrix(X)):
        labels, w = y.copy(), weights.copy()
        parts = [given] if isinstance(given, np.ndarray) else [given.data, given.indices, given.indptr]
        before = [part.copy() for part in parts]
        for loss in LOSSES:
            model(loss).fit(given, labels, sample_weight=w).predict(given)
        assert all((a == b).all() for a, b in zip(before, parts))
        assert (labels == y).all()
        assert (w == weights).all()


# -- frames ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_pandas(loss):
    pandas = pytest.importorskip("pandas")
    X, y = load("wine")
    names = [f"column {k}" for k in range(X.shape[1])]
    frame = pandas.DataFrame(X, columns=names, index=np.arange(1000, 1000 + y.size))
    labels = pandas.Series(np.array(["a", "b", "c"])[y], index=frame.index)
    expected = model(loss).fit(X, np.array(["a", "b", "c"])[y])
    fitted = model(loss).fit(frame, labels)
    assert fitted.feature_names_in_.tolist() == names
    assert fitted.n_features_in_ == X.shape[1]
    np.testing.assert_allclose(fitted.coef_, expected.coef_, rtol=1e-7, atol=1e-12)
    assert (fitted.predict(frame) == expected.predict(X)).all()
    assert fitted.certificate_.document()["feature_names"] == names
    trusted(fitted, frame, labels)
    trusted(fitted, X, np.asarray(labels))
    # Columns of several types, as they come out of a file.
    mixed = frame.astype({names[0]: "float32", names[1]: "float64"})
    mixed["flag"] = y == 1
    mixed["count"] = np.arange(y.size, dtype="int16")
    model(loss).fit(mixed, labels)
    # Nullable columns without missing values are ordinary columns.
    nullable = frame.convert_dtypes()
    np.testing.assert_allclose(model(loss).fit(nullable, labels).coef_, expected.coef_, rtol=1e-7, atol=1e-12)
    with pytest.raises(ValueError, match="NaN"):
        model(loss).fit(nullable.mask(nullable > 1000), labels)


@pytest.mark.parametrize("loss", LOSSES)
def test_polars(loss):
    polars = pytest.importorskip("polars")
    X, y = load("iris")
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = polars.DataFrame(X, schema=names)
    labels = polars.Series("kind", np.array(["setosa", "versicolor", "virginica"])[y])
    expected = model(loss).fit(X, labels.to_numpy())
    fitted = model(loss).fit(frame, labels)
    assert fitted.feature_names_in_.tolist() == names
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(fitted.coef_, expected.coef_, rtol=1e-7, atol=1e-12)
    assert (fitted.predict(frame) == expected.predict(X)).all()
    trusted(fitted, frame, labels)
    weights = polars.Series(np.ones(y.size))
    assert bits(model(loss).fit(frame, labels, sample_weight=weights)) == bits(fitted)


def test_a_lazy_frame_is_refused_with_the_way_out():
    polars = pytest.importorskip("polars")
    X, y = load("iris")
    with pytest.raises((TypeError, ValueError), match="collect"):
        model("hinge").fit(polars.DataFrame(X).lazy(), y)


def test_no_names_without_a_frame():
    X, y = load("iris")
    assert not hasattr(model("hinge").fit(X, y), "feature_names_in_")


def test_names_go_with_a_refit_on_an_array():
    pandas = pytest.importorskip("pandas")
    X, y = load("iris")
    fitted = model("hinge").fit(pandas.DataFrame(X, columns=list("abcd")), y)
    assert fitted.fit(X, y) is fitted
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.certificate_.document()["feature_names"] is None


# -- labels ------------------------------------------------------------------------------------------------

TWO_LABELS = {
    "0 and 1": [0, 1],
    "-1 and 1": [-1, 1],
    "5 and 3": [3, 5],
    "large ints": [-(2**62), 2**62],
    "floats": [1.0, 2.0],
    "bools": [False, True],
    "strings": ["no", "yes"],
    "not ascii": ["nein", "für"][::-1],
    "uint8": np.array([3, 200], dtype=np.uint8),
}


@pytest.mark.parametrize("name", TWO_LABELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_two_labels(loss, name):
    X, y = load("iris_two")
    values = np.array(TWO_LABELS[name])
    values = np.sort(values)
    expected = model(loss).fit(X, y)
    fitted = model(loss).fit(X, values[y - 1])
    assert fitted.classes_.dtype == values.dtype
    assert fitted.classes_.tolist() == values.tolist()
    assert bits(fitted) == bits(expected)
    assert (fitted.predict(X) == values[expected.predict(X) - 1]).all()
    assert fitted.score(X, values[y - 1]) == expected.score(X, y)
    trusted(fitted, X, values[y - 1])


@pytest.mark.parametrize("dtype", [object, "U", "float64", "int32"])
def test_three_labels(dtype):
    X, y = load("iris")
    values = np.array(["1", "2", "3"] if dtype in (object, "U") else [1, 2, 3], dtype=dtype)
    expected = model("hinge").fit(X, y)
    fitted = model("hinge").fit(X, values[y])
    assert fitted.classes_.tolist() == values.tolist()
    assert bits(fitted) == bits(expected)
    assert fitted.predict(X).dtype == fitted.classes_.dtype
    trusted(fitted, X, values[y])


def test_categorical_and_lists():
    pandas = pytest.importorskip("pandas")
    X, y = load("iris")
    names = np.array(["z", "a", "m"])[y]
    expected = model("hinge").fit(X, names)
    category = pandas.Categorical(names, categories=["z", "a", "m", "never seen"])
    for labels in (category, pandas.Series(category), pandas.Series(names, dtype="string"), names.tolist()):
        fitted = model("hinge").fit(X, labels)
        assert fitted.classes_.tolist() == ["a", "m", "z"]
        assert bits(fitted) == bits(expected)


def test_a_column_of_labels_is_raveled_with_scikit_learns_warning():
    from sklearn.exceptions import DataConversionWarning

    X, y = load("iris")
    with pytest.warns(DataConversionWarning):
        fitted = model("hinge").fit(X, y[:, None])
    assert bits(fitted) == bits(model("hinge").fit(X, y))


def test_the_order_of_the_labels_only_turns_the_sign():
    X, y = load("breast_cancer_scaled")
    for loss in LOSSES:
        there, back = model(loss).fit(X, y), model(loss).fit(X, 1 - y)
        np.testing.assert_allclose(back.coef_, -there.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(back.intercept_, -there.intercept_, rtol=1e-6, atol=1e-9)


# -- float32 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits"])
@pytest.mark.parametrize("loss", LOSSES)
def test_float32(loss, name, kind):
    X, y = load(name)
    X = X.astype(np.float32)
    given = sparse.csr_matrix(X) if kind == "csr" else X
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(loss).fit(given, y)
    kept = np.float32 if loss == "logistic" else np.float64
    assert fitted.coef_.dtype == fitted.intercept_.dtype == kept
    assert fitted.alpha_.dtype == np.float64
    certificate = trusted(fitted, given, y)
    assert certificate.relative_gap <= 1e-4
    # Read in double precision: the problem is that of the rounded values, and the gap is in float64.
    double = model(loss).fit(X.astype(np.float64), y)
    low, high = double.certificate_.dual, double.certificate_.primal
    assert certificate.primal >= low - double.certificate_.rounding
    assert certificate.dual <= high + certificate.rounding + double.certificate_.rounding
    assert certificate.primal <= high * (1 + 1e-4) + certificate.rounding
    if loss == "logistic":
        assert fitted.predict_proba(given).dtype == np.float32


def test_many_rows_of_float32_are_summed_in_float64():
    # scikit-learn issue 33032: float32 sums over half a million rows drift.
    random = np.random.default_rng(0)
    X = random.normal(size=(100_000, 3)).astype(np.float32) + 3
    y = X @ np.array([1.0, -1.0, 0.5]) + random.normal(size=100_000) > 1.5
    for loss in ("squared_hinge", "logistic"):
        single = model(loss).fit(X, y)
        double = model(loss).fit(X.astype(np.float64), y)
        np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-4)
        assert single.certificate_.dual <= double.certificate_.primal * (1 + 1e-12)
        assert gapless.verify(single, X, y)
