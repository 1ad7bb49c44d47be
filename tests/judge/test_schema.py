"""Every key of every document has its kind; unknown ones are refused; the docs' tables are the judge's own."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from judge_zoo import ZOO, fit_of
from typer.testing import CliRunner

import gapless
from gapless import judge
from gapless.cli import app
from gapless.judge import CertificateError, check
from gapless.judge.files.data_file import read_data
from gapless.judge.form.schema import KINDS as THREE
from gapless.judge.form.schema import entries, table_of
from gapless.judge.kinds import KINDS, kind_of
from gapless.judge.schema_page import as_markdown

ROOT = Path(__file__).parents[2]
OLD = Path(__file__).parent / "files_0_1_0"


def without_kind(document, arrays) -> list[str]:
    """Keys of a document, and arrays, that no table gives a kind to."""
    schema = kind_of(document).schema
    missing = [path for path, entry in entries(document, schema) if entry is None or entry.kind not in THREE]
    known = schema["arrays."]
    missing += [name for name in arrays if "." not in name and name not in known]
    for k, learner in enumerate(document.get("learners") or []):
        own = {name.partition(".")[2]: a for name, a in arrays.items() if name.startswith(f"{k}.")}
        missing += [f"learner {k}: {name}" for name in without_kind(learner, own)]
    return missing


@pytest.mark.parametrize("name", ZOO)
def test_every_key_has_its_kind(name):
    fit = fit_of(name)
    assert without_kind(fit.document, fit.arrays) == []
    verdict = check(fit.document, fit.arrays, *fit.data)
    assert verdict, verdict.failed
    said = "; ".join(verdict.unchecked)
    for path, entry in entries(fit.document, kind_of(fit.document).schema):
        assert entry is not None
        assert entry.how
        if entry.kind == "unchecked":
            assert f"{path.rpartition('.')[2]}: {entry.how}" in said


def test_a_planted_key_is_found_and_refused():
    for name in ("LinearSVC", "Perceptron", "DecisionTreeClassifier", "BaggingClassifier", "Ridge", "SVC"):
        fit = fit_of(name)
        places = ["", "parameters", "problem", "certificate"]
        for place in places:
            document = copy.deepcopy(fit.document)
            (document[place] if place else document)["planted"] = 1
            assert without_kind(document, fit.arrays) == [f"{place}.planted" if place else "planted"]
            with pytest.raises(CertificateError, match="'planted' is unknown"):
                check(document, fit.arrays, *fit.data)
        assert without_kind(fit.document, {**fit.arrays, "planted": np.zeros(1)}) == ["planted"]
        with pytest.raises(CertificateError, match="'planted' is unknown"):
            check(fit.document, {**fit.arrays, "planted": np.zeros(1)}, *fit.data)


# -- entries of the command line


def of_a_table(tmp_path):
    """Document, arrays, rows and labels of a file that was made of a table with dates, units, commas, texts and gaps."""
    rng = np.random.default_rng(3)
    lines = ["day;price;colour;size;y"]
    for i in range(60):
        size = "" if i % 11 == 5 else str(i % 7)
        price = f"{rng.normal() * 3 + i % 2:.2f}".replace(".", ",")
        lines.append(
            f"{1 + i % 28:02d}.{1 + i % 12:02d}.20{10 + i % 9};{price} EUR;{('red', 'blue')[i % 3 > 0]};{size};{i % 2}"
        )
    path, out = tmp_path / "table.csv", tmp_path / "m.gapless"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = CliRunner().invoke(
        app, ["train", str(path), "--target", "y", "--time-limit", "2", "--out", str(out), "--no-report"]
    )
    assert told.exit_code == 0, told.output
    document, arrays = judge.read(out)
    return document, arrays, *read_data(path, document)


def test_every_key_of_a_file_of_the_command_line(tmp_path):
    document, arrays, *data = of_a_table(tmp_path)
    kinds = {column["kind"] for column in document["input"]["columns"]}
    assert kinds == {"number", "category", "date"}
    assert {"input", "origin", "tuning", "training_rows"} <= document.keys()
    assert without_kind(document, arrays) == []
    verdict = check(document, arrays, *data)
    assert verdict, verdict.failed
    for name in ("input", "origin", "tuning"):
        assert any(line.startswith(f"{name}: ") for line in verdict.unchecked)
    date = next(k for k, each in enumerate(document["input"]["columns"]) if each["kind"] == "date")
    places = [("input",), ("input", "columns", 0), ("input", "columns", date, "parts", 0), ("input", "target")]
    places += [("origin",), ("origin", "split"), ("tuning",), ("training_rows",)]
    for place in places:
        forged = copy.deepcopy(document)
        block = forged
        for key in place:
            block = block[key]
        block["planted"] = 1
        assert len(without_kind(forged, arrays)) == 1
        with pytest.raises(CertificateError, match="'planted' is unknown"):
            check(forged, arrays, *data)


def test_the_hashes_of_training_rows_are_recomputed(tmp_path):
    document, arrays, *data = of_a_table(tmp_path)
    hashes = arrays["training_rows"]
    other = hashes.copy()
    other[3] += np.uint64(1)
    for twins in (1, 10**6):
        assert not check({**document, "training_rows": {"distinct": hashes.size, "twins": twins}}, arrays, *data)
    for wrong in (other, hashes[::-1].copy()):
        assert not check(document, {**arrays, "training_rows": wrong}, *data)
    for wrong in (hashes[:-1], hashes.astype(np.float64)):
        with pytest.raises(CertificateError, match="training_rows"):
            check(document, {**arrays, "training_rows": wrong}, *data)
    for block in (None, [], {}, {"distinct": -1, "twins": 0}, {"distinct": hashes.size, "twins": 0, "more": 1}):
        with pytest.raises(CertificateError, match="training_rows"):
            check({**document, "training_rows": block}, arrays, *data)
    for given in ({name: a for name, a in arrays.items() if name != "training_rows"}, {**arrays, "planted": hashes}):
        with pytest.raises(CertificateError, match="training_rows|planted"):
            check(document, given, *data)
    bare = {key: value for key, value in document.items() if key != "training_rows"}
    with pytest.raises(CertificateError, match="training_rows"):
        check(bare, arrays, *data)


def test_every_parameter_of_an_estimator_stands_in_its_table():
    for kind in KINDS:
        for name in kind.estimators:
            known = table_of(kind.schema, "parameters.", name)
            assert set(getattr(gapless, name)().get_params(deep=False)) <= set(known), name


def test_no_two_families_judge_one_kind_of_document():
    judges = {}
    for kind in KINDS:
        for name in kind.estimators:
            for word in kind.certificate_kinds:
                judges.setdefault((name, word), []).append(kind)
    pairs = list(judges)
    for (name, _), kinds in judges.items():
        # Two penalties of one estimator: a problem of the second has entries that the first does not know.
        tables = [table_of(kind.schema, "problem.", name) for kind in kinds]
        assert all(set(later) - set(earlier) for earlier, later in pairwise(tables)), name
        assert len(kinds) <= 2, name
    assert {name for name, _ in pairs} == {fit_of(name).document["estimator"] for name in ZOO}


def test_the_docs_have_the_tables_of_the_judge():
    page = (ROOT / "docs" / "checked.md").read_text(encoding="utf-8")
    assert page == as_markdown(), "python -m gapless.judge.schema_page > docs/checked.md"


# -- files of the first release


@pytest.mark.parametrize("path", sorted(OLD.glob("*.gapless")), ids=lambda path: path.stem)
def test_files_of_the_first_release_load_and_verify(path):
    document, arrays = judge.read(path)
    assert document["version"] == "0.1.0"
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as archive:
        data = {name: archive[name] for name in archive.files}
    X = data.get("X")
    if X is None:
        from scipy import sparse

        X = sparse.csr_matrix((data["X_data"], data["X_indices"], data["X_indptr"]), shape=tuple(data["X_shape"]))
    verdict = check(document, arrays, X, data["y"], data.get("sample_weight"))
    assert verdict, verdict.failed
    assert without_kind(document, arrays) == []
    model = gapless.load(path)
    assert gapless.verify(model, X, data["y"], data.get("sample_weight"))
    assert np.shape(model.predict(X))[0] == X.shape[0]


def test_there_is_a_file_of_every_estimator():
    kept = {judge.read(path)[0]["estimator"] for path in OLD.glob("*.gapless")}
    assert kept == {name for kind in KINDS for name in kind.estimators}
