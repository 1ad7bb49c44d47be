"""The commands in this process: what they print, what they refuse, how they end."""

import json
import warnings
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from gapless.cli import app, main

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(a) for a in arguments])


def run_json(*arguments, code=0):
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture
def model(csv, tmp_path):
    path = tmp_path / "m.gapless"
    result = run("train", csv, "--model", "svm", "--out", path)
    assert result.exit_code == 0, result.output
    return path


def test_train_says_it_all(csv, tmp_path):
    out = tmp_path / "m.gapless"
    result = run("train", csv, "--loss", "hinge", "-C", "0.5", "--holdout", "0.25", "--out", out)
    assert result.exit_code == 0, result.output
    rows = result.stdout.splitlines()
    text = " ".join(result.stdout.split())  # lines are folded, and where depends on the length of the path
    assert "120 rows, 3 features" in text
    assert "header found" in text
    assert "90 rows to train, 30 held out" in text
    assert "LinearSVC: the objective is at most" in text
    assert "training error" in text
    assert "95 % interval" in text
    assert f"gapless verify {out}" in text
    assert all(len(row) <= 100 or "/" in row for row in rows)
    assert out.exists()
    assert run("verify", out, csv, "--holdout", "0.25").exit_code == 0
    assert run("verify", out, csv).exit_code == 0  # the model says which rows they were
    assert run("verify", out, csv, "--holdout", "0.2").exit_code == 2  # other data: not all of these were trained on


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "logistic"),
        ("--loss", "hinge", "--offset", "penalised"),
        ("--loss", "squared_hinge", "--offset", "none"),
        ("--class-weight", "balanced", "--tol", "1e-8"),
        ("--model", "logistic", "--offset", "none", "--drop", "b"),
        ("--model", "svm", "--weights", "b2"),
    ],
)
def test_train_verify_predict(csv, tmp_path, options):
    if "--weights" in options:
        table = csv.read_text().splitlines()
        csv.write_text("b2," + table[0] + "\n" + "\n".join(f"{k % 3},{row}" for k, row in enumerate(table[1:])))
    out = tmp_path / "m.gapless"
    told = run_json("train", csv, "--out", out, *options)
    assert told["converged"]
    assert told["certificate"]["relative_gap"] <= told["certificate"]["tol"]
    assert told["classes"] == ["no", "yes"]
    assert told["target"] == "label"
    extra = [text for k, text in enumerate(options) if "--drop" in options[max(k - 1, 0) : k + 1]]
    weights = ["--weights", "b2"] if "--weights" in options else []
    verdict = run_json("verify", out, csv, *extra, *weights)
    assert verdict["holds"] is True
    drops = extra or (["--drop", "b2"] if weights else [])
    predicted = run_json("predict", out, csv, *drops)
    assert predicted["rows"] == 120
    assert predicted["training"]["wrong"] == told["training"]["wrong"]
    assert predicted["training_rows"] == 120
    assert predicted["test"] is None
    assert set(predicted["predictions"]) == {"no", "yes"}


def test_the_hold_out_is_the_same_every_time(csv, tmp_path):
    first = run_json("train", csv, "--model", "svm", "--holdout", "0.2", "--out", tmp_path / "a")
    again = run_json("train", csv, "--model", "svm", "--holdout", "0.2", "--out", tmp_path / "b")
    other = run_json("train", csv, "--model", "svm", "--holdout", "0.2", "--seed", "1", "--out", tmp_path / "c")
    assert first["test"] == again["test"]
    assert first["certificate"]["primal"] == again["certificate"]["primal"] != other["certificate"]["primal"]
    low, high = first["test"]["interval"]
    assert 0 <= low <= first["test"]["error"] <= high <= 1


