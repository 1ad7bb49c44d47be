"""A regression does not depend on the unit of its target, nor on where that unit begins."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import gapless
from gapless.cli import app
from gapless.cli.commands import compare

runner = CliRunner()
UNITS = {"as it is": (1.0, 0.0), "thousandths": (1000.0, 0.0), "millions": (1e-6, 0.0), "far from 0": (1.0, 1e6)}


def run_json(*arguments):
    result = runner.invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def table(path, times, plus):
    """Prices that bend, so that the RBF regression has something to find."""
    random = np.random.default_rng(5)
    X = random.normal(size=(140, 3))
    y = 30.0 * np.sin(2.0 * X[:, 0]) + 10.0 * X[:, 1] + 2.0 * random.normal(size=140)
    np.savetxt(
        path, np.column_stack([X, times * y + plus]), delimiter=",", header="a,b,c,price", comments="", fmt="%.17g"
    )
    return path


def test_every_family_chooses_and_predicts_alike(tmp_path):
    """All four families, each with the same setting and the same error in the target's unit."""
    told = {}
    for name, (times, plus) in UNITS.items():
        out = tmp_path / f"{name}.gapless"
        data = table(tmp_path / f"{name}.csv", times, plus)
        answer = run_json("train", data, "--target", "price", "-o", out, "--no-report")
        assert {each["model"] for each in answer["compared"]} == {"least squares", "ridge", "bagging", "RBF SVR"}
        assert runner.invoke(app, ["verify", str(out), str(data)]).exit_code == 0
        called = run_json("predict", out, data)["predictions"]
        told[name] = answer, (np.array(called) - plus) / times
    first, wanted = told.pop("as it is")
    assert first["estimator"] == "SVR"
    for name, (answer, called) in told.items():
        times = UNITS[name][0]
        assert [each["setting"] for each in answer["compared"]] == [each["setting"] for each in first["compared"]]
        assert answer["estimator"] == first["estimator"]
        for ours, theirs in zip(answer["compared"], first["compared"]):
            assert ours["validation"] / times == pytest.approx(theirs["validation"], rel=1e-6)
            assert ours["test"]["root_mean_square"] / times == pytest.approx(
                theirs["test"]["root_mean_square"], rel=1e-6
            )
            assert ours["test"]["r2"] == pytest.approx(theirs["test"]["r2"], rel=1e-6)
        assert answer["baseline"]["validation"] / times == pytest.approx(first["baseline"]["validation"], rel=1e-6)
        assert answer["chance"]["p_value"] == pytest.approx(first["chance"]["p_value"], rel=1e-4)
        np.testing.assert_allclose(called, wanted, rtol=0, atol=1e-4)


def test_the_spread():
    random = np.random.default_rng(0)
    y, weights = random.normal(size=30), random.integers(1, 4, 30)
    assert compare.spread_of(y, None) == pytest.approx(np.std(y))
    assert compare.spread_of(y, weights) == pytest.approx(np.std(np.repeat(y, weights)))
    assert compare.spread_of(1e200 * y, None) == pytest.approx(1e200 * np.std(y))
    assert compare.spread_of(np.ones(3), None) == 1.0


@pytest.mark.parametrize(("times", "plus"), list(UNITS.values()))
def test_tune(times, plus):
    random = np.random.default_rng(1)
    X = random.normal(size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * random.normal(size=40)
    here = gapless.tune(gapless.SVR(), X, y, cv=3, method="random", n_iter=6)
    there = gapless.tune(gapless.SVR(), X, times * y + plus, cv=3, method="random", n_iter=6)
    assert there.C / times == pytest.approx(here.C)
    assert there.epsilon / times == pytest.approx(here.epsilon)
    assert there.gamma == here.gamma
    assert here.epsilon == pytest.approx(0.1 * np.std(y))
    assert there.tuning_.best_score == pytest.approx(here.tuning_.best_score, abs=1e-4)
    kept = gapless.tune(gapless.SVR(epsilon=0.05), X, y, cv=3, method="random", n_iter=2)
    assert kept.epsilon == 0.05
