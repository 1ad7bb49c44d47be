"""gapless bounds: the table of a model file, into it, and checked by verify."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from gapless import SVC, bounds, judge, load, read_data, save
from gapless.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def model(csv, tmp_path):
    path = tmp_path / "model.gapless"
    done = run(
        "train", csv, "--target", "label", "--loss", "hinge", "--tol", "1e-10", "--holdout", "0.3", "--out", path
    )
    assert done.exit_code == 0, done.output
    return path


def test_the_table_as_text_and_as_json(csv, model):
    done = run("bounds", model, csv, "--holdout", "0.3")
    assert done.exit_code == 0, done.output
    assert "together, but for a failure of probability 0.05" in done.stdout
    for word in ("held-out", "compression", "PAC-Bayes", "VC", "leave-one-out", "refused", "assuming"):
        assert word in done.stdout
    told = json.loads(run("bounds", model, csv, "--holdout", "0.3", "--delta", "0.2", "--tried", "4", "--json").stdout)
    assert told["command"] == "bounds"
    assert told["bounds"]["delta"] == 0.2
    assert told["bounds"]["tried"] == 4
    by_method = {row["method"]: row for row in told["bounds"]["rows"]}
    assert by_method["held-out"]["delta"] == pytest.approx(0.05)
    assert by_method["held-out"]["figures"]["n"] == 36
    assert by_method["leave-one-out"]["delta"] is None


def test_it_goes_into_the_file_and_verify_checks_it(csv, model):
    assert run("bounds", model, csv, "--holdout", "0.3", "--save").exit_code == 0
    assert load(model).certificate_.generalisation["delta"] == 0.05
    done = run("verify", model, csv, "--holdout", "0.3")
    assert done.exit_code == 0, done.output
    assert "bounds: compression" in done.stdout
    assert "bounds: held-out, errors" in done.stdout


def test_a_file_of_test_rows(tmp_path):
    random = np.random.default_rng(0)
    y, z = np.where(random.random(80) < 0.5, 1, 0), np.where(random.random(50) < 0.5, 1, 0)
    X, Z = random.normal(size=(80, 2)) + 2.0 * y[:, None], random.normal(size=(50, 2)) + 2.0 * z[:, None]
    np.savez(tmp_path / "train.npz", X=X, y=y)
    np.savez(tmp_path / "test.npz", X=Z, y=z)
    save(SVC(gamma=0.5, tol=1e-10).fit(X, y), tmp_path / "svc.gapless")
    arguments = (tmp_path / "svc.gapless", tmp_path / "train.npz", "--test", tmp_path / "test.npz")
    done = run("bounds", *arguments, "--save")
    assert done.exit_code == 0, done.output
    assert "of 50 test rows" in done.stdout
    assert run("verify", *arguments).exit_code == 0
    # The training rows are no test rows.
    done = run("bounds", *arguments[:3], tmp_path / "train.npz")
    assert done.exit_code == 2
    assert "say nothing of new rows" in done.output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--delta", "0"), "strictly between 0 and 1"),
        (("--delta", "1.5"), "strictly between 0 and 1"),
        (("--tried", "0"), "'--tried'"),
        (("--holdout", "0.2"), "other data"),
        (("--holdout", "0.3", "--test", "x.csv"), "exclude each other"),
        (("--holdout", "0.3", "--target", "nobody"), "nobody"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(csv, model, options, says):
    done = run(
        "bounds", model, csv, *(("--holdout", "0.3") if "--delta" in options or "--tried" in options else ()), *options
    )
    assert done.exit_code == 2
    assert says in done.output


def test_columns_that_the_training_rows_scaled(tmp_path):
    """`train` centres and scales the columns of a table by its training rows: only test rows are left to count on."""
    random = np.random.default_rng(2)
    for name in ("train.csv", "test.csv"):
        y = random.integers(0, 2, 150)
        X = random.normal(size=(150, 2)) + 2.0 * y[:, None]
        lines = [
            f"{a:.17g},{b:.17g},{'red' if c > 0.5 else 'blue'},{t}" for (a, b), c, t in zip(X, random.random(150), y)
        ]
        (tmp_path / name).write_text("a,b,colour,label\n" + "\n".join(lines) + "\n")
    path = tmp_path / "model.gapless"
    arguments = ("--target", "label", "--model", "svm", "--loss", "hinge", "--tol", "1e-10", "--out", path)
    assert run("train", tmp_path / "train.csv", *arguments).exit_code == 0
    done = run("bounds", path, tmp_path / "train.csv", "--test", tmp_path / "test.csv", "--save", "--json")
    told = json.loads(done.stdout)["bounds"]
    assert [row["method"] for row in told["rows"]] == ["held-out"]
    for method in ("compression", "PAC-Bayes", "VC", "leave-one-out"):
        assert "fitted on the training rows" in told["refused"][method]
    assert run("verify", path, tmp_path / "train.csv", "--test", tmp_path / "test.csv").exit_code == 0
    # Written in by hand, as of columns that nobody touched: the judge sees the entry `input`.
    document, arrays = judge.read(path)
    model = load(path)
    rows = model.encoding_.applied(read_data(tmp_path / "train.csv", target="label", typed=True))
    del model.encoding_
    document["bounds"] = bounds(model, rows.X, rows.y, methods=("compression", "PAC-Bayes", "VC")).document()
    failed = [claim.name for claim in judge.check(document, arrays, rows.X, rows.y).failed]
    assert sorted(failed) == ["bounds: PAC-Bayes, columns", "bounds: VC, columns", "bounds: compression, columns"]


def test_the_settings_that_train_compared_count(tmp_path):
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 200)
    X = sparse.csr_matrix(random.normal(size=(200, 3)) + 2.0 * y[:, None])
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"))
    path = tmp_path / "model.gapless"
    done = run("train", tmp_path / "rows.svm", "--out", path, "--time-limit", "5")
    assert done.exit_code == 0, done.output
    page = path.with_suffix(".html").read_text()
    assert "No bound can be given" not in page
    assert "The error on new rows is at most" in page
    document, _ = judge.read(path)
    assert document["tuning"]["candidates"] == 10
    told = json.loads(run("bounds", path, tmp_path / "rows.svm", "--json").stdout)["bounds"]
    assert told["tried"] == 10
    done = run("bounds", path, tmp_path / "rows.svm", "--tried", "3")
    assert done.exit_code == 2
    assert "may have chosen among 10 candidates" in done.output
