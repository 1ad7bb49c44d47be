"""Model files of the discriminants: the same bits after the journey; moments and rule are recomputed, forgeries seen."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.datasets import load_iris, load_wine

from gapless import (
    CertificateError,
    GaussianDiscriminant,
    LinearDiscriminantAnalysis,
    ModelFileError,
    QuadraticDiscriminantAnalysis,
    load,
    save,
    verify,
)
from gapless.judge.__main__ import main as judge
from tests.files.test_modelfile import cut, forge, put

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[IRIS[1]]
LDA, QDA = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

MODELS = {
    "spherical": (GaussianDiscriminant(covariance="spherical"), *IRIS, None),
    "shared": (GaussianDiscriminant(), *IRIS, None),
    "shared, two classes, weights": (
        GaussianDiscriminant(shrinkage=0.2, priors=[0.3, 0.7]),
        *(a[:100] for a in IRIS),
        np.arange(100) % 3.0,
    ),
    "per class": (GaussianDiscriminant(covariance="per_class"), IRIS[0], NAMES, None),
    "per class, auto, weights": (
        GaussianDiscriminant(covariance="per_class", shrinkage="auto"),
        *WINE,
        np.arange(178) % 3.0,
    ),
    "lda svd": (LDA(), *WINE, None),
    "lda svd, two classes": (LDA(store_covariance=True), *(a[:100] for a in IRIS), None),
    "lda lsqr": (LDA(solver="lsqr", shrinkage="auto"), *WINE, None),
    "lda eigen": (LDA(solver="eigen", n_components=1, priors=[0.2, 0.3, 0.5]), IRIS[0], NAMES, None),
    "lda float32": (LDA(), IRIS[0].astype(np.float32), IRIS[1], None),
    "lda, a constant column": (LDA(), np.column_stack([IRIS[0], np.ones(150)]), IRIS[1], None),
    "qda": (QDA(store_covariance=True), *IRIS, None),
    "qda, regularised": (QDA(reg_param=0.1, shrinkage=0.5), *IRIS, None),
    "qda float32": (QDA(solver="eigen", shrinkage="auto"), IRIS[0].astype(np.float32), NAMES, None),
}


def fit(name):
    model, X, y, weights = MODELS[name]
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (model.fit(X, y) if weights is None else model.fit(X, y, weights)), X, y, weights


@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits_after_the_journey(name, tmp_path):
    model, X, y, weights = fit(name)
    save(model, tmp_path / "m", target="kind")
    again = load(tmp_path / "m")
    fitted = [key for key in vars(model) if key.endswith("_") and not key.startswith("_")]
    assert {"means_", "priors_", "rank_", "condition_", "certificate_"} <= set(fitted)
    for key in fitted:
        mine, theirs = getattr(model, key), getattr(again, key)
        if key == "certificate_":
            assert theirs.arrays.keys() == mine.arrays.keys()
            continue
        for a, b in zip(mine, theirs, strict=True) if isinstance(mine, list) else [(mine, theirs)]:
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype or key == "classes_"
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        assert getattr(model, method)(X).tobytes() == getattr(again, method)(X).tobytes()
    assert model.predict(X).tolist() == again.predict(X).tolist()
    if hasattr(model, "scalings_") and hasattr(model, "transform"):
        assert model.transform(X).tobytes() == again.transform(X).tobytes()
        assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert again.get_params() == model.get_params()
    for given in (tmp_path / "m", again, model, model.certificate_):
        verdict = verify(given, X, y, weights)
        assert verdict, verdict
        verdict.to_json()
    save(again, tmp_path / "n", target="kind")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    np.savez(tmp_path / "data.npz", X=X, y=y, **({} if weights is None else {"sample_weight": weights}))
    assert judge([str(tmp_path / "m"), str(tmp_path / "data.npz")]) == 0


@pytest.mark.parametrize("name", MODELS)
def test_other_numbers_are_false(name, tmp_path):
    """Each array, one number changed by a part in ten thousand (of the largest): the judge says so."""
    model, X, y, weights = fit(name)
    rng = np.random.default_rng(1)
    for array, numbers in model.certificate_.arrays.items():
        if array in ("scalings", "ratio", "xbar") and "lda" in name:
            continue  # the axes of transform are listed as not checked
        changed = np.array(numbers)
        at = tuple(int(rng.integers(size)) for size in changed.shape)
        changed[at] += 1e-4 * np.abs(changed).max()
        save(model, tmp_path / "m")
        forge(tmp_path / "m", members={f"{array}.bin": changed.tobytes()})
        assert not verify(tmp_path / "m", X, y, weights), array


def test_a_model_changed_after_the_fit(tmp_path):
    model, X, y, _ = fit("shared")
    model.means_ = model.means_ + 1e-3
    assert not verify(model, X, y)
    with pytest.raises(ModelFileError, match="means_ is not what fit returned"):
        save(model, tmp_path / "m")


def test_a_prior_of_zero(tmp_path):
    X, y = IRIS
    with np.errstate(divide="ignore"):
        model = GaussianDiscriminant(priors=[0.5, 0.5, 0.0]).fit(X, y)
    save(model, tmp_path / "m")
    assert verify(tmp_path / "m", X, y)
    assert load(tmp_path / "m").predict(X).tolist() == model.predict(X).tolist()


def test_a_class_without_weight_is_no_class(tmp_path):
    X, y = IRIS
    model = GaussianDiscriminant().fit(X, y, (y != 1).astype(float))
    save(model, tmp_path / "m")
    assert verify(tmp_path / "m", X, y, (y != 1).astype(float))
    with pytest.raises(CertificateError, match="weights"):
        verify(tmp_path / "m", X, y)


def test_what_another_estimator_found_is_not_saved(tmp_path):
    model = LDA(solver="lsqr", covariance_estimator=LedoitWolf()).fit(*IRIS)
    with pytest.raises(ModelFileError, match="covariance_estimator"):
        save(model, tmp_path / "m")


@pytest.fixture
def saved(tmp_path):
    save(fit("lda svd")[0], tmp_path / "m")
    return tmp_path / "m"


def test_byte_flips(saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(2)
    for at in rng.integers(0, len(whole), size=100).tolist():
        saved.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
        with pytest.raises(ModelFileError):
            load(saved)


@pytest.mark.parametrize(
    "change",
    [
        put("certificate", "rank", value=[3]),
        put("certificate", "status", value="max_iter"),
        put("problem", "shrinkage", value=[0.5, 0.5, 0.5]),
        put("parameters", "shrinkage", value=0.5),
        put("parameters", "priors", value=[0.2, 0.2, 0.6]),
        put("parameters", "solver", value="lsqr"),
        put("problem", "pooled_by", value="priors"),
    ],
)
def test_changed_claims_are_false(saved, change):
    forge(saved, change)
    assert not verify(saved, *WINE)


def test_other_classes(saved):
    forge(saved, put("classes", "values", value=[2, 1, 0]))
    with pytest.raises(CertificateError, match="other labels"):
        verify(saved, *WINE)


def test_other_data(saved):
    X, y = WINE
    moved = X.copy()
    moved[0, 0] += 1e-9
    for args in ((moved, y), (X, np.roll(y, 1)), (X[:-1], y[:-1]), (X, y, np.arange(178.0))):
        with pytest.raises(CertificateError):
            verify(saved, *args)


def test_the_next_schema(saved):
    forge(saved, put("schema", value=2))
    with pytest.raises(ModelFileError, match="newer gapless"):
        load(saved)


@pytest.mark.parametrize(
    "change",
    [
        put("estimator", value="QuadraticDiscriminantAnalysis"),
        put("estimator", value="GaussianDiscriminant"),
        put("problem", "rule", value="per_class"),
        put("problem", "directions", value=10**9),
        put("problem", "components", value=0),
        put("problem", "shrinkage", value=[0.0]),
        put("certificate", "kind", value="gap"),
        put("certificate", "rank", value=[1, 2]),
        put("certificate", "rank", value=13),
        put("classes", value=None),
        put("parameters", "evil", value=1),
        put("n_features", value=10**6),
        put("arrays", "means", "shape", value=[3, 10**9]),
        cut("problem", "rule"),
        cut("arrays", "means"),
    ],
)
def test_documents_that_describe_no_model(saved, change):
    forge(saved, change)
    with pytest.raises(ModelFileError):
        load(saved)
