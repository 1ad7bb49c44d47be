"""Whether rows are the training rows, for every estimator; and the hashes that a model file keeps of them."""

import zipfile

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless
from gapless import judge
from gapless.readings.training_rows import is_training_data, keep_row_hashes, trained_on

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3)) / 3.0  # thirds: float32 rounds them
Y = np.where(X[:, 0] > 0, "a", "b")
CLASSIFIERS = [
    gapless.DecisionTreeClassifier(max_depth=2),
    gapless.BaggingClassifier(n_estimators=3, random_state=0),
    gapless.AdaBoostClassifier(n_estimators=3, random_state=0),
    gapless.SVC(),
    gapless.LinearSVC(),
    gapless.LogisticRegression(),
    gapless.LeastSquaresClassifier(),
    gapless.LinearDiscriminantAnalysis(),
    gapless.GaussianDiscriminant(),
    gapless.Perceptron(),
]
REGRESSIONS = [
    gapless.DecisionTreeRegressor(max_depth=2),
    gapless.BaggingRegressor(n_estimators=3, random_state=0),
    gapless.AdaBoostRegressor(n_estimators=3, random_state=0),
    gapless.SVR(),
    gapless.Ridge(),
    gapless.LinearRegression(),
]


def name(model):
    return type(model).__name__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSIONS], ids=name)
def test_every_estimator_knows_its_rows(model, tmp_path):
    targets = Y if model in CLASSIFIERS else X @ [1.0, 2.0, 3.0]
    model.fit(X, targets)
    assert is_training_data(model, X) is True
    assert is_training_data(model, X[::-1]) is False
    assert is_training_data(model, X[:-1]) is False
    assert is_training_data(model, X + 1e-5) is False
    path = tmp_path / "m.gapless"
    keep_row_hashes(model, X)
    gapless.save(model, path)
    loaded = gapless.load(path)
    assert gapless.verify(path, X, targets)
    mixed = np.concatenate([X[5:9] + 1.0, X[20:30]])
    found = trained_on(loaded, mixed)
    np.testing.assert_array_equal(found.mask, [False] * 4 + [True] * 10)
    assert not found.certain
    assert trained_on(loaded, X).certain
    loaded.fit(X + 1.0, targets)  # the hashes are of another fit
    assert trained_on(loaded, X[:5]) is None


def test_trees_see_float32():
    tree = gapless.DecisionTreeClassifier(max_depth=2).fit(X, Y)
    keep_row_hashes(tree, X)
    rounded = X.astype(np.float32).astype(np.float64)
    assert (rounded != X).any()
    assert is_training_data(tree, rounded)
    assert trained_on(tree, rounded[:7]).mask.all()
    svm = gapless.LinearSVC().fit(X, Y)
    assert not is_training_data(svm, rounded)


def test_pipelines():
    model = make_pipeline(StandardScaler(), gapless.LinearSVC()).fit(X, Y)
    assert is_training_data(model, X) is True
    assert is_training_data(model, X + 1.0) is False


def test_other_rows_are_refused():
    with pytest.raises(ValueError, match="not the rows that the model was trained on"):
        keep_row_hashes(gapless.LinearSVC().fit(X, Y), X[:-1])


def test_the_judge_computes_the_hashes_anew(tmp_path):
    path = tmp_path / "m.gapless"
    model = gapless.LinearSVC().fit(X, Y)
    keep_row_hashes(model, X)
    gapless.save(model, path)
    assert "training_rows.bin" in zipfile.ZipFile(path).namelist()
    document, arrays = judge.read(path)
    verdict = judge.check(document, arrays, X, Y)
    assert verdict
    assert any(claim.name == "training rows" for claim in verdict.claims)
    forged = {**arrays, "training_rows": arrays["training_rows"][::-1].copy()}
    forged["training_rows"][0] ^= np.uint64(1)
    failed = judge.check(document, forged, X, Y).failed
    assert [claim.name for claim in failed] == ["training rows"]
    fewer = {**document, "training_rows": {"distinct": 59, "twins": 0}}
    assert not judge.check(fewer, {**arrays, "training_rows": arrays["training_rows"][1:]}, X, Y)
    twins = {**document, "training_rows": {"distinct": 60, "twins": 2}}
    assert not judge.check(twins, arrays, X, Y)
    with pytest.raises(judge.CertificateError, match="training_rows"):
        judge.check({**document, "training_rows": 60}, arrays, X, Y)
