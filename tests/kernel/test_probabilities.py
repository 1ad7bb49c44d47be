"""SVC(probability=True): probabilities from the scores of rows that were left out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale

import gapless
from gapless import SVC, NuSVC

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


def halves(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = scale(X)[order], y[order]
    half = len(y) // 2
    return X[:half], y[:half], X[half:], y[half:]


@pytest.mark.parametrize("make", [SVC, lambda **more: NuSVC(nu=0.2, **more)], ids=["SVC", "NuSVC"])
def test_two_classes_are_as_good_as_what_scikit_learn_recommends(make):
    X, y, new, truth = halves(load_breast_cancer)
    with pytest.warns(FutureWarning, match=r"deprecated in scikit-learn 1\.9.*gapless\.calibrate"):
        model = make(probability=True).fit(X, y)
    found = model.predict_proba(new)
    advised = CalibratedClassifierCV(make(), ensemble=False).fit(X, y).predict_proba(new)
    assert np.abs(found.sum(axis=1) - 1.0).max() < 1e-12
    assert log_loss(truth, found) < 1.2 * log_loss(truth, advised)
    assert (np.diff(found[np.argsort(model.decision_function(new)), 1]) >= 0.0).all()
    assert np.allclose(np.exp(model.predict_log_proba(new)), found)
    assert model.dual_coef_.tobytes() == make().fit(X, y).dual_coef_.tobytes()  # the machine is the one without
    assert gapless.verify(model, X, y)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_three_classes(shape):
    X, y, new, truth = halves(load_wine)
    model = SVC(probability=True, decision_function_shape=shape).fit(X, y)
    found = model.predict_proba(new)
    assert found.shape == (len(new), 3)
    assert np.abs(found.sum(axis=1) - 1.0).max() < 1e-12
    assert log_loss(truth, found) < 0.35
    assert (model.classes_[found.argmax(axis=1)] == truth).mean() > 0.9


def test_weights_count_rows():
    """A weight of 0 takes a row out: of the folds, too."""
    X, y, new, _ = halves(load_breast_cancer)
    weights = np.ones(len(y))
    weights[::3] = 0.0
    left, kept = SVC(probability=True).fit(X, y, weights), SVC(probability=True).fit(X[weights > 0], y[weights > 0])
    assert np.allclose(left.predict_proba(new), kept.predict_proba(new), atol=1e-6)


def test_a_kernel_matrix_and_its_rows_agree():
    X, y, new, _ = halves(load_breast_cancer)
    plain = SVC(kernel="linear", C=0.01, probability=True, tol=1e-10).fit(X, y)
    matrix = SVC(kernel="precomputed", C=0.01, probability=True, tol=1e-10).fit(X @ X.T, y)
    assert np.allclose(plain.predict_proba(new), matrix.predict_proba(new @ X.T), atol=1e-6)


def test_only_where_they_were_asked_for(tmp_path):
    X, y, new, _ = halves(load_breast_cancer)
    plain = SVC().fit(X, y)
    assert not hasattr(plain, "predict_proba")
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        plain.set_params(probability=True).predict_proba(new)
    with pytest.raises(NotFittedError):
        SVC(probability=True).predict_proba(new)
    model = SVC(probability=True).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(new), model.predict_proba(new))
    gapless.save(model, tmp_path / "model.gapless")
    loaded = gapless.load(tmp_path / "model.gapless")
    assert np.array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert gapless.verify(loaded, X, y)


def test_files_keep_the_map_of_three_classes(tmp_path):
    X, y, new, _ = halves(load_wine)
    model = SVC(probability=True).fit(X, y)
    gapless.save(model, tmp_path / "model.gapless")
    assert np.array_equal(gapless.load(tmp_path / "model.gapless").predict_proba(new), model.predict_proba(new))
    document = model.certificate_.document()
    document["probabilities"] = {"slope": 1.0, "offset": 0.0}
    with pytest.raises(gapless.CertificateError, match="map of so many classes"):
        gapless.judge.check(document, model.certificate_.arrays, X, y)


def test_a_row_that_is_the_only_one_of_its_class_keeps_its_score():
    X, _, new, _ = halves(load_breast_cancer)
    model = SVC(probability=True).fit(X[:9], np.arange(9) == 0)
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(new))
    assert (np.diff(p[order, 1]) >= 0.0).all()
    assert SVC(probability=True).fit(X[:3], [0, 1, 2]).predict_proba(new).shape == (len(new), 3)


def test_probA_and_probB_are_those_of_libsvm():
    X, y, new, _ = halves(load_breast_cancer)
    model = SVC(probability=True).fit(X, y)
    with pytest.warns(FutureWarning, match="probA_"):
        A = model.probA_
    with pytest.warns(FutureWarning, match="probB_"):
        B = model.probB_
    first = 1.0 / (1.0 + np.exp(-A * model.decision_function(new) + B))
    np.testing.assert_allclose(model.predict_proba(new)[:, 0], first, rtol=1e-12)
