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
from gapless.cli.holdout import draw_split
from tests.pages.reading import cells, number, section, styled, tree, words

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
    kept, _ = draw_split(120, 0.25, 0)
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
    assert "--holdout 0.25" in text


@pytest.mark.parametrize("command", ["train", "tune"])
def test_the_two_commands_are_command_lines(files, command):
    _, data, folder = files
    model, page = folder / "again.gapless", folder / "p.html"
    given = [command, data, "--model", "svm", "--holdout", "0.25", "--drop", "plain", "-o", model]
    assert run(*given, *(["--folds", "2"] if command == "tune" else [])).exit_code == 0
    assert run("report", model, data, "--drop", "plain", "-o", page, "--no-pictures").exit_code == 0
    shown = [html.unescape(text) for text in re.findall("<pre><code>(.*)</code></pre>", page.read_text())]
    make, check, again = [shlex.split(text) for text in shown]
    assert make[:4] == ["gapless", command, str(data), "--model"]
    assert make[-2:] == ["--out", str(model)]
    before = gapless.load(model).coef_
    model.unlink()
    assert run(*make[1:]).exit_code == 0
    np.testing.assert_array_equal(gapless.load(model).coef_, before)
    assert check == ["gapless", "verify", str(model), str(data), "--drop", "plain"]
    assert run(*check[1:]).exit_code == 0
    assert run("report", model, data, "--drop", "plain", "-o", page, "--no-pictures").exit_code == 0
    before = page.read_text()
    page.unlink()
    assert run(*again[1:]).exit_code == 0
    assert page.read_text() == before


def test_json_and_another_test_file(files):
    model, data, folder = files
    kept, held = draw_split(120, 0.25, 0)
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


def test_a_file_whose_name_begins_with_a_dash_is_not_read_as_an_option(files, monkeypatch):
    _, data, folder = files
    monkeypatch.chdir(folder)
    (folder / "-rows.csv").write_bytes(data.read_bytes())
    given = ["train", "--model", "svm", "--out", "-model.gapless", "--report", "p.html", "--", "-rows.csv"]
    assert run(*given).exit_code == 0
    shown = [
        html.unescape(text) for text in re.findall("<pre><code>(.*)</code></pre>", (folder / "p.html").read_text())
    ]
    make, check = [shlex.split(text) for text in shown]
    before = gapless.load("-model.gapless").coef_
    (folder / "-model.gapless").unlink()
    assert run(*make[1:]).exit_code == 0
    np.testing.assert_array_equal(gapless.load("-model.gapless").coef_, before)
    assert run(*check[1:]).exit_code == 0


def test_the_check_command_reads_the_file_as_the_report_did(tmp_path):
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    data = tmp_path / "no head.csv"
    data.write_text("\n".join(",".join(map(repr, [*row.tolist(), int(label)])) for row, label in zip(X, y)) + "\n")
    model, page = tmp_path / "m.gapless", tmp_path / "p.html"
    gapless.save(gapless.LinearSVC().fit(X, y), model)
    given = [model, data, "--no-header", "--target", "4"]
    assert run("report", *given, "-o", page, "--no-pictures").exit_code == 0
    shown = [html.unescape(text) for text in re.findall("<pre><code>(.*)</code></pre>", page.read_text())]
    check = shlex.split(shown[-2])
    assert check == ["gapless", "verify", str(model), str(data), "--target", "4", "--no-header"]
    assert run(*check[1:]).exit_code == 0


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table of columns with very different units and one of texts, the page of `gapless train`, and what it printed."""
    random = np.random.default_rng(8)
    n = 400
    income, age, town = (
        random.normal(50_000, 20_000, n),
        random.normal(40, 12, n),
        random.choice(["Bern", "Oslo", "Rome"], n),
    )
    score = (income - 50_000) / 20_000 + (age - 40) / 24 + (town == "Oslo") + random.normal(size=n)
    labels = np.where(score > 0.4, "yes", "no")
    folder = tmp_path_factory.mktemp("people")
    lines = [f"{a!r},{b!r},{c},{d}" for a, b, c, d in zip(income.tolist(), age.tolist(), town, labels)]
    (folder / "people.csv").write_text("income,age,town,buys\n" + "\n".join(lines) + "\n")
    out, page = folder / "m.gapless", folder / "m.html"
    ran = run("train", folder / "people.csv", "--time-limit", "20", "-o", out, "--json")
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    raw = {
        "income": income,
        "age": age,
        **{f"town={name}": (town == name).astype(float) for name in ("Bern", "Oslo", "Rome")},
    }
    return out, tree(page.read_text(encoding="utf-8")), told, raw


def test_the_error_of_the_chosen_model_has_one_interval_on_the_page_and_in_the_shell(people):
    _, root, told, _ = people
    low, high = told["test"]["interval"]
    shown = f"{100 * low:.2f} % to {100 * high:.2f} %"
    card = next(each for each in styled(root, "card") if "error on new rows" in words(each))
    assert shown in words(card)
    head, *lines = cells(next(iter(section(root, "found").iter("table"))))
    chosen = next(line for line in lines if "★" in line[0])
    assert chosen[head.index("interval")] == shown
    assert f"between {shown.replace(' to ', ' and ')}" in words(section(root, "new-rows"))
    assert f"the interval above, {shown}" in words(section(root, "bounds"))


def test_weights_of_a_scaled_table_are_in_the_units_of_its_columns(people):
    out, _, _, raw = people
    folder = out.parent
    page = folder / "svm.html"
    given = ["train", folder / "people.csv", "--model", "logistic", "-o", folder / "l.gapless", "--report", page]
    assert run(*given).exit_code == 0
    _weights_by_hand(gapless.load(folder / "l.gapless"), page, raw, folder)
    from gapless.files.encoding import Encoding

    data = options.read(folder / "people.csv", typed=True)
    encoding = Encoding.fit(data, scale=True)
    model = gapless.LogisticRegression().fit(encoding.transform(data), data.y)
    gapless.save(model, folder / "s.gapless", target="buys", encoding=encoding)
    assert run("report", folder / "s.gapless", folder / "people.csv", "-o", page, "--no-pictures").exit_code == 0
    _weights_by_hand(gapless.load(folder / "s.gapless"), page, raw, folder)


def _weights_by_hand(model, page, raw, folder):
    """The figures of the page, put into the formula of the page with the columns of the file, give the model's scores."""
    features = section(tree(page.read_text(encoding="utf-8")), "features")
    scores = np.zeros(400)
    for line in styled(styled(features, "bars")[0], "bar")[1:]:
        name = words(styled(line, "name")[0])
        deviation, unit = (number(words(figure)) for figure in styled(line, "figure"))
        assert deviation == pytest.approx(unit * raw[name].std(), rel=5e-3)
        scores += unit * raw[name]
    scores += number(re.search(r"offset b = (\S+) in the units", words(features)).group(1))
    data = options.read(folder / "people.csv", typed=True)
    assert scores == pytest.approx(model.decision_function(model.encoding_.transform(data)), abs=0.01)
