"""gapless report: from two files to one page."""

import html
import json
import re
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import gapless
from gapless.cli import app, options

pytest.importorskip("jinja2")

NAMES = ["<script>alert(1)</script>", "b & c", "plain"]


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def files(tmp_path):
    """A CSV with a column called <script>, labels with quotes, and a model of three quarters of its rows."""
    random = np.random.default_rng(5)
    X = random.normal(size=(120, 3)).round(3)
    y = np.where(X @ [1.0, -2.0, 0.5] + 0.5 * random.normal(size=120) > 0, "it's <b>", 'a "no"')
    data = tmp_path / "it's <data> & more.csv"
    cells = [
        ",".join([*(repr(float(v)) for v in row), '"' + label.replace('"', '""') + '"']) for row, label in zip(X, y)
    ]
    data.write_text(",".join([*NAMES, "label"]) + "\n" + "\n".join(cells) + "\n", encoding="utf-8")
    kept, _ = options.split(120, 0.25, 0)
    model = gapless.LinearSVC(loss="hinge").fit(X[kept], y[kept])
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    path = tmp_path / "m.gapless"
    gapless.save(model, path, target="label")
    return path, data, tmp_path


def test_a_page_from_files_alone(files):
    model, data, folder = files
    out = folder / "page.html"
    result = run("report", model, data, "--holdout", "0.25", "-o", out)
    assert result.exit_code == 0, result.output
    text = out.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "it&#39;s &lt;b&gt;" in text
    assert "of 30)" in text  # the rows that were held out
    assert "could not be made" not in text
    assert f"gapless verify {model}" in text
    assert "--holdout 0.25 --seed 0" in text


@pytest.mark.parametrize("command", ["train", "tune"])
def test_the_two_commands_are_command_lines(files, command):
    _, data, folder = files
    model, page = folder / "again.gapless", folder / "p.html"
    given = [command, data, "--model", "svm", "--holdout", "0.25", "--drop", "plain", "-o", model]
    assert run(*given, *(["--folds", "2"] if command == "tune" else [])).exit_code == 0
    assert run("report", model, data, "--drop", "plain", "-o", page, "--no-pictures").exit_code == 0
    shown = [html.unescape(text) for text in re.findall("<pre><code>(.*)</code></pre>", page.read_text())]
    make, check = [shlex.split(text) for text in shown]
    assert make[:4] == ["gapless", command, str(data), "--model"]
    assert make[-2:] == ["--out", str(model)]
    before = gapless.load(model).coef_
    model.unlink()
    assert run(*make[1:]).exit_code == 0
    np.testing.assert_array_equal(gapless.load(model).coef_, before)
    assert check == ["gapless", "verify", str(model), str(data), "--drop", "plain"]
    assert run(*check[1:]).exit_code == 0


def test_json_and_another_test_file(files):
    model, data, folder = files
    kept, held = options.split(120, 0.25, 0)
    lines = data.read_text(encoding="utf-8").splitlines()
    for name, rows in (("train.csv", kept), ("test.csv", held)):
        (folder / name).write_text("\n".join([lines[0], *(lines[i + 1] for i in rows)]) + "\n", encoding="utf-8")
    out = folder / "p.html"
    result = run("report", model, folder / "train.csv", "--test", folder / "test.csv", "-o", out, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["bytes"] == out.stat().st_size
    assert "of 30)" in out.read_text(encoding="utf-8")


def test_what_is_refused(files):
    model, data, folder = files
    assert run("report", model, data).exit_code == 2  # the held-out rows were not trained on
    assert run("report", model, data, "--holdout", "0.25", "-o", folder).exit_code == 2
    assert run("report", model, data, "--holdout", "0.25", "-o", folder / "no" / "p.html").exit_code == 2
    assert run("report", model, folder / "none.csv").exit_code == 2
    assert run("report", data, data).exit_code == 2
    assert run("report", model, data, "--holdout", "0.25", "--test", data).exit_code == 2
    assert not list(folder.glob("*.html"))
