"""`gapless train data.csv --target y`: from raw columns to a chosen, checked and saved model; and every bad table."""

import html
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gapless.cli import app
from gapless.cli.commands import compare

runner = CliRunner()


def run(*arguments, input=None):
    return runner.invoke(app, [str(a) for a in arguments], input=input)


def run_json(*arguments, code=0, input=None):
    result = run(*arguments, "--json", input=input)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two kinds of models are as good a test as five, and compile less."""
    every = compare.classifiers
    monkeypatch.setattr(compare, "classifiers", lambda *spread: every(*spread)[:2])


@pytest.fixture
def raw(tmp_path):
    random = np.random.default_rng(2)
    n = 240
    age, job = random.normal(40, 12, n).round(1), random.choice(["clerk", "nurse", "smith"], n)
    paid = random.choice(["yes", "no"], n)
    score = (age - 40) / 12 + 2 * (job == "nurse") - 1.5 * (paid == "yes") + 0.3 * random.normal(size=n)
    lines = []
    for i in range(n):
        cells = ["" if random.random() < 0.05 else str(age[i]), "?" if random.random() < 0.05 else job[i], paid[i]]
        lines.append(",".join([f"name {i}", *cells, "", "in" if score[i] > 0 else "out"]))
    path = tmp_path / "people.csv"
    path.write_text("who,age,job,paid,empty,outcome\n" + "\n".join(lines) + "\n")
    return path


def test_one_command(raw, tmp_path):
    out = tmp_path / "m.gapless"
    result = run("train", raw, "--target", "outcome", "-o", out, "--no-report")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    for words in (
        "240 rows, 5 columns",
        "2 of numbers, 2 of texts, 1 of yes and no",
        "180 rows to train, 60 held out",
        "'who': 240 different texts in 240 rows",
        "'empty': no row has a value",
        "linear SVM C=",
        "logistic C=",
        "95 % interval",
        "all of the true errors are below theirs",
        "chosen",
    ):
        assert words in text
    result = run("verify", out, raw)  # 'who' and 'empty' are no columns of the model, and are passed over
    assert result.exit_code == 0, result.output
    assert "held out of training" in result.stderr


def test_json_and_predict_from_raw_columns(raw, tmp_path):
    out = tmp_path / "m.gapless"
    drops = ["--drop", "who", "--drop", "empty"]
    told = run_json("train", raw, "--target", "outcome", "-o", out, "--no-report", *drops)
    assert [each["model"] for each in told["compared"]] == ["linear SVM", "logistic"]
    for each in told["compared"]:
        low, high = each["test"]["interval"]
        assert low <= each["test"]["error"] <= high
        assert each["test"]["error"] <= each["bound"] <= 1
        assert each["relative_gap"] <= 1e-4
    best = min(told["compared"], key=lambda each: each["validation"])
    assert told["estimator"] == best["estimator"]
    assert told["test"] == best["test"]
    assert told["report"] is None
    predicted = run_json("predict", out, raw, *drops)
    assert predicted["rows"] == 240
    new = tmp_path / "new.csv"
    new.write_text("job,paid,age\npilot,yes,39\nnurse,no,\n")
    result = run("predict", out, new)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "prediction"
    assert set(result.stdout.splitlines()[1:]) <= {"in", "out"}
    assert "'job': 1 row with a text not seen in training ('pilot'), 0 in all its features" in result.stderr


def test_pipes(raw, tmp_path):
    out = tmp_path / "m.gapless"
    drops = ["--drop", "who", "--drop", "empty"]
    text = raw.read_bytes()
    result = run("train", "-", "--target", "outcome", "-o", out, "--no-report", *drops, input=text)
    assert result.exit_code == 0, result.output
    assert run("verify", out, "-", *drops, input=text).exit_code == 0
    assert run_json("predict", out, "-", *drops, input=text)["rows"] == 240
    result = run("predict", out, "-", input=b"job,paid,age\nnurse,no,x\n")
    assert result.exit_code == 2
    assert "standard input, line 2, column 'age': 'x' is not a number" in result.stderr


def test_a_test_file_with_texts(raw, tmp_path):
    lines = raw.read_text().splitlines()
    test = tmp_path / "test.csv"
    test.write_text("\n".join([lines[0], *lines[200:]]) + "\n")
    raw.write_text("\n".join(lines[:200]) + "\n")
    drops = ["--drop", "who", "--drop", "empty"]
    told = run_json("train", raw, "--target", "outcome", "--test", test, "-o", tmp_path / "m", "--no-report", *drops)
    assert told["test"]["rows"] == 41
    assert told["rows"] == 199
    assert run("verify", tmp_path / "m", raw, *drops).exit_code == 0


def test_one_model_on_raw_columns_and_float32(raw, tmp_path):
    out = tmp_path / "m.gapless"
    drops = ["--drop", "who", "--drop", "empty"]
    told = run_json("train", raw, "--target", "outcome", "-C", "0.5", "--float32", "-o", out, *drops)
    assert told["estimator"] == "LinearSVC"
    assert told["compared"] is None
    assert run("verify", out, raw, *drops).exit_code == 0
    from gapless.judge.__main__ import main

    assert main([str(out), str(raw)]) == 0


@pytest.mark.parametrize(("model", "kind"), [("adaboost", "bound"), ("bagging", "heuristic")])
def test_models_without_a_gap_say_so(raw, tmp_path, model, kind):
    told = run_json("train", raw, "--target", "outcome", "--model", model, "-o", tmp_path / "m")
    assert told["certificate"]["kind"] == kind
    assert told["certificate"]["relative_gap"] is None
    assert run("predict", tmp_path / "m", raw).exit_code == 0


def test_regressions_are_compared(tmp_path, monkeypatch):
    every = compare.regressions
    monkeypatch.setattr(compare, "regressions", lambda *spread: every(*spread)[:2])
    random = np.random.default_rng(0)
    path = tmp_path / "houses.csv"
    rows = [
        f"{a:.3f},{c},{10 * a + 3 * (c == 'x') + 0.1 * random.normal():.4f}"
        for a, c in zip(random.normal(size=90), "xy" * 45)
    ]
    path.write_text("size,kind,price\n" + "\n".join(rows) + "\n")
    told = run_json("train", path, "--target", "price", "-o", tmp_path / "m", "--no-report")
    assert told["classes"] is None
    assert told["test"]["r2"] > 0.99
    assert [each["model"] for each in told["compared"]] == ["least squares", "ridge"]
    assert run("verify", tmp_path / "m", path).exit_code == 0
    result = run("train", path, "--target", "price", "--model", "svm", "-o", tmp_path / "m")
    assert result.exit_code == 2
    assert "a regression; --model linear, ridge or auto" in result.stderr


def test_the_page_shows_what_was_compared_and_how_to_do_it_again(raw, tmp_path):
    pytest.importorskip("jinja2")
    out, page = tmp_path / "m.gapless", tmp_path / "p.html"
    told = run_json("train", raw, "--target", "outcome", "--drop", "who", "--seed", "2", "-o", out, "--report", page)
    text = html.unescape(page.read_text(encoding="utf-8")).replace("\u00a0", " ")
    table = text[text.index("What was compared") : text.index("The first gap", text.index("What was compared"))]
    for each in told["compared"]:
        assert each["model"] + (" ★" if each["estimator"] == told["estimator"] else "<") in table
        assert f"{100 * each['test']['error']:.2f} %" in table
        assert f"{100 * each['bound']:.2f} %" in table
    assert f"gapless train {raw} --target outcome --drop who --seed 2 --out {out}" in text
    assert f"gapless verify {out} {raw}" in text


def test_a_short_time_limit_leaves_kinds_out(raw, tmp_path):
    told = run_json("train", raw, "--target", "outcome", "--time-limit", "0.001", "-o", tmp_path / "m", "--no-report")
    assert len(told["compared"]) == 1
    assert told["not_compared"] == {"logistic": "no time was left"}


def test_without_what_makes_the_report(raw, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "gapless.pages.report", None)
    result = run("train", raw, "--target", "outcome", "-o", tmp_path / "m.gapless")
    assert result.exit_code == 0
    assert "no report: pip install 'gapless[report]'" in result.stderr
    assert (tmp_path / "m.gapless").exists()


# ------------------------------------------------------------------ bad tables
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age,label\n1,a\n2,b\n", "no column 'lable'; did you mean 'label'?"),
        ("age,lable\n1,a\n2,a\n3,a\n", "has one value in all rows ('a')"),
        ("age,gone,lable\n,,a\n,NA,b\n,,a\n", "no column is left to learn from"),
        (b"\x00\x01\x02" * 1000, "binary"),
        ("age,lable\n1,\n2,\n", "column 'lable': no row has a label"),
        ("a,lable\n1,a\n2e155,b\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n", "column 'a': values of 2.0e+155, whose squares"),
        (b"a,lable\n" + b"9" * 10_000_000 + b"\n1,a\n", "line 2"),
    ],
)
def test_bad_tables_are_one_line_and_leave_nothing(tmp_path, text, says):
    path = tmp_path / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run("train", path, "--target", "lable", "-o", tmp_path / "m.gapless")
    assert result.exit_code == 2, result.output
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 700
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


def test_utf_16_is_read(tmp_path, raw):
    path = tmp_path / "wide.csv"
    path.write_bytes(raw.read_text().encode("utf-16"))
    told = run_json("train", path, "--target", "outcome", "-o", tmp_path / "m", "--no-report")
    assert any("utf-16" in note for note in told["notes"])


@pytest.mark.parametrize("scaled", [True, False])
def test_coefficients_are_in_units_and_per_deviation(raw, tmp_path, scaled):
    """One more year moves the score by the weight per unit; `predict` itself does the sums."""
    import gapless
    from gapless.files import Expected, read_data

    out = tmp_path / "m.gapless"
    options = () if scaled else ("--model", "logistic")
    told = run_json(
        "train", raw, "--target", "outcome", "-o", out, "--no-report", "--drop", "who", "--drop", "empty", *options
    )
    assert len(told["coefficients"]) == 1
    assert told["coefficients"][0]["towards"] == "out"
    age = next(each for each in told["coefficients"][0]["features"] if each["feature"] == "age")
    model = gapless.load(out)
    new, older = tmp_path / "new.csv", tmp_path / "older.csv"
    new.write_text("age,job,paid\n39,nurse,yes\n")
    older.write_text("age,job,paid\n40,nurse,yes\n")
    scores = [
        model.decision_function(
            model.encoding_.transform(read_data(path, expected=Expected.from_model(model), labels="optional"))
        )[0]
        for path in (new, older)
    ]
    assert age["per_unit"] == pytest.approx(scores[1] - scores[0], rel=1e-9)
    assert age["per_standard_deviation"] == pytest.approx(age["per_unit"] * age["standard_deviation"])
    assert 9 < age["standard_deviation"] < 15  # of 12
    kinds = [each["feature"] for each in told["coefficients"][0]["features"]]
    assert "job=nurse" in kinds


def test_the_page_has_the_interval_of_the_terminal(raw, tmp_path):
    """One error, one interval: the held-out rows chose nothing, so that the chosen model's is that of one model."""
    pytest.importorskip("jinja2")
    page = tmp_path / "p.html"
    told = run_json("train", raw, "--target", "outcome", "-o", tmp_path / "m.gapless", "--report", page)
    text = html.unescape(page.read_text(encoding="utf-8")).replace("\u00a0", " ")
    for end in told["test"]["interval"]:
        assert f"{100 * end:.2f} %" in text
