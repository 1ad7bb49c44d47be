"""patch, unpatch and `python -m gapless script.py`: our classes in programs that ask scikit-learn for theirs."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import load_wine, make_regression
from sklearn.ensemble import BaggingClassifier as TheirBagging
from sklearn.model_selection import GridSearchCV

import gapless
from gapless.registry import ESTIMATORS

THEIRS = {"SVC": sklearn.svm.SVC, "LinearSVC": sklearn.svm.LinearSVC, "Ridge": sklearn.linear_model.Ridge}


@pytest.fixture
def patched():
    yield gapless.patch()
    gapless.unpatch()
    assert sklearn.svm.SVC is THEIRS["SVC"]
    assert sklearn.linear_model.Ridge is THEIRS["Ridge"]


def test_all_that_both_have_is_swapped_and_comes_back(patched):
    from sklearn.svm import SVC

    assert SVC is gapless.SVC
    names = {name.split(".")[1] for name in patched.swapped}
    assert names == {entry.name for entry in ESTIMATORS} - {"LeastSquaresClassifier", "GaussianDiscriminant"}
    assert "linear_model.HuberRegressor" in patched.left
    assert "ensemble.RandomForestClassifier" in patched.left
    assert not set(patched.left) & set(patched.swapped)
    assert "SVC" in str(patched)
    assert str(len(patched.left)) in str(patched)
    assert gapless.patch().swapped == patched.swapped  # a second time changes nothing
    back = gapless.unpatch()
    assert back.swapped == patched.swapped
    assert "scikit-learn's again" in str(back)
    assert sklearn.svm.SVC is THEIRS["SVC"]
    assert str(gapless.unpatch()) == "nothing was swapped."


def test_only_the_names_that_are_asked_for():
    try:
        assert gapless.patch("Ridge").swapped == ("linear_model.Ridge",)
        assert sklearn.linear_model.Ridge is gapless.Ridge
        assert sklearn.svm.SVC is THEIRS["SVC"]
        with pytest.raises(ValueError, match=r"patch knows no Lars; it has .*Ridge"):
            gapless.patch(["Ridge", "Lars"])
    finally:
        gapless.unpatch()


def test_names_that_were_imported_before_are_told():
    from sklearn.svm import NuSVC

    globals()["NuSVC"] = NuSVC
    try:
        found = gapless.patch()
        assert f"{__name__}.NuSVC" in found.held
        assert f"{__name__}.NuSVC" in str(found)
        assert "import them again" in str(found)
    finally:
        del globals()["NuSVC"]
        gapless.unpatch()


def test_the_offset_of_linear_svc_is_penalised_as_scikit_learns_is(patched):
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    ours = sklearn.svm.LinearSVC(tol=1e-10, max_iter=100_000).fit(X, y)
    theirs = THEIRS["LinearSVC"](tol=1e-10, max_iter=1_000_000, random_state=0).fit(X, y)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert ours.get_params()["penalize_intercept"] is True
    assert gapless.verify(ours, X, y)
    assert clone(ours).get_params() == ours.get_params()
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is type(ours)
    assert np.array_equal(again.predict(X), ours.predict(X))


def test_scikit_learns_own_tools_take_the_swapped_classes(patched, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    search = GridSearchCV(sklearn.svm.SVC(), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert type(search.best_estimator_) is gapless.SVC
    assert gapless.verify(search.best_estimator_, X, y)
    assert type(TheirBagging(random_state=0).fit(X, y).estimators_[0]) is sklearn.tree._classes.DecisionTreeClassifier
    X, y = make_regression(80, 3, noise=1.0, random_state=0)
    from sklearn.linear_model import LinearRegression, RANSACRegressor

    assert LinearRegression is gapless.LinearRegression
    assert RANSACRegressor(LinearRegression(), random_state=0).fit(X, y).score(X, y) > 0.99
    path = tmp_path / "model.gapless"
    gapless.save(sklearn.svm.LinearSVC().fit(X, y > 0), path)
    assert type(gapless.load(path)) is gapless.LinearSVC


PROGRAM = """
import sys
from pathlib import Path
from sklearn.datasets import load_iris
from sklearn.svm import SVC, LinearSVC
import beside
X, y = load_iris(return_X_y=True)
model = SVC().fit(X, y)
print(type(model).__module__, sys.argv[1:], __name__, beside.here, LinearSVC().penalize_intercept)
sys.exit(7)
"""


def test_a_program_runs_as_it_stands(tmp_path):
    (tmp_path / "script.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("here = 'beside'")
    call = [sys.executable, "-m", "gapless"]
    done = subprocess.run(
        [*call, str(tmp_path / "script.py"), "--flag", "3"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 7, done.stderr
    assert done.stdout.strip() == "gapless.estimators.svc ['--flag', '3'] __main__ beside True"
    assert "gapless: in script.py, " in done.stderr
    assert "SVC" in done.stderr
    missing = subprocess.run([*call, str(tmp_path / "other.py")], capture_output=True, text=True, timeout=300)
    assert missing.returncode == 2
    assert "other.py is not there" in missing.stderr
    (tmp_path / "script.py").write_text("raise KeyError('mine')")
    failed = subprocess.run([*call, str(tmp_path / "script.py")], capture_output=True, text=True, timeout=300)
    assert failed.returncode == 1
    assert "KeyError: 'mine'" in failed.stderr


def test_importing_gapless_swaps_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert THEIRS["SVC"] is sklearn.svm.SVC
