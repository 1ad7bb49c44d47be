"""Ensembles in a model file: the same bits come back; a foreign learner is named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.svm import SVC as SkSVC

import gapless
from gapless import AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor
from tests.boosting.cases import blobs

MODELS = [
    AdaBoostClassifier(n_estimators=6),
    AdaBoostClassifier(gapless.LogisticRegression(), n_estimators=3),
    AdaBoostClassifier(gapless.DecisionTreeClassifier(max_depth=2), n_estimators=3),
    AdaBoostClassifier(gapless.Perceptron(), n_estimators=2, random_state=0),
    AdaBoostRegressor(n_estimators=4, random_state=0),
    AdaBoostRegressor(gapless.Ridge(), n_estimators=3, random_state=0),
    BaggingClassifier(n_estimators=4, random_state=0, oob_score=True),
    BaggingClassifier(gapless.LinearDiscriminantAnalysis(), n_estimators=3, random_state=0, max_features=2),
    BaggingClassifier(AdaBoostClassifier(n_estimators=3), n_estimators=2, random_state=0),
    BaggingRegressor(n_estimators=3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{type(m.estimator).__name__}")
def test_the_same_bits_come_back(model, tmp_path):
    X, y = blobs(80, 3, 0)
    regresses = type(model).__name__.endswith("Regressor")
    target = X[:, 0] + y if regresses else np.array(["a", "b", "c"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, target)
    gapless.save(model, tmp_path / "m.gapless")
    again = gapless.load(tmp_path / "m.gapless")
    ask = "predict" if regresses else "predict_proba"
    assert np.array_equal(getattr(again, ask)(X), getattr(model, ask)(X))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_
    assert len(again.estimators_) == len(model.estimators_)
    assert gapless.verify(tmp_path / "m.gapless", X, target)
    assert gapless.verify(again, X, target)
    gapless.save(again, tmp_path / "n.gapless")
    assert (tmp_path / "n.gapless").read_bytes() == (tmp_path / "m.gapless").read_bytes()
    if hasattr(model, "estimators_samples_"):
        assert all(np.array_equal(a, b) for a, b in zip(again.estimators_samples_, model.estimators_samples_))


@pytest.mark.parametrize("ensemble", [AdaBoostClassifier, BaggingClassifier])
def test_a_foreign_learner_is_named(ensemble, tmp_path):
    X, y = blobs(60, 2, 0)
    model = ensemble(SkSVC(C=1e3), n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(gapless.ModelFileError, match=r"base learner is sklearn\.svm\._classes\.SVC"):
        gapless.save(model, tmp_path / "m.gapless")
    assert not list(tmp_path.iterdir())


def test_a_changed_model_is_not_saved(tmp_path):
    X, y = blobs(60, 2, 0)
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    model.estimator_weights_ = model.estimator_weights_ * 2.0
    assert not gapless.verify(model, X, y)
    with pytest.raises(gapless.ModelFileError, match="not what fit returned"):
        gapless.save(model, tmp_path / "m.gapless")