def test_a_test_file(csv, tmp_path, model):
    test = tmp_path / "test.csv"
    lines = csv.read_text().splitlines()
    test.write_text("label,c,b,a\n" + "\n".join(",".join(row.split(",")[::-1]) for row in lines[1:41]))
    result = run("train", csv, "--model", "svm", "--test", test, "--out", tmp_path / "x", "--json")
    assert json.loads(result.stdout)["test"] is None
    assert "all 40 rows equal training rows: they say nothing of new rows" in result.stderr
    csv.write_text("\n".join([lines[0], *lines[21:]]) + "\n")
    result = run("train", csv, "--model", "svm", "--test", test, "--out", tmp_path / "x", "--json")
    assert json.loads(result.stdout)["test"]["rows"] == 20
    assert "20 of 40 rows equal training rows and are left out; the test error is of the 20 others" in result.stderr
    test.write_text("\n".join(lines[:1] + lines[1:5]).replace("c,label", "d,label"))
    result = run("train", csv, "--model", "svm", "--test", test, "--out", tmp_path / "x")
    assert result.exit_code == 2
    assert "missing column 'c'; extra column 'd'" in result.stderr


def test_predict_to_a_file_and_to_stdout(csv, tmp_path, model):
    out = tmp_path / "p.csv"
    assert run("predict", model, csv, "--out", out).exit_code == 0
    printed = run("predict", model, csv)
    assert printed.exit_code == 0
    assert printed.stdout == out.read_text()
    assert printed.stdout.splitlines()[0] == "prediction"
    assert len(printed.stdout.splitlines()) == 121
    assert "error" in printed.stderr  # the file has labels
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "m.gapless", "p.csv"]
    bare = tmp_path / "bare.csv"
    bare.write_text("c,a,b\n1,2,3\n")
    printed = run("predict", model, bare)
    assert len(printed.stdout.splitlines()) == 2
    assert printed.stderr == ""


def test_probabilities(csv, tmp_path, model):
    result = run("predict", model, csv, "--proba")
    assert result.exit_code == 2
    run("train", csv, "--model", "logistic", "--out", tmp_path / "l")
    rows = run("predict", tmp_path / "l", csv, "--proba").stdout.splitlines()
    assert rows[0] == "prediction,P(no),P(yes)"
    label, no, yes = rows[1].split(",")
    assert float(no) + float(yes) == pytest.approx(1.0)
    assert label == ("yes" if float(yes) > 0.5 else "no")
    told = run_json("predict", tmp_path / "l", csv, "--proba")
    assert np.shape(told["probabilities"]) == (120, 2)


@pytest.mark.parametrize("tier", [[], ["--rigorous"], ["--exact"]])
def test_verify_tiers(csv, model, tier):
    result = run("verify", model, csv, *tier)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()
    told = run_json("verify", model, csv, *tier)
    assert told["holds"] is True
    assert told["verdict"]


def test_a_false_claim_is_exit_1(csv, model):
    import hashlib
    import zipfile

    with zipfile.ZipFile(model) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    coef = np.frombuffer(contents["coef.bin"]).copy()
    contents["coef.bin"] = (coef * 1.5).tobytes()
    with zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64
        for name, content in contents.items():
            archive.writestr(name, content)
    content = model.read_bytes()[:-64]
    model.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    assert run("verify", model, csv).exit_code == 1
    assert run_json("verify", model, csv, code=1)["holds"] is False


def test_other_data_and_other_labels_are_exit_2(csv, model):
    text = csv.read_text()
    csv.write_text(text.replace("yes", "YES"))
    assert run("verify", model, csv).exit_code == 0  # a yes by any other spelling
    csv.write_text(text.replace("yes", "maybe"))
    assert run("verify", model, csv).exit_code == 2
    csv.write_text(text.replace(",yes", ",no", 1))
    assert run("verify", model, csv).exit_code == 2
    lines = text.splitlines()
    csv.write_text("\n".join(lines[:-1]))
    assert run("verify", model, csv).exit_code == 2


