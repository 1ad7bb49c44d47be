"""Inside scikit-learn's own machinery: searches, pipelines, calibration, meta-estimators, metadata routing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless
from gapless import LinearSVC, LogisticRegression
from tests.linear.sets import LOSSES, load, model, trusted


@pytest.mark.parametrize("loss", LOSSES)
def test_grid_search(loss):
    X, y = load("wine")
    steps = Pipeline([("scale", StandardScaler()), ("model", model(loss))])
    search = GridSearchCV(steps, {"model__C": [0.01, 0.1, 1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    trusted(best["model"], best["scale"].transform(X), y)


def test_grid_search_in_two_processes_is_silent_where_it_should_be():
    """scikit-learn issue 29294: settings reach the workers."""
    X, y = load("wine")
    search = GridSearchCV(model("hinge", max_iter=1, tol=1e-9), {"C": [0.1, 1.0]}, cv=2, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with gapless.config_context(convergence="ignore"):
            search.fit(X, y)
    assert search.best_estimator_.status_ == "max_iter"


@pytest.mark.parametrize("loss", LOSSES)
def test_pipeline_and_cross_validation(loss):
    X, y = load("breast_cancer")
    scores = cross_val_score(make_pipeline(StandardScaler(), model(loss)), X, y, cv=5)
    assert scores.mean() > 0.95
    several = cross_validate(model(loss), X, y, cv=2, scoring=["accuracy", "roc_auc", "average_precision"])
    assert several["test_roc_auc"].min() > 0.9


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("name", ["breast_cancer_scaled", "wine"])
def test_calibrated(name, ensemble):
    X, y = load(name)
    calibrated = CalibratedClassifierCV(LinearSVC(), cv=3, ensemble=ensemble).fit(X, y)
    chances = calibrated.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert calibrated.score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_one_against_rest_is_what_we_do_anyway(loss):
    X, y = load("wine")
    theirs = OneVsRestClassifier(model(loss)).fit(X, y)
    ours = model(loss).fit(X, y)
    for k, each in enumerate(theirs.estimators_):
        np.testing.assert_allclose(each.coef_[0], ours.coef_[k], rtol=1e-6, atol=1e-7)
    assert (theirs.predict(X) == ours.predict(X)).all()


def test_one_against_rest_of_logistic_regression():
    X, y = load("wine")
    theirs = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    for k, each in enumerate(theirs.estimators_):
        alone = LogisticRegression().fit(X, y == k)
        np.testing.assert_allclose(each.coef_, alone.coef_, rtol=1e-7, atol=1e-9)
    assert theirs.predict_proba(X).shape == (y.size, 3)


@pytest.mark.parametrize("wrap", [OneVsOneClassifier, OutputCodeClassifier, BaggingClassifier])
def test_meta_estimators(wrap):
    X, y = load("iris")
    assert wrap(LinearSVC(), **({} if wrap is OneVsOneClassifier else {"random_state": 0})).fit(X, y).score(X, y) > 0.6


def test_voting_stacking_selection_and_several_outputs():
    X, y = load("wine")
    X = StandardScaler().fit_transform(X)
    pair = [("svm", LinearSVC()), ("log", LogisticRegression())]
    assert VotingClassifier(pair).fit(X, y).score(X, y) > 0.95
    assert StackingClassifier(pair, final_estimator=LogisticRegression()).fit(X, y).score(X, y) > 0.95
    chosen = SelectFromModel(LinearSVC()).fit(X, y)
    assert 0 < chosen.transform(X).shape[1] < X.shape[1]
    both = np.c_[y, y == 1]
    assert MultiOutputClassifier(LogisticRegression()).fit(X, both).predict(X).shape == both.shape


def test_metadata_routing():
    """A weight that is asked for arrives; with zeros for half of the rows the fit is that of the other half."""
    X, y = load("breast_cancer_scaled")
    weights = (np.arange(y.size) % 2).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        for loss in LOSSES:
            estimator = model(loss).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            # The weights go to the model only: a scaler that saw them would change the data.
            pipe = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)), ("model", estimator)])
            pipe.fit(X, y, sample_weight=weights)
            Z = pipe["scale"].transform(X)
            half = model(loss).fit(Z[1::2], y[1::2])
            np.testing.assert_allclose(pipe.decision_function(X), half.decision_function(Z), rtol=1e-7, atol=1e-7)
            search = GridSearchCV(estimator, {"C": [0.1, 1.0]}, cv=2).fit(X, y, sample_weight=weights)
            assert search.best_score_ > 0.9
            with pytest.raises(ValueError, match="sample_weight"):
                GridSearchCV(model(loss), {"C": [0.1, 1.0]}, cv=2).fit(X, y, sample_weight=weights)


def test_tags():
    from sklearn.utils import get_tags

    for estimator in (LinearSVC(), LogisticRegression()):
        tags = get_tags(estimator)
        assert tags.estimator_type == "classifier"
        assert tags.input_tags.sparse
        assert not tags.input_tags.allow_nan
        assert tags.classifier_tags.multi_class
        assert tags.target_tags.required
        assert sklearn.base.is_classifier(estimator)
