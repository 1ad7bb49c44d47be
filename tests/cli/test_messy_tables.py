"""Tables as people have them, through train, predict, verify, report and the judge: the columns, the errors and the predictions
are those of the same table written plainly, and what was done is told."""

import contextlib
import csv
import datetime
import io
import json
import uuid
from dataclasses import dataclass, field

import numpy as np
import pytest
from typer.testing import CliRunner

from gapless import judge
from gapless.cli import app
from gapless.cli.commands import compare
from gapless.judge.__main__ import main as judge_main
from tests.cli.messy import CLEAN, Dialect, Table, cancer, diabetes, wine, with_dates, with_gaps

runner = CliRunner()
NEW = 60  # rows of the file to predict


def run(*arguments, code=0):
    result = runner.invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def flags(table, name="smoker", seed=3):
    """Yes and no, with part of the answer."""
    random = np.random.default_rng(seed)
    first = sorted({*table.columns[-1]}, key=str)[0]
    return table.add(name, [bool((value == first) ^ (random.random() < 0.3)) for value in table.columns[-1]], at=1)


def without_labels(table, share=0.04):
    random = np.random.default_rng(9)
    labels = [None if random.random() < share else value for value in table.columns[-1]]
    return Table(list(table.names), [*table.columns[:-1], labels])


def with_ids(table):
    n = len(table.columns[0])
    table = table.add("row", map(str, range(1, n + 1)))
    table = table.add("uuid", uuids(n), at=2)
    table = table.add("note", [""] * n, at=3)
    return table.add("country", ["Österreich"] * n, at=3)


def uuids(n):
    return [str(uuid.UUID(int=7919 * k * k + 2**100)) for k in range(n)]


def times(table, factor):
    columns = [[v * factor if isinstance(v, float) else v for v in column] for column in table.columns]
    return Table(list(table.names), columns)


def with_negatives(table):
    return Table(list(table.names), [[round(v - 300, 1) for v in table.columns[0]], *table.columns[1:]])


def renamed(table, *names):
    return Table([*names, *table.names[len(names) :]], table.columns)


@dataclass
class Case:
    table: Table
    dialect: Dialect
    told: tuple = ()
    clean: Table | None = None  # what the table says, where that is not the table itself
    left_out: tuple = ()
    options: tuple = ()
    model: str = "svm"
    columns: dict = field(default_factory=dict)  # names of columns in the clean table that are others in the messy one


GERMAN = Dialect(";", ",", ".", date="%d.%m.%Y", time=" %H:%M", encoding="cp1252", yes=("ja",), no=("nein",))
US = Dialect(",", ".", ",", date="%m/%d/%Y", time=" %I:%M %p", missing=("N/A",), negative="({})")
TEN = list(range(9))