def test_strict(csv, tmp_path):
    options = ("train", csv, "--loss", "hinge", "-C", "1000", "--max-iter", "1", "--tol", "1e-12")
    result = run(*options, "--out", tmp_path / "m")
    assert result.exit_code == 0
    assert "warning" in result.stderr
    assert run(*options, "--out", tmp_path / "m", "--strict").exit_code == 1
    told = run_json(*options, "--out", tmp_path / "m", "--strict", code=1)
    assert told["converged"] is False
    assert told["certificate"]["relative_gap"] > 1e-12
    assert run("verify", tmp_path / "m", csv).exit_code == 0  # unfinished, and honest about it


def test_svmlight_and_npz(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.6)
    y = (X.sum(axis=1) > 0).astype(int)
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v) for row, label in zip(X.tolist(), y)
    ]
    path = tmp_path / "data.svm"
    path.write_text("\n".join(lines))
    np.savez(tmp_path / "data.npz", X=X, y=y)
    told = run_json("train", path, "--model", "svm", "--out", tmp_path / "m")
    assert told["features"] == 4
    assert run("verify", tmp_path / "m", path).exit_code == 0
    assert run("verify", tmp_path / "m", tmp_path / "data.npz").exit_code == 0  # the same rows, dense
    assert run("predict", tmp_path / "m", path).exit_code == 0


@pytest.mark.parametrize("options", [(), ("--float32",)])
def test_the_rows_that_were_held_out_of_svmlight_are_known(tmp_path, options):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.6)
    y = (X.sum(axis=1) + 0.5 * rng.normal(size=80) > 0).astype(int)
    path, out = tmp_path / "data.svm", tmp_path / "m.gapless"
    path.write_text(
        "".join(
            f"{label} " + " ".join(f"{j}:{v!r}" for j, v in enumerate(row) if v) + "\n"
            for row, label in zip(X.tolist(), y)
        )
    )
    trained = run("train", path, "--model", "svm", "--holdout", "0.25", "--seed", "7", *options, "--out", out)
    assert trained.exit_code == 0, trained.output
    assert (
        f"next gapless verify {out} {path}"
        == " ".join(trained.stdout.split())[-len(f"next gapless verify {out} {path}") :]
    )
    assert run_json("verify", out, path)["holds"] is True
    assert run("verify", out, path, "--holdout", "0.25").exit_code == 2  # the seed was another
    rows = {row["method"]: row for row in run_json("bounds", out, path)["bounds"]["rows"]}
    assert rows["held-out"]["figures"]["n"] == 20
    from gapless.judge.__main__ import main

    assert main([str(out), str(path)]) == 0
    kept = np.sort(np.random.RandomState(7).permutation(80)[20:])
    np.savez(tmp_path / "part.npz", X=X[kept].astype("f4") if options else X[kept], y=y[kept])
    assert main([str(out), str(tmp_path / "part.npz")]) == 0  # these rows alone, as they are
    np.savez(tmp_path / "whole.npz", X=X, y=y)
    assert main([str(out), str(tmp_path / "whole.npz")]) == 0


