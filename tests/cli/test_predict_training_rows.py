"""`gapless predict` on rows that the model was trained on: the interval is of the other rows, and says so."""

import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import gapless
from gapless.cli import app
from gapless.cli.commands import compare
from gapless.cli.holdout import draw_split

runner = CliRunner()
N = 160


def run(*arguments):
    return runner.invoke(app, [str(a) for a in arguments])


def told(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.stderr.split())


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    every = compare.classifiers
    monkeypatch.setattr(compare, "classifiers", lambda: every()[:1])


@pytest.fixture
def lines():
    random = np.random.default_rng(11)
    X = random.normal(size=(N, 3))
    y = np.where(X @ [1.0, -1.0, 0.3] + 0.8 * random.normal(size=N) > 0, "yes", "no")
    rows = [",".join([*(repr(float(v)) for v in row), label]) for row, label in zip(X, y)]
    return ["a,b,c,label", *rows]


@pytest.fixture
def data(lines, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def sentence(wrong, rows):
    interval = stats.binomtest(int(wrong), int(rows)).proportion_ci(0.95, "exact")
    ends = f"{100 * interval.low:.2f} % to {100 * interval.high:.2f} % (exact, Clopper-Pearson)"
    return f"error {100 * wrong / rows:.2f} % ({wrong} of {rows}), 95 % interval {ends}"


def wrong_rows(model, path):
    """Which rows of a file the model gets wrong, from the CSV of its predictions."""
    out = path.with_name("called.csv")
    assert run("predict", model, path, "--out", out).exit_code == 0
    truth = [row.rpartition(",")[2] for row in path.read_text().splitlines()[1:]]
    return np.array([a != b for a, b in zip(truth, out.read_text().splitlines()[1:])])


@pytest.mark.parametrize(
    "options", [(), ("--model", "bagging", "--holdout", "0.25"), ("--model", "adaboost", "--holdout", "0.25")]
)
def test_the_whole_file(data, tmp_path, options):
    model = tmp_path / "m.gapless"
    assert run("train", data, "--target", "label", *options, "-o", model, "--no-report").exit_code == 0
    assert run("verify", model, data).exit_code == 0
    train, held = draw_split(N, 0.25, 0)
    wrong = wrong_rows(model, data)
    text = told("predict", model, data)
    k = int(wrong[train].sum())
    seen = f"{len(train)} of the {N} rows were trained on: error {100 * k / len(train):.2f} % ({k} of {len(train)})"
    assert (
        f"{seen}, which says nothing of new rows; the {len(held)} others: {sentence(wrong[held].sum(), len(held))}"
        in text
    )
    assert text.count("interval") == 1


def test_a_part_of_the_file_in_another_order(data, lines, tmp_path):
    model, part = tmp_path / "m.gapless", tmp_path / "part.csv"
    assert run("train", data, "--target", "label", "-o", model, "--no-report").exit_code == 0
    train, held = draw_split(N, 0.25, 0)
    chosen = np.random.default_rng(0).permutation(np.concatenate([train[:30], held[:25]]))
    part.write_text("\n".join([lines[0], *(lines[1 + i] for i in chosen)]) + "\n")
    seen = np.isin(chosen, train)
    wrong = wrong_rows(model, part)
    text = told("predict", model, part)
    assert "30 of the 55 rows equal rows that were trained on" in text
    assert f"the 25 others: {sentence(wrong[~seen].sum(), 25)}" in text
    answer = json.loads(run("predict", model, part, "--json").stdout)
    assert answer["training_rows"] == 30
    assert answer["training"] == {"wrong": int(wrong[seen].sum()), "rows": 30, "error": wrong[seen].mean()}
    assert answer["test"]["wrong"] == int(wrong[~seen].sum())


def test_training_rows_alone(data, lines, tmp_path):
    model, part = tmp_path / "m.gapless", tmp_path / "part.csv"
    assert run("train", data, "--target", "label", "--model", "svm", "-o", model).exit_code == 0
    text = told("predict", model, data)
    assert f"all {N} rows were trained on: error" in text
    assert "says nothing of new rows and has no interval" in text
    assert "95 %" not in text
    part.write_text("\n".join(lines[:8]) + "\n")
    text = told("predict", model, part)
    assert "all 7 rows equal rows that were trained on" in text
    assert "95 %" not in text


def test_new_rows_alone(data, lines, tmp_path):
    model, new = tmp_path / "m.gapless", tmp_path / "new.csv"
    assert run("train", data, "--target", "label", "--model", "svm", "-o", model).exit_code == 0
    new.write_text("a,b,c,label\n1,2,3,yes\n-1,2,0,no\n")
    wrong = wrong_rows(model, new)
    assert f"{sentence(wrong.sum(), 2)}; none of these rows was trained on" in told("predict", model, new)


def test_regressions(tmp_path):
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 2))
    y = X @ [3.0, 1.0] + 0.3 * random.normal(size=80)
    data, model = tmp_path / "d.csv", tmp_path / "m.gapless"
    np.savetxt(data, np.column_stack([X, y]), delimiter=",", header="a,b,price", comments="", fmt="%.17g")
    assert run("train", data, "--model", "linear", "--holdout", "0.25", "-o", model).exit_code == 0
    train, held = draw_split(80, 0.25, 0)
    A = np.column_stack([X, np.ones(80)])
    called = A @ np.linalg.lstsq(A[train], y[train], rcond=None)[0]
    text = told("predict", model, data)
    for part in (train, held):
        off = y[part] - called[part]
        assert f"error {np.sqrt(np.mean(off**2)):.6g} (root mean square, {len(part)} rows)" in text
        assert f"mean absolute {np.mean(np.abs(off)):.6g}" in text
    assert "the 20 others" in text


