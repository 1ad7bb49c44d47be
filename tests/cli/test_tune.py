"""gapless tune: chooses, saves, and what it saves knows among how many it was chosen, of which rows, and by which command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gapless import load
from gapless.cli import app

runner = CliRunner()


def run(*arguments, input=None):
    return runner.invoke(app, [str(a) for a in arguments], input=input)


def run_json(*arguments, input=None):
    result = run(*arguments, "--json", input=input)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.fixture
def people(tmp_path):
    """Numbers on a large scale, texts, and cells missing of both."""
    random = np.random.default_rng(4)
    n = 160
    pay, job = random.normal(4e4, 1e4, n).round(), random.choice(["clerk", "nurse", "smith"], n)
    score = (pay - 4e4) / 1e4 + 2 * (job == "nurse") + 0.3 * random.normal(size=n)
    rows = [
        f"{'' if random.random() < 0.1 else int(p)},{'?' if random.random() < 0.1 else j},,{'in' if s > 0 else 'out'}"
        for p, j, s in zip(pay, job, score)
    ]
    path = tmp_path / "people.csv"
    path.write_text("pay,job,empty,outcome\n" + "\n".join(rows) + "\n")
    return path


def test_tables_with_texts_and_missing_cells(people, tmp_path):
    out = tmp_path / "m.gapless"
    arguments = ("tune", people, "--target", "outcome", "--grid", "C=1,10", "--grid", "gamma=0.1", "--folds", 3)
    told = run_json(*arguments, "--holdout", 0.25, "--seed", 3, "-o", out)
    assert (told["rows"], told["features"]) == (
        120,
        6,
    )  # pay, whether it is missing, three jobs, whether that is missing
    assert told["left_out"] == ["'empty': no row has a value"]
    assert told["score"] > 0.8  # pay in its own units would leave every row alone
    low, high = told["test"]["interval"]
    assert low <= told["test"]["error"] <= high
    model = load(out)
    assert model.encoding_.columns[0]["scale"] > 1000
    assert model.certificate_.statement["origin"] == {
        "command": f"gapless tune {people} --grid C=1,10 --grid gamma=0.1 --folds 3 --target outcome --holdout 0.25 --seed 3",
        "dtype": "float64",
        "split": {"rows": 160, "share": 0.25, "seed": 3},
    }
    verified = run("verify", out, people)
    assert verified.exit_code == 0, verified.output
    assert "held out of training (seed 3), as the model says" in verified.stderr
    from gapless.judge.__main__ import main

    assert main([str(out), str(people)]) == 0  # raw cells, and which rows, by the judge's own reader
    bounds = json.loads(run("bounds", out, people, "--json").stdout)["bounds"]
    assert [row["method"] for row in bounds["rows"]] == ["held-out"]
    result = run("predict", out, "-", input=b"job,pay\nnurse,60000\nsmith,20000\n")
    assert result.stdout.split() == ["prediction", "in", "out"]


def test_the_command_in_the_file_makes_the_same_model(people, tmp_path):
    import shlex

    out, again = tmp_path / "m.gapless", tmp_path / "again.gapless"
    given = ("tune", people, "--model", "logistic", "--grid", "C=0.1:10:3", "--folds", 2, "--no-scale")
    run_json(*given, "--target", "outcome", "--category", "job", "-o", out)
    command = load(out).certificate_.statement["origin"]["command"]
    words = shlex.split(command)
    assert words[:2] == ["gapless", "tune"]
    assert "--no-scale" in words
    assert run(*words[1:], "--out", again).exit_code == 0
    np.testing.assert_array_equal(load(out).coef_, load(again).coef_)
    assert load(again).certificate_.statement["origin"]["command"] == command


def test_pipes(people, tmp_path):
    out, text = tmp_path / "m.gapless", people.read_bytes()
    told = run_json("tune", "-", "--target", "outcome", "--model", "svm", "--folds", 2, "-o", out, input=text)
    assert told["rows"] == 160
    assert run("verify", out, "-", input=text).exit_code == 0


def test_what_the_score_is_and_columns_of_other_sizes_are_said(csv, tmp_path):
    given = ("--model", "svm", "--grid", "C=1,10", "--folds", 2, "--quiet")
    text = " ".join(run("tune", csv, *given).stdout.split())
    assert "on 2 folds (share of right answers)" in text
    assert "--scale" not in text
    assert "on 2 folds (balanced_accuracy)" in " ".join(
        run("tune", csv, *given, "--scoring", "balanced_error").stdout.split()
    )
    wide = tmp_path / "wide.csv"
    head, *rows = csv.read_text().splitlines()
    wide.write_text("\n".join([head, *(f"{row.partition(',')[0]}e4,{row.partition(',')[2]}" for row in rows)]) + "\n")
    text = " ".join(run("tune", wide, *given).stdout.split())
    assert "the columns differ 1e+04 times in size, and the large ones decide: --scale standardises them" in text
    assert "times in size" not in run("tune", wide, *given, "--scale").stdout


def test_chosen_fitted_saved_and_resumed(csv, tmp_path):
    out, file = tmp_path / "m.gapless", tmp_path / "search.json"
    arguments = ("tune", csv, "--grid", "C=0.1:10:3", "--grid", "gamma=0.1,1", "--folds", 3, "--file", file, "--quiet")
    result = run(*arguments, "--out", out)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "6 of 3 x 2 = 6 candidates" in text
    assert f"gapless verify {out}" in text
    assert load(out).certificate_.statement["tuning"]["candidates"] == 6
    again = run(*arguments, "--json")
    told = json.loads(again.stdout)
    assert told["fits"] == 0
    assert told["visited"] == told["candidates"] == 6
    assert told["certificate"]["status"] == "converged"


def test_other_models_and_scaling(csv):
    for arguments in (
        ("--model", "svm", "--method", "bisection"),
        ("--model", "logistic", "--grid", "C=1,10", "--scale", "--out", csv.with_name("scaled.gapless")),
    ):
        result = run("tune", csv, *arguments, "--folds", 2, "--quiet")
        assert result.exit_code == 0, result.output
        assert result.stderr == ""  # no terminal, no progress
    assert run("verify", csv.with_name("scaled.gapless"), csv).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--grid", "C"), "name=v1,v2"),
        (("--grid", "C=1:0:3"), "0 < low < high"),
        (("--grid", "D=1,2"), "Invalid parameter"),
        (("--target", "labl"), "no column 'labl'; did you mean 'label'?"),
        (("--target", "a"), "holds numbers with fractions: a regression; --model ridge"),
        (("--model", "ridge"), "the target 'label' does not hold numbers"),
        (("--out", "no/m.gapless"), "the folder no does not exist"),
        (("--holdout", "0.2", "--test", "x.csv"), "exclude each other"),
        (("--time-limit", "1e-9"), "--time-limit 1e-09: no candidate was scored on all folds; give more time"),
    ],
)
def test_bad_input(csv, arguments, message):
    result = run("tune", csv, *arguments)
    assert result.exit_code == 2
    assert message in " ".join((result.stderr or result.output).split())


def test_sparse_rows_are_not_scaled(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{i % 2} 1:{i % 2 + 0.1 * i} 3:1\n" for i in range(20)))
    result = run("tune", path, "--scale", "--model", "svm")
    assert result.exit_code == 2
    assert "the rows are sparse" in result.stderr
    assert run_json("tune", path, "--model", "svm", "--folds", 2)["features"] == 3