# ------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,y\n1,2,0\n3,4\n", "line 3: expected 3 columns, found 2"),
        ("a,b,y\n1,2,0\n3,inf,1\n", "line 3, column 'b': the value is inf"),
        ("a,b,y\n1,2,0\n3,4,0\n", "class"),
        ("a,b,y\n1,2,0.5\n3,4,0.25\n", "leaves an empty part"),
        ("", "empty"),
    ],
)
def test_bad_data_is_one_line_and_exit_2(tmp_path, text, says):
    path = tmp_path / "data.csv"
    path.write_text(text)
    result = run("train", path, "--out", tmp_path / "m")
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("gapless: ")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "none.csv"],
        ["train", "."],
        ["train", "{csv}", "-C", "-1"],
        ["train", "{csv}", "--tol", "x"],
        ["train", "{csv}", "--model", "tree"],
        ["train", "{csv}", "--model", "logistic", "--loss", "hinge"],
        ["train", "{csv}", "--target", "none"],
        ["train", "{csv}", "--target", "0"],
        ["train", "{csv}", "--target", "9"],
        ["train", "{csv}", "--holdout", "1.5"],
        ["train", "{csv}", "--holdout", "0.2", "--test", "{csv}"],
        ["train", "{csv}", "--out", "none/m.gapless"],
        ["train", "{csv}", "--out", "."],
        ["train", "{csv}", "--format", "xls"],
        ["predict", "none.gapless", "{csv}"],
        ["predict", "{csv}", "{csv}"],
        ["verify", "{csv}", "{csv}"],
        ["verify", "{csv}", "{csv}", "--rigorous", "--exact"],
        ["train"],
        ["nonsense"],
        ["train", "{csv}", "--nonsense"],
    ],
)
def test_usage_and_bad_input_are_one_line_and_exit_2(csv, tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    assert main([text.format(csv=csv) for text in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" or captured.out.startswith("data ")
    assert captured.err.startswith("gapless: ")
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err


def test_json_errors_leave_stdout_empty(tmp_path):
    result = run("train", tmp_path / "none.csv", "--json")
    assert result.exit_code == 2
    assert result.stdout == ""


def test_debug_shows_the_traceback(tmp_path):
    result = run("train", tmp_path / "none.csv", "--debug")
    assert result.exit_code != 0
    assert result.exception is not None
    assert "no such file" in str(result.exception)


def test_an_error_of_our_own_is_exit_3(csv, monkeypatch, capsys):
    import gapless.cli.options as options

    monkeypatch.setattr(options, "read", lambda *a, **k: 1 // 0)
    assert main(["train", str(csv)]) == 3
    assert "internal error: ZeroDivisionError" in capsys.readouterr().err


def test_headerless_numbers(tmp_path):
    path = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    rows = "\n".join(f"{int(a > 0)},{a},{b}" for a, b in X)
    path.write_text(rows)
    told = run_json("train", path, "--target", "1", "-C", "1e4", "--out", tmp_path / "m")
    assert told["features"] == 2
    assert told["classes"] == [0, 1]
    assert told["training"]["wrong"] == 0
    assert run("verify", tmp_path / "m", path, "--target", "1").exit_code == 0


def test_doctor():
    result = run("doctor")
    assert result.exit_code == 0, result.output
    for word in ("numba", "kernels", "extras", "self-test", "all is well"):
        assert word in result.stdout
    told = run_json("doctor")
    assert told["self_test"]["ok"] is True
    assert told["required"]["numpy"] == np.__version__


def test_doctor_knows_what_each_extra_brings():
    """The modules that doctor looks for are those of pyproject.toml."""
    import re
    import tomllib
    from pathlib import Path

    from gapless.cli.commands.doctor import EXTRAS

    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    written = project["optional-dependencies"]
    modules = {"bayesian-optimization": "bayes_opt"}  # all others are called as their distribution

    def brought(name):
        for requirement in written[name]:
            if within := re.match(r"gapless\[(.*)\]", requirement):
                for other in within[1].split(","):
                    yield from brought(other)
            else:
                distribution = re.match(r"[\w-]+", requirement)[0]
                yield modules.get(distribution, distribution)

    tools = {"all", "ecosystem", "test", "bench", "docs", "lint", "dev"}
    assert {name: set(found) for name, found in EXTRAS.items()} == {
        name: set(brought(name)) for name in written if name not in tools
    }


def test_version_and_help(capsys):
    import gapless

    assert main(["--version"]) == 0
    assert gapless.__version__ in capsys.readouterr().out
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for command in ("demo", "train", "predict", "verify", "bounds", "doctor", "warmup"):
        assert command in text
        assert main([command, "--help"]) == 0
    capsys.readouterr()


def test_warnings_are_lines(csv, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run("train", csv, "--max-iter", "1", "--tol", "1e-14", "-C", "1e4", "--out", tmp_path / "m")
    assert result.exit_code == 0
    assert result.stderr.startswith("gapless: warning: ")


@pytest.mark.parametrize("options", [("linear",), ("ridge", "--alpha", "0.5"), ("linear", "--offset", "none")])
def test_regressions(tmp_path, options):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 2))
    y = X @ [1.0, -2.0] + 3.0 + 0.1 * rng.normal(size=50)
    data, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    np.savetxt(data, np.column_stack([X, y]), delimiter=",", header="a,b,price", comments="")
    told = run_json("train", data, "--model", *options, "--holdout", "0.2", "--out", out)
    assert told["converged"]
    assert told["classes"] is None
    assert told["certificate"]["kind"] == ("gap" if "ridge" in options else "orthogonality")
    assert told["test"]["rows"] == 10
    assert 0 < told["test"]["root_mean_square"] < (0.5 if "none" not in options else 10)
    for tier in ([], ["--rigorous"], ["--exact"]):
        assert run_json("verify", out, data, "--holdout", "0.2", *tier)["holds"] is True
    predicted = run_json("predict", out, data)
    offset = [] if "none" in options else [np.ones(50)]
    if options == ("linear",):
        kept = run_json("train", data, "--model", "linear", "--out", out)
        A = np.column_stack([X, *offset])
        wanted = A @ np.linalg.lstsq(A, y, rcond=None)[0]
        np.testing.assert_allclose(run_json("predict", out, data)["predictions"], wanted, rtol=1e-9)
        assert kept["training"]["root_mean_square"] == pytest.approx(np.sqrt(np.mean((y - wanted) ** 2)))
    assert predicted["test"]["rows"] == 10
    assert predicted["training"]["rows"] == 40
    assert run("predict", out, data).stdout.startswith("prediction\n")


def test_a_least_squares_classifier(csv, tmp_path):
    out = tmp_path / "m.gapless"
    told = run_json("train", csv, "--model", "least_squares", "--class-weight", "balanced", "--out", out)
    assert told["classes"] == ["no", "yes"]
    assert run_json("verify", out, csv)["holds"] is True
    assert run_json("predict", out, csv)["training"]["wrong"] == told["training"]["wrong"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("linear", "-C", "2"), "--C belongs to --model svm or logistic, not linear"),
        (("svm", "--alpha", "2"), "--alpha belongs to --model ridge, least_squares, lasso or elastic_net, not svm"),
        (("logistic", "--loss", "hinge"), "--loss belongs to --model svm, not logistic"),
        (("ridge", "--offset", "penalised"), "--offset penalised belongs to --model svm or logistic, not ridge"),
        (("linear",), "the column 'label' does not hold numbers"),
    ],
)
def test_options_that_a_model_does_not_have(csv, tmp_path, options, says):
    result = run("train", csv, "--model", *options, "--out", tmp_path / "m")
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


def test_warmup_takes_each_step_once(monkeypatch):
    import gapless._compile.kernel_store
    import gapless._runtime.threads
    from gapless._warmup import compile_ahead

    seen, steps = [], ["hinge, dense float64", "hinge, CSR float64", "fingerprint, CSR float64"]
    made = [compile_ahead.Step(what, ("LinearSVC",), partial(seen.append, what)) for what in steps]
    monkeypatch.setattr(compile_ahead, "all_steps", lambda: iter(made))
    monkeypatch.setattr(
        gapless._runtime.threads, "available_cores", lambda: 1
    )  # more would share it with another process
    monkeypatch.setenv("GAPLESS_QUIET", "1")
    monkeypatch.setenv("GAPLESS_PROCESSOR", "host")
    monkeypatch.setattr(gapless._compile.kernel_store, "keep_to_host", lambda: None)
    result = run("warmup")
    assert result.exit_code == 0, result.output
    assert "all kernels are compiled" in result.output
    assert sorted(seen) == sorted(steps)
    seen.clear()
    assert run("warmup", "--for", "LinearSVC", "--rows", "dense").exit_code == 0
    assert seen == ["hinge, dense float64"]
    assert run("warmup", "--for", "SVC").exit_code == 0
    assert seen == ["hinge, dense float64"]
    refused = run("warmup", "--for", "SVD")
    assert refused.exit_code == 2
    assert "warmup knows no 'SVD'; it knows" in refused.stderr
