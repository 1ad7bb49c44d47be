"""The table of bounds in certificate and model file: the judge makes every bound anew, and accepts no forgery."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless
from gapless import (
    SVC,
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    LinearSVC,
    LogisticRegression,
    bounds,
    judge,
)
from gapless.judge.__main__ import main
from gapless.theory.generalisation.compression import one_sided
from gapless.theory.samples.hoeffding import clopper_pearson


def rows(random, n):
    y = np.where(random.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    X = random.normal(size=(n, 3))
    X[:, 0] += 1.5 * y
    return X, y


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    return *rows(random, 300), *rows(random, 200)


POOL = [(j, 0.5) for j in range(3)]
MODELS = {
    "hinge": LinearSVC(loss="hinge", C=0.1, tol=1e-10),
    "hinge, not at the optimum": LinearSVC(loss="hinge", C=0.1, tol=1e-2, solver="coordinate_descent"),
    "hinge, no offset": LinearSVC(loss="hinge", C=0.1, fit_intercept=False),
    "hinge, penalised offset": LinearSVC(loss="hinge", C=0.01, penalize_intercept=True, intercept_scaling=2.0),
    "squared hinge, sparse": LinearSVC(C=0.1),
    "rbf": SVC(gamma=0.3, tol=1e-10),
    "rbf, not at the optimum": SVC(gamma=0.3, tol=1e-2),
    "linear SVC": SVC(kernel="linear", C=0.1, tol=1e-10),
    "logistic": LogisticRegression(fit_intercept=False),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5, random_state=0),
    "boosting": AdaBoostClassifier(n_estimators=5),
    "tree": DecisionTreeClassifier(max_depth=3),
}


@pytest.fixture(scope="module")
def cases(data, tmp_path_factory):
    """Document, arrays and rows of each model, as a file gives them back."""
    X, y, X_test, y_test = data
    made = {}
    for name, model in MODELS.items():
        A, B = (X > 0, X_test > 0) if name == "boosting" else (X, X_test)
        A, B = (sparse.csr_matrix(A), sparse.csr_matrix(B)) if "sparse" in name else (A.astype(float), B.astype(float))
        with gapless.config_context(convergence="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # binary test rows coincide with training rows
            model.fit(A, y)
            table = bounds(model, A, y, 0.05, B, y_test, pool=POOL if name == "boosting" else None)
        path = tmp_path_factory.mktemp("models") / "model.gapless"
        gapless.save(model, path)
        document, arrays = judge.read(path)
        made[name] = (table, model, path, document, arrays, A, y, B, y_test)
    return made


@pytest.mark.parametrize("name", MODELS)
def test_the_judge_finds_the_same(cases, name):
    table, model, path, document, arrays, X, y, X_test, y_test = cases[name]
    assert document["bounds"] == json.loads(json.dumps(table.document())) == model.certificate_.generalisation
    verdict = judge.check(document, arrays, X, y, X_test=X_test, y_test=y_test)
    assert verdict, str(verdict)
    for row in table.rows:
        if row.delta is not None:
            (claim,) = [c for c in verdict.claims if c.name == f"bounds: {row.method}"]
            assert claim.recomputed <= row.value <= min(1.0, claim.recomputed * (1 + 1e-6))
    assert not any("errors" in text for text in verdict.unchecked)
    assert gapless.verify(model, X, y)  # without the test rows, and without the members of an ensemble
    loaded = gapless.load(path)
    assert loaded.certificate_.generalisation == document["bounds"]
    assert "On new rows" in str(loaded.certificate_) or name in ("logistic", "tree")
    assert "bounds" not in clone(model).fit(X, y).certificate_.statement  # of another fit


def changed(document, change):
    altered = copy.deepcopy(document)
    change(altered["bounds"], {row["method"]: row for row in altered["bounds"]["rows"]})
    altered["bounds"]["rows"].sort(key=lambda row: row["value"])
    return altered


def accepted(document, arrays, X, y, X_test, y_test):
    try:
        return bool(judge.check(document, arrays, X, y, X_test=X_test, y_test=y_test))
    except judge.CertificateError:
        return False


def _forgeries():
    def scale(method, key, factor):
        return lambda block, row: row[method].update({key: row[method][key] * factor})

    def shift(method, key, by):
        return lambda block, row: row[method]["figures"].update({key: row[method]["figures"][key] + by})

    def consistent(method, key, by, value):
        def change(block, row):
            figures = row[method]["figures"]
            figures[key] += by
            row[method]["value"] = value(figures, row[method]["delta"]) * (1 + 1e-7)

        return change

    def fewer(block, row):  # one share for all, as if each bound stood alone
        for each in row.values():
            each["delta"] = block["delta"] if each["delta"] is not None else None

    by_method = {
        "held-out": ["hinge", "rbf", "logistic", "bagging", "boosting", "tree"],
        "compression": ["hinge", "squared hinge, sparse", "rbf", "rbf, not at the optimum", "linear SVC"],
        "PAC-Bayes": ["hinge", "logistic", "linear SVC"],
        "VC": ["hinge", "logistic"],
        "votes": ["bagging", "boosting"],
    }
    for method, names in by_method.items():
        for name in names:
            for factor in (0.5, 0.999999, 1.00001):
                yield f"{method} value x {factor}", name, scale(method, "value", factor)
            yield f"{method} delta doubled", name, scale(method, "delta", 2.0)
            yield f"{method} delta halved", name, scale(method, "delta", 0.5)
            yield f"{method} in expectation", name, lambda block, row, m=method: row[m].update(delta=None)
        yield f"{method} of other rows", names[0], shift(method, "n", 1)
    exact = lambda figures, delta: clopper_pearson(figures["errors"], figures["n"], delta, 1).high  # noqa: E731
    sum_of = lambda figures, delta: one_sided(figures["k"], figures["n"], delta).high  # noqa: E731
    for name in by_method["held-out"]:
        yield "held-out errors", name, shift("held-out", "errors", -1)
        yield "held-out errors, value too", name, consistent("held-out", "errors", -2, exact)
        yield "held-out rows, value too", name, consistent("held-out", "n", 100, exact)
    for name in by_method["compression"]:
        yield "rows kept", name, shift("compression", "k", -1)
        if name != "squared hinge, sparse":
            yield "rows kept, value too", name, consistent("compression", "k", -1, sum_of)
        yield "rows there are, value too", name, consistent("compression", "n", 300, sum_of)
        yield "tried", name, lambda block, row: block.update(tried=7)
    for key, by in (("gibbs", -0.01), ("tandem", -0.01), ("pairs", 5), ("divergence", 0.5), ("voters", 1)):
        for name in by_method["votes"]:
            yield f"votes {key}", name, shift("votes", key, by)
    yield "votes tried", "bagging", lambda block, row: block.update(tried=3)
    yield "votes randomised", "bagging", scale("votes", "randomised", 0.9)
    yield "PAC-Bayes randomised", "hinge", scale("PAC-Bayes", "randomised", 0.9)
    yield "PAC-Bayes mu", "hinge", shift("PAC-Bayes", "mu", 0.5)
    yield "VC errors", "hinge", shift("VC", "errors", -1)
    yield "VC dimension", "hinge", shift("VC", "dimension", -1)
    yield "a stump outside the pool", "boosting", lambda block, row: row["votes"]["figures"].update(pool=[[0, 0.25]])
    yield "a smaller pool", "boosting", lambda block, row: row["votes"]["figures"].update(pool=POOL[:1])
    yield "shared", "hinge", lambda block, row: block.update(shared=0.5)
    yield "shared, not said", "hinge", lambda block, row: block.update(shared=None)
    yield "tested", "hinge", lambda block, row: block.update(tested=5)
    yield "delta", "hinge", lambda block, row: block.update(delta=0.01)
    yield "delta not a probability", "hinge", lambda block, row: block.update(delta=1.5)
    yield "each at all of delta", "hinge", fewer
    yield "twice", "hinge", lambda block, row: block["rows"].append(dict(row["VC"]))
    for name in ("hinge", "hinge, no offset", "hinge, penalised offset", "rbf", "linear SVC"):
        yield "leave-one-out", name, scale("leave-one-out", "value", 0.9)
        yield "leave-one-out of other rows", name, shift("leave-one-out", "n", 1)
        for by in (-1, 1):
            count = consistent("leave-one-out", "count", by, lambda figures, delta: figures["count"] / figures["n"])
            yield "leave-one-out count, value too", name, count
    yield "leave-one-out as certain", "hinge", lambda block, row: row["leave-one-out"].update(delta=1e-9)
    yield "another method", "hinge", lambda block, row: row["VC"].update(method="luck")
    yield "an entry too many", "hinge", lambda block, row: block.update(luck=1)


FORGERIES = list(_forgeries())


def test_no_forgery_is_accepted(cases):
    assert len(FORGERIES) >= 150
    for what, name, change in FORGERIES:
        _, _, _, document, arrays, *rest = cases[name]
        altered = changed(document, change)
        assert altered != document, what
        assert not accepted(altered, arrays, *rest), f"{name}: {what}"


def test_members_that_saw_the_rows_they_are_counted_on(data, tmp_path):
    """Trees of all rows in the place of those of the bags: no error is left out of the bags, and the judge sees why."""
    X, y, *_ = data
    for kind in (DecisionTreeClassifier(), LinearSVC(loss="hinge", C=1e3)):
        model = BaggingClassifier(kind, n_estimators=3, random_state=0).fit(X, y)
        bounds(model, X, y, methods="votes")
        gapless.save(model, tmp_path / "honest.gapless")
        verdict = judge.check(*judge.read(tmp_path / "honest.gapless"), X, y)
        assert verdict, str(verdict)
        assert "bounds: votes, members" in [claim.name for claim in verdict.claims]
        index = np.searchsorted(model.classes_, y)
        model.estimators_ = [clone(kind).fit(X, index) for _ in range(3)]
        bounds(model, X, y, methods="votes")
        gapless.save(model, tmp_path / "forged.gapless")
        verdict = judge.check(*judge.read(tmp_path / "forged.gapless"), X, y)
        assert [claim.name for claim in verdict.failed] == ["bounds: votes, members"]


def test_training_rows_as_test_rows(cases):
    """A held-out bound whose figures are all right, but for the rows that it was counted on."""
    _, model, _, document, arrays, X, y, *_ = cases["hinge"]
    for part in (slice(None), slice(20, 90), slice(None, None, -1), slice(None, None, 3)):
        rows, labels = np.ascontiguousarray(X[part]), y[part]
        wrong, n = int((model.predict(rows) != labels).sum()), len(labels)
        mark = judge.fingerprint(rows, np.searchsorted(model.classes_, labels))

        def forge(block, row, wrong=wrong, n=n, mark=mark):
            held = row["held-out"]
            held["figures"].update(errors=wrong, n=n, rows=mark["rows"], labels=mark["labels"])
            held["value"] = clopper_pearson(wrong, n, held["delta"], 1).high * (1 + 1e-7)
            block["shared"] = 1.0

        verdict = judge.check(changed(document, forge), arrays, X, y, X_test=rows, y_test=labels)
        assert [claim.name for claim in verdict.failed] == ["bounds: held-out, rows"]
    whole = changed(
        document,
        lambda block, row: row["held-out"]["figures"].update(rows=document["certificate"]["fingerprint"]["rows"]),
    )
    assert "bounds: held-out, rows" in [claim.name for claim in judge.check(whole, arrays, X, y).failed]


def test_what_cannot_be_seen_is_said_whatever_the_file_says(cases):
    _, _, _, document, arrays, X, y, *_ = cases["hinge"]
    silent = changed(
        document, lambda block, row: [each.update(assumes=[], what="nothing is ever wrong") for each in row.values()]
    )
    unchecked = judge.check(silent, arrays, X, y).unchecked
    assert unchecked == judge.check(document, arrays, X, y).unchecked
    for word in ("independent draws", "fixed without the training rows", "the words beside the values"):
        assert any(word in text for text in unchecked)


def test_a_condition_that_is_claimed_and_broken(data):
    """The bound of an honest fit, put into the document of one whose kernel width or weights the rows chose."""
    X, y, *_ = data
    gamma = 1.0 / (3 * X.var())
    honest = SVC(gamma=gamma, tol=1e-10).fit(X, y)
    bounds(honest, X, y, methods="compression")
    scaled = SVC(gamma="scale", tol=1e-10).fit(X, y)
    share = np.count_nonzero(y == 1) / 150
    weighted = SVC(gamma=gamma, tol=1e-10, class_weight={1: 1 / share, -1: 1 / (2 - share)}).fit(X, y)
    bounds(weighted, X, y, methods="compression")
    balanced = SVC(gamma=gamma, tol=1e-10, class_weight="balanced").fit(X, y)
    for fair, broken in ((honest, scaled), (weighted, balanced)):
        assert "compression" in bounds(broken, X, y).refused
        document = {**broken.certificate_.document(), "bounds": fair.certificate_.generalisation}
        verdict = judge.check(document, broken.certificate_.arrays, X, y)
        assert [c.name for c in verdict.failed] == ["bounds: compression, conditions"]
        document["bounds"] = fair.certificate_.generalisation
        fine = {**fair.certificate_.document()}
        assert judge.check(fine, fair.certificate_.arrays, X, y)
    # Boosting chose its stumps by every row: a bagging's claim does not stand for it, nor does one without a pool.
    boosted = AdaBoostClassifier(n_estimators=4).fit((X > 0).astype(float), y)
    table = bounds(boosted, (X > 0).astype(float), y, pool=POOL, methods="votes")
    block = copy.deepcopy(table.document())
    block["rows"][0]["figures"]["pool"] = None
    document = {**boosted.certificate_.document(), "bounds": block}
    assert not judge.check(document, boosted.certificate_.arrays, (X > 0).astype(float), y)
    # Sample weights
    heavy = SVC(gamma=gamma, tol=1e-10).fit(X, y, sample_weight=np.full(300, 2.0))
    document = {**heavy.certificate_.document(), "bounds": honest.certificate_.generalisation}
    assert not judge.check(document, heavy.certificate_.arrays, X, y, np.full(300, 2.0))
    # A class of weight 0 has no support vectors, and errors that nothing bounds.
    light = SVC(gamma=gamma, tol=1e-10, class_weight={1: 1e-9, -1: 1.0}).fit(X, y)
    assert "compression" not in bounds(light, X, y).refused


def test_a_model_without_an_error_has_no_bounds(data):
    X, y, *_ = data
    model = gapless.Ridge().fit(X, y)
    document = {**model.certificate_.document(), "bounds": {"delta": 0.05, "tried": 1, "tested": 1, "shared": None}}
    document["bounds"] |= {"rows": [], "refused": {}}
    with pytest.raises(judge.CertificateError, match="no classes"):
        judge.check(document, model.certificate_.arrays, X, y)


def test_a_pipeline_and_reduce(data):
    X, y, X_test, y_test = data
    piped = make_pipeline(StandardScaler(), LinearSVC(loss="hinge")).fit(X, y)
    table = bounds(piped, X, y, X_test=X_test, y_test=y_test)
    assert [row.method for row in table.rows] == ["held-out"]
    assert gapless.verify(piped, X, y)
    model = LinearSVC(loss="hinge", tol=1e-10).fit(X, y)
    bounds(model, X, y)
    assert gapless.reduce(model, X, y).certificate.generalisation is None  # it speaks of fewer rows


def test_the_judge_by_itself(cases, tmp_path, capsys):
    """python -m gapless.judge, with and without the test rows."""
    _, _, path, _, _, X, y, X_test, y_test = cases["hinge"]
    np.savez(tmp_path / "data.npz", X=X, y=y)
    np.savez(tmp_path / "test.npz", X=X_test, y=y_test)
    assert main([str(path), str(tmp_path / "data.npz")]) == 0
    assert "give the judge these rows too" in capsys.readouterr().out
    assert main([str(path), str(tmp_path / "data.npz"), "--test", str(tmp_path / "test.npz")]) == 0
    out = capsys.readouterr().out
    assert "held-out, errors" in out
    assert "bounds: compression" in out
    np.savez(tmp_path / "other.npz", X=X_test[:-1], y=y_test[:-1])
    assert main([str(path), str(tmp_path / "data.npz"), "--test", str(tmp_path / "other.npz")]) == 1
