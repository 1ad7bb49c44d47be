"""skops, shap, imbalanced-learn, optuna and mlflow with our models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless

MODELS = {
    "LinearSVC": {},
    "LogisticRegression": {},
    "SVC": {},
    "LinearDiscriminantAnalysis": {},
    "DecisionTreeClassifier": {"max_depth": 3},
    "AdaBoostClassifier": {"n_estimators": 3},
    "BaggingClassifier": {"n_estimators": 2},
}


@pytest.mark.parametrize("name", MODELS)
def test_skops_keeps_what_answers(name):
    skops = pytest.importorskip("skops.io", reason="the extra `ecosystem`")
    X, y = load_iris(return_X_y=True)
    model = getattr(gapless, name)(**MODELS[name]).fit(X, y)
    dumped = skops.dumps(gapless.to_sklearn(model))
    assert [each for each in skops.get_untrusted_types(data=dumped) if "gapless" in each] == []
    again = skops.loads(dumped, trusted=skops.get_untrusted_types(data=dumped))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_shap_explains_linear_models_and_trees():
    shap = pytest.importorskip("shap", reason="the extra `ecosystem`")
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    linear = gapless.Ridge().fit(X, y)
    explainer = shap.LinearExplainer(gapless.to_sklearn(linear), X)
    found = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(found, linear.predict(X), atol=1e-6)
    tree = gapless.DecisionTreeRegressor(max_depth=3).fit(X, y)
    explainer = shap.TreeExplainer(gapless.to_sklearn(tree))
    total = explainer.shap_values(X).sum(axis=1) + np.ravel(explainer.expected_value)[0]
    np.testing.assert_allclose(total, tree.predict(X), rtol=1e-6)
    machine = gapless.SVR().fit(X, y)
    explain = shap.Explainer(machine.predict, X[:20], seed=0)
    values = explain(X[:3])
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, machine.predict(X[:3]), rtol=1e-6)


def test_imbalanced_learn_resamples_before_a_fit():
    pytest.importorskip("imblearn", reason="the extra `ecosystem`")
    from imblearn.ensemble import BalancedBaggingClassifier, EasyEnsembleClassifier
    from imblearn.over_sampling import SMOTE, SVMSMOTE
    from imblearn.pipeline import make_pipeline as make_resampling_pipeline

    X, y = load_breast_cancer(return_X_y=True)
    keep = np.flatnonzero((y == 1) | (np.arange(y.size) % 5 == 0))
    X, y = StandardScaler().fit_transform(X[keep]), y[keep]
    for model in (gapless.LogisticRegression(), gapless.SVC(), gapless.DecisionTreeClassifier(max_depth=4)):
        for sampler in (SMOTE(random_state=0), SVMSMOTE(random_state=0, svm_estimator=gapless.SVC())):
            assert make_resampling_pipeline(sampler, model).fit(X, y).score(X, y) > 0.9
    assert (
        BalancedBaggingClassifier(gapless.LogisticRegression(), n_estimators=3, random_state=0).fit(X, y).score(X, y)
        > 0.9
    )
    easy = EasyEnsembleClassifier(n_estimators=3, estimator=gapless.AdaBoostClassifier(n_estimators=5), random_state=0)
    assert easy.fit(X, y).score(X, y) > 0.85


def test_optuna_tunes():
    optuna = pytest.importorskip("optuna", reason="the extra `ecosystem`")
    from sklearn.model_selection import cross_val_score

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = load_iris(return_X_y=True)

    def objective(trial):
        C, gamma = trial.suggest_float("C", 1e-2, 1e2, log=True), trial.suggest_float("gamma", 1e-3, 1.0, log=True)
        return cross_val_score(gapless.SVC(C=C, gamma=gamma), X, y, cv=3).mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=8)
    assert study.best_value > 0.93


@pytest.mark.parametrize("logged", [False, True], ids=["log_model", "autolog"])
def test_mlflow_logs_and_loads(logged, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="the extra `ecosystem`")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    X, y = load_iris(return_X_y=True)
    if logged:  # autolog watches the classes that scikit-learn names: `patch` makes them ours before it looks
        gapless.patch()
        mlflow.sklearn.autolog(log_models=False)
        try:
            from sklearn.linear_model import LogisticRegression

            with mlflow.start_run() as run:
                LogisticRegression(C=0.5).fit(X, y)
            told = mlflow.get_run(run.info.run_id).data
        finally:
            mlflow.sklearn.autolog(disable=True)
            gapless.unpatch()
        assert told.params["C"] == "0.5"
        assert told.metrics["training_accuracy_score"] > 0.9
        return
    model = make_pipeline(StandardScaler(), gapless.LogisticRegression()).fit(X, y)
    with mlflow.start_run():
        info = mlflow.sklearn.log_model(model, name="model", serialization_format="cloudpickle")
    again = mlflow.sklearn.load_model(info.model_uri)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib_backends(backend):
    from joblib import parallel_config
    from sklearn.model_selection import GridSearchCV

    X, y = load_iris(return_X_y=True)
    grid = GridSearchCV(gapless.SVC(), {"C": [0.1, 1.0]}, cv=3)
    alone = grid.fit(X, y).cv_results_["mean_test_score"].copy()
    with parallel_config(backend=backend, n_jobs=2):
        np.testing.assert_array_equal(grid.fit(X, y).cv_results_["mean_test_score"], alone)