CASES = {
    "german": Case(
        renamed(with_gaps(with_dates(cancer())), "Größentag"),
        GERMAN.but(
            missing=("k.A.", ""), titles="Bericht über Fälle;;;;\n\n", footer="Summe;;;;;;;;;\n", newline="\r\n"
        ),
        ("decimal commas", "read as cp1252", "above the table", "below the table", "k.A.", "dates, as year"),
        model="auto",
    ),
    "french": Case(
        flags(with_dates(cancer(), times=True)),
        Dialect(";", ",", "\u202f", date="%d/%m/%Y", time=" %H:%M:%S", encoding="utf-8-sig", yes=("oui",), no=("non",)),
        ("decimal commas", "day first"),
        left_out=(),
    ),
    "swiss": Case(
        with_dates(wine()),
        Dialect(
            ";", ".", "'", date="%d.%m.%Y", before={"alcohol": "CHF ", "ash": "Fr. "}, digits={"alcohol": 2, "ash": 2}
        ),
        ("CHF", "Fr."),
        model="logistic",
    ),
    "american": Case(
        with_gaps(with_dates(diabetes(), times=True)),
        US.but(before={"age": "$", "bmi": "$"}, after={"s1": "%"}),
        ("month first", "per cents (12 % is 12)", "$ left out"),
        model="ridge",
    ),
    "indian": Case(
        with_dates(times(cancer(), 1000)),
        Dialect(",", ".", ",", indian=True, before={"mean_area": "₹"}, date="%d-%b-%Y", quote=csv.QUOTE_ALL),
        ("₹ left out",),
    ),
    "unicode text of a spreadsheet": Case(
        with_gaps(cancer()),
        Dialect("\t", ",", ".", encoding="utf-16", missing=("#NV", "")),
        ("utf-16", "decimal commas", "#NV"),
    ),
    "utf-16 without its mark": Case(
        flags(cancer()), GERMAN.but(encoding="utf-16-be", titles="sep=;\n"), ("utf-16-be", "decimal commas")
    ),
    "per cents": Case(
        cancer(), Dialect(";", ",", after={"mean_radius": " %", "mean_texture": "%"}, spaces=True), ("per cents",)
    ),
    "words for no value": Case(
        with_gaps(cancer(), share=0.08),
        Dialect(missing=("-", "?", "unknown", "#N/A", "n/a", ".", "NULL", "--", "None", "\u2014")),
        ("cells for no value", "'unknown'", "'-'"),
    ),
    "names of rows": Case(
        with_ids(cancer()),
        Dialect(index="pandas"),
        ("counts the rows",),
        clean=cancer(),
        left_out=("row", "uuid", "note", "country"),
    ),
    "yes and no": Case(
        flags(flags(cancer(), "paid", 5)),
        Dialect(yes=("Yes", "Y", "true", "1", "YES"), no=("No", "n", "FALSE", "0")),
        ("yes and no in",),
    ),
    "target of yes and no": Case(
        Table(
            [*cancer().names[:-1], "ill"], [*cancer().columns[:-1], [v == "malignant" for v in cancer().columns[-1]]]
        ),
        Dialect(yes=("Yes", "yes", "Y"), no=("No", "no", "N")),
        ("'ill': yes and no in 6 spellings",),
    ),
    "database": Case(
        with_gaps(with_dates(cancer(), times=True), columns=TEN).add("id", uuids(569)),
        Dialect("|", missing=("\\N",), date="%Y-%m-%dT", time="%H:%M:%S+00:00", yes=("t",), no=("f",)),
        ("in UTC", "\\\\N"),
        left_out=("id",),
    ),
    "accounts with a sum in a line of its own": Case(
        cancer(),
        US.but(
            before={"mean_area": "$"},
            titles="Clinic report" + "," * 10 + "\nGenerated 2024-05-01" + "," * 10 + "\n\n",
            footer="Total" + "," * 10 + '\n"$372,631.90"' + "," * 10 + "\n",
        ),
        ("2 lines above", "2 lines below"),
    ),
    "survey": Case(
        renamed(with_gaps(cancer(), columns=[0, 1, 2]), "answer", "answer"),
        Dialect(
            ";",
            ".",
            missing=("prefer not to say", "refused"),
            trailing=True,
            blank_every=50,
            titles="Survey 2021\n# exported 3 May\n",
            encoding="utf-8-sig",
        ),
        ("'answer (2)'", "are no numbers", "prefer not to say", "2 lines above", "without name and value"),
        clean=renamed(with_gaps(cancer(), columns=[0, 1, 2]), "answer", "answer (2)"),
    ),
    "row names of R": Case(
        with_gaps(cancer()),
        Dialect(" ".strip() or ",", missing=("NA",), quote=csv.QUOTE_NONNUMERIC, index="r"),
        ("counts the rows",),
    ),
    "prices to be predicted": Case(
        without_labels(with_gaps(diabetes(), columns=[2])),
        GERMAN.but(after={"progression": " €"}, missing=("",), digits={"progression": 2}),
        ("the label is missing in", "which are left out", "€ left out"),
        model="auto",
    ),
    "mixed line ends": Case(
        cancer(), Dialect(";", ",", spaces=True, blank_every=20, titles="sep=;\n", newline="\r\n"), ("decimal commas",)
    ),
    "units and odd minus signs": Case(
        with_negatives(diabetes()),
        Dialect(negative="\u2212{}", after={"age": " kg"}, digits={"age": 1}),
        ("the unit 'kg' left out",),
        model="ridge",
    ),
    "open to doubt": Case(
        Table(
            ["when", "population", *cancer().names],
            [
                [datetime.datetime(2001 + k % 15, 1 + k % 12, 1 + k % 11) for k in range(569)],
                [float(1000 + 13 * k) for k in range(569)],
                *cancer().columns,
            ],
        ),
        Dialect("\t", ".", ",", date="%d/%m/%Y"),
        (),
        options=("--date-order", "dmy", "--decimal", "."),
    ),
    "all at once": Case(
        with_ids(without_labels(with_gaps(flags(with_dates(wine(), times=True)), columns=range(2, 10)))),
        GERMAN.but(
            missing=("", "-", "unbekannt"),
            yes=("Ja", "ja", "J"),
            no=("Nein", "nein"),
            titles="Wein;;;\n\n",
            trailing=True,
            footer="Gesamt;;;;\n",
            before={"alcohol": "€ "},
            after={"ash": " %"},
            blank_every=30,
        ),
        ("decimal commas", "yes and no in", "the label is missing", "€ left out", "per cents", "above the table"),
        clean=without_labels(with_gaps(flags(with_dates(wine(), times=True)), columns=range(2, 10))),
        left_out=("row", "uuid", "note", "country"),
        options=("--missing", "unbekannt"),
        model="auto",
    ),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two kinds of models are as good a test as five."""
    every, regressions = compare.classifiers, compare.regressions
    monkeypatch.setattr(compare, "classifiers", lambda *given, **named: every(*given, **named)[:2])
    monkeypatch.setattr(compare, "regressions", lambda *given, **named: regressions(*given, **named)[:2])


def error_of(told):
    return told["test"]["error"] if "error" in told["test"] else told["test"]["root_mean_square"]


@pytest.mark.parametrize("name", CASES)
def test_a_messy_table_is_as_good_as_a_clean_one(tmp_path, name):
    case = CASES[name]
    plain = case.clean or case.table
    rows = [i for i, label in enumerate(plain.columns[-1]) if label is not None]
    messy = case.dialect.write(case.table, tmp_path / "messy.csv")
    clean = CLEAN.write(plain.some(rows), tmp_path / "clean.csv")
    settings = ["--model", case.model, "--holdout", "0.25", "--no-report", "--json"]
    trained = {}
    for path in (messy, clean):
        out = path.with_suffix(".gapless")
        options = case.options if path is messy else ()
        result = run("train", path, "--target", plain.names[-1], "-o", out, *settings, *options)
        trained[path] = json.loads(result.stdout)
    ours, theirs = trained[messy], trained[clean]

    # the right columns are in
    document = judge.read(messy.with_suffix(".gapless"))[0]
    kinds = document.get("input", {"columns": [{"name": each, "kind": "number"} for each in document["feature_names"]]})
    columns = {column["name"]: column["kind"] for column in kinds["columns"]}
    used = plain.without(*case.left_out)
    assert [*columns] == used.names[:-1]
    for column, values in zip(used.names, used.columns[:-1]):
        some = next(value for value in values if value is not None)
        expected = (
            "number" if isinstance(some, float) else "date" if isinstance(some, datetime.datetime) else "category"
        )
        assert columns[column] == expected, column
    assert ours["rows"] == theirs["rows"]
    assert ours["features"] == theirs["features"]

    # the error is the clean table's
    assert error_of(ours) == pytest.approx(
        error_of(theirs), abs=0.01 if "error" in ours["test"] else 0.01 * error_of(theirs)
    )

    # what was done is told, by every command
    said = " | ".join([*ours["notes"], *ours["left_out"]])
    for words in case.told:
        assert words in said, f"{words!r} is not in: {said}"
    for column in case.left_out:
        assert f"'{column}'" in said

    # the judge accepts, and so do the commands
    model = messy.with_suffix(".gapless")
    run("verify", model, messy)
    with contextlib.redirect_stdout(io.StringIO()) as verdict:
        assert judge_main([str(model), str(messy)]) == 0
    assert "TRUE" in verdict.getvalue()
    run("report", model, messy, "--no-pictures", "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000
    run("bounds", model, messy, code=0) if "error" in ours["test"] else None

    # a new file in the same dialect, and a clean one: the same predictions
    some = list(range(100, 100 + NEW))
    new = case.dialect.write(case.table.some(some), tmp_path / "new.csv")
    same = CLEAN.write((case.clean or case.table).some(some), tmp_path / "same.csv")
    asked = [word for word in case.options if "decimal" in word or "date" in word]
    asked = [word for each in asked for word in case.options[case.options.index(each) : case.options.index(each) + 2]]
    answers = [run("predict", model, path, *(asked if path is new else ())).stdout for path in (new, same)]
    assert answers[0].splitlines() == answers[1].splitlines()
    assert len(answers[0].splitlines()) == NEW + 1


def test_names_of_300_000_rows_are_left_out(tmp_path):
    random = np.random.default_rng(4)
    n = 300_000
    a, b = random.normal(size=n).round(3), random.normal(size=n).round(3)
    labels = np.where(a + b > 0, "in", "out")
    lines = [
        f"{k * 7919:032x},{k},{x},{y},{label}" for k, (x, y, label) in enumerate(zip(a.tolist(), b.tolist(), labels))
    ]
    path, out = tmp_path / "many.csv", tmp_path / "m.gapless"
    path.write_text("uuid,nr,a,b,where\n" + "\n".join(lines) + "\n")
    told = json.loads(
        run("train", path, "--model", "svm", "--holdout", "0.25", "--no-report", "--json", "-o", out).stdout
    )
    assert "'uuid': more than 65536 different texts, a name of the row: left out" in told["notes"]
    assert told["left_out"] == ["'nr': it counts the rows"]
    assert told["rows"] == 225_000
    assert told["features"] == 2
    assert told["test"]["error"] < 0.01
    run("verify", out, path)


def test_columns_parted_by_spaces_are_said(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("size weight kind\n" + "".join(f"{k:4d}   {k % 7:2d}   {'ab'[k % 2]}\n" for k in range(40)))
    result = run("train", path, "--target", "kind", code=2)
    assert "parted by spaces; write the table with commas, semicolons or tabs" in result.output


def test_each_decision_has_an_option_that_says_otherwise(tmp_path):
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    rows = [
        f"{k};{1 + k % 12}/{1 + k % 11}/2020;1,{100 + 3 * k};{'yes' if k % 3 else 'Yes'};{k % 5 or -999};{k % 2}"
        for k in range(60)
    ]
    rows = [row.replace("yes", "no") if k % 2 else row for k, row in enumerate(rows)]
    path.write_text("nr;when;size;flag;code;y\n" + "\n".join(rows) + "\n")

    def train(*options):
        told = run("train", path, "--model", "svm", "--no-report", "--json", "-o", out, *options).stdout
        columns = {column["name"]: column for column in judge.read(out)[0]["input"]["columns"]}
        run("verify", out, path)
        with contextlib.redirect_stdout(io.StringIO()):
            assert judge_main([str(out), str(path)]) == 0
        return " | ".join([*json.loads(told)["notes"], *json.loads(told)["left_out"]]), columns

    said, columns = train()
    assert "dates with the day first, which" in said
    assert "'size': '1,100' read with a decimal comma (--decimal says otherwise)" in said
    assert "'flag': yes and no in 3 spellings" in said
    assert "'nr': it counts the rows" in said
    assert [*columns] == ["when", "size", "flag", "code"]
    assert columns["flag"]["levels"] == ["no", "yes"]
    assert columns["code"]["indicator"] is False

    said, columns = train(
        "--date-order", "mdy", "--decimal", ".", "--category", "flag", "--keep", "nr", "--missing", "-999"
    )
    assert "says otherwise" not in said
    assert columns["when"]["order"] == "mdy"
    assert columns["size"]["fill"] > 1000
    assert columns["flag"]["levels"] == ["Yes", "no", "yes"]
    assert [*columns] == ["nr", "when", "size", "flag", "code"]
    assert columns["code"]["indicator"] is True

    _, columns = train("--category", "code", "--drop", "size")
    assert columns["code"]["kind"] == "category"
    assert "size" not in columns
    said, columns = train("--number", "flag")
    assert columns["flag"]["kind"] == "number"
    assert "'flag': 60 words for yes and no" in said
    for option in (("--decimal", ";"), ("--date-order", "ymd"), ("--keep", "nobody")):
        assert run("train", path, *option, "-o", out, code=2).exit_code == 2


def test_a_parquet_file_of_typed_columns_and_texts(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = flags(with_gaps(with_dates(cancer(), times=True), columns=[2]))
    messy = Dialect(";", ",", ".", missing=("-",))
    columns = dict(zip(table.names, table.columns))
    columns["mean_area"] = [messy.cell(value, "mean_area", 0) + " €" for value in columns["mean_area"]]
    columns["mean_texture"] = [messy.cell(value, "mean_texture", 0) for value in columns["mean_texture"]]
    path, plain = tmp_path / "data.parquet", CLEAN.write(table, tmp_path / "clean.csv")
    parquet.write_table(pa.table(columns), path)
    told = {}
    for each in (path, plain):
        out = each.with_suffix(".gapless")
        settings = ["--model", "svm", "--holdout", "0.25", "--no-report", "--json"]
        told[each] = json.loads(run("train", each, "--target", "diagnosis", "-o", out, *settings).stdout)
        run("verify", out, each)
    assert error_of(told[path]) == pytest.approx(error_of(told[plain]), abs=0.01)
    said = " | ".join(told[path]["notes"])
    for words in (
        "'mean_texture', 'mean_area': decimal commas",
        "€ left out",
        "dates, as year",
        "cells for no value ('-'",
    ):
        assert words in said
    answers = [run("predict", path.with_suffix(".gapless"), each).stdout for each in (path, plain)]
    assert answers[0] == answers[1]