@pytest.mark.parametrize(
    "make",
    [
        lambda: gapless.DecisionTreeClassifier(max_depth=3),
        lambda: gapless.BaggingClassifier(n_estimators=3, random_state=0),
        lambda: gapless.LinearSVC(),
    ],
)
def test_a_model_saved_in_python(data, lines, tmp_path, make):
    """A tree's fingerprint is of float32 rows; the file is float64, and has no hashes of single rows."""
    X = np.array([[float(v) for v in row.split(",")[:3]] for row in lines[1:]])
    y = np.array([row.rpartition(",")[2] for row in lines[1:]])
    model, part = tmp_path / "m.gapless", tmp_path / "part.csv"
    gapless.save(make().fit(X, y), model)
    assert f"all {N} rows were trained on" in told("predict", model, data)
    part.write_text("\n".join(lines[:60]) + "\n")
    wrong = wrong_rows(model, part)
    text = told("predict", model, part)
    assert f"{sentence(wrong.sum(), 59)}; this says something of new rows if none of these was trained on" in text


def test_rows_that_are_alike_by_chance(tmp_path):
    """Two columns of few values: new rows equal training rows without being copies."""
    random = np.random.default_rng(8)
    X = random.integers(0, 4, size=(300, 2))
    y = np.where(X[:, 0] + random.normal(size=300) > 1.5, "yes", "no")
    rows = [f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), y)]
    data, new, model = tmp_path / "d.csv", tmp_path / "new.csv", tmp_path / "m.gapless"
    data.write_text("\n".join(["a,b,label", *rows[:200]]) + "\n")
    new.write_text("\n".join(["a,b,label", *rows[200:]]) + "\n")
    assert run("train", data, "--target", "label", "--model", "svm", "-o", model).exit_code == 0
    wrong = wrong_rows(model, new)
    text = told("predict", model, new)
    assert sentence(wrong.sum(), 100) in text
    assert "100 of the 100 rows equal training rows, no more than chance gives (100 % of the training rows" in text
    assert "this holds if they are new rows all the same" in text
    assert "all 200 rows were trained on: error" in told("predict", model, data)


def test_a_test_file_with_training_rows(data, lines, tmp_path):
    """`train --test`: copies are left out of every held-out figure."""
    test, model = tmp_path / "test.csv", tmp_path / "m.gapless"
    test.write_text("\n".join([lines[0], *lines[100:]]) + "\n")
    data.write_text("\n".join(lines[:121]) + "\n")
    result = run("train", data, "--target", "label", "--test", test, "-o", model, "--no-report", "--json")
    assert "20 others" not in result.stderr
    assert "21 of 61 rows equal training rows and are left out; the test error is of the 40 others" in result.stderr
    answer = json.loads(result.stdout)
    wrong = wrong_rows(model, test)[21:]
    assert answer["test"]["rows"] == 40
    assert answer["test"]["wrong"] == int(wrong.sum())
    assert answer["compared"][0]["test"]["rows"] == answer["baseline"]["test"]["rows"] == 40
