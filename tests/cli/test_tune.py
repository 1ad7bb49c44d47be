"""gapless tune: chooses, saves, and what it saves knows among how many it was chosen."""

import json

import pytest
from typer.testing import CliRunner

from gapless import load
from gapless.cli import app

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(a) for a in arguments])


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
        ("--model", "logistic", "--grid", "C=1,10", "--scale"),
    ):
        result = run("tune", csv, *arguments, "--folds", 2, "--quiet")
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--grid", "C"), "name=v1,v2"),
        (("--grid", "C=1:0:3"), "0 < low < high"),
        (("--grid", "D=1,2"), "Invalid parameter"),
        (("--scale", "--out", "m.gapless"), "pipeline"),
    ],
)
def test_bad_input(csv, arguments, message):
    result = run("tune", csv, *arguments)
    assert result.exit_code == 2
    assert message in " ".join((result.stderr or result.output).split())
