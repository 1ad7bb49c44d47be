"""Tables as people have them, through train, predict, verify, report and the judge: the columns, the errors and the predictions are
those of the same table written plainly, and what was done is told."""

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
from gapless.cli import app, compare
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
    table = table.add("uuid", [str(uuid.UUID(int=7919 * k + 2**100)) for k in range(n)], at=2)
    table = table.add("note", [""] * n, at=3)
    return table.add("country", ["Österreich"] * n, at=3)


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
        GERMAN.but(missing=("k.A.", ""), titles="Bericht über Fälle;;;;\n\n", footer="Summe;;;;;;;;;\n", newline="\r\n"),
        ("decimal commas", "read as cp1252", "above the table", "below the table", "k.A.", "dates, as year"),
    ),
    "french": Case(
        flags(with_dates(cancer(), times=True)),
        Dialect(";", ",", "\u202f", date="%d/%m/%Y", time=" %H:%M:%S", encoding="utf-8-sig", yes=("oui",), no=("non",)),
        ("decimal commas", "day first"),
        left_out=(),
    ),
    "swiss": Case(
        with_dates(wine()),
        Dialect(";", ".", "'", date="%d.%m.%Y", before={"alcohol": "CHF ", "ash": "Fr. "}, digits={"alcohol": 2, "ash": 2}),
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
        Table(cancer().names, [[v * 1000 if isinstance(v, float) else v for v in column] for column in with_dates(cancer()).without("when").columns]).add(
            "when", with_dates(cancer()).columns[0]
        ),
        Dialect(",", ".", ",", indian=True, before={"mean_area": "₹"}, date="%d-%b-%Y", quote=csv.QUOTE_ALL),
        ("₹ left out",),
    ),
    "unicode text of a spreadsheet": Case(
        with_gaps(cancer()), Dialect("\t", ",", ".", encoding="utf-16", missing=("#NV", "")), ("utf-16", "decimal commas", "#NV")
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
        Table([*cancer().names[:-1], "ill"], [*cancer().columns[:-1], [v == "malignant" for v in cancer().columns[-1]]]),
        Dialect(yes=("Yes", "yes", "Y"), no=("No", "no", "N")),
        ("'ill': yes and no in 6 spellings",),
    ),
    "database": Case(
        with_gaps(with_dates(cancer(), times=True), columns=TEN).add("id", [str(uuid.UUID(int=k * k + 2**90)) for k in range(569)]),
        Dialect("|", missing=("\\N",), date="%Y-%m-%dT", time="%H:%M:%S+00:00", yes=("t",), no=("f",)),
        ("in UTC", "\\\\N"),
        left_out=("id",),
    ),
    "survey": Case(
        renamed(with_gaps(cancer(), columns=[0, 1, 2]), "answer", "answer"),
        Dialect(
            ";", ".", missing=("prefer not to say", "refused"), trailing=True, blank_every=50,
            titles="Survey 2021\n# exported 3 May\n", encoding="utf-8-sig",
        ),
        ("'answer (2)'", "are no numbers", "prefer not to say", "2 lines above", "without name and value"),
        clean=renamed(with_gaps(cancer(), columns=[0, 1, 2]), "answer", "answer (2)"),
    ),  # fmt: skip
    "row names of R": Case(
        with_gaps(cancer()),
        Dialect(" ".strip() or ",", missing=("NA",), quote=csv.QUOTE_NONNUMERIC, index="r"),
        ("counts the rows",),
    ),
    "prices to be predicted": Case(
        without_labels(with_gaps(diabetes(), columns=[2])),
        GERMAN.but(after={"progression": " €"}, missing=("",), digits={"progression": 2}),
        ("the label is missing in", "which are left out", "€ left out"),
        model="ridge",
    ),
    "mixed line ends": Case(
        cancer(), Dialect(";", ",", spaces=True, blank_every=20, titles="sep=;\n", newline="\r\n"), ("decimal commas",)
    ),
    "units and odd minus signs": Case(
        Table(diabetes().names, [[round(v - 300, 1) if j == 0 else v for v in column] for j, column in enumerate(diabetes().columns)]),
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
            missing=("", "-", "unbekannt"), yes=("Ja", "ja", "J"), no=("Nein", "nein"), titles="Wein;;;\n\n", trailing=True,
            footer="Gesamt;;;;\n", before={"alcohol": "€ "}, after={"ash": " %"}, blank_every=30,
        ),
        ("decimal commas", "yes and no in", "the label is missing", "€ left out", "per cents", "above the table"),
        clean=without_labels(with_gaps(flags(with_dates(wine(), times=True)), columns=range(2, 10))),
        left_out=("row", "uuid", "note", "country"),
        options=("--missing", "unbekannt"),
        model="auto",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two kinds of models are as good a test as five."""
    every, regressions = compare.classifiers, compare.regressions
    monkeypatch.setattr(compare, "classifiers", lambda: every()[:2])
    monkeypatch.setattr(compare, "regressions", lambda: regressions()[:2])


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
