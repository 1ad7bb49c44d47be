"""Random tables in random dialects are read back as they were, and the judge makes the same features of the file."""

import csv
import datetime
import itertools
import random

import numpy as np
import pytest

from gapless.files import Encoding, Expected, read_csv
from gapless.files.cells.cells import Style
from gapless.files.cells.dates import is_date, is_time, parts_of, read_both
from gapless.files.cells.labels import known_spellings, merged_spellings
from gapless.files.cells.notation import is_missing, read_both_marks, unit_among, without_unit
from gapless.judge.files import cells as judge_cells
from gapless.judge.files import dates as judge_dates
from gapless.judge.files import numerals as judge_numerals
from gapless.judge.files.data_file import read_data as judge_read
from tests.cli.messy import Dialect, Table

WORDS = ["red", "light blue", "grün", "a;b", "x,y", 'say "hi"', "10 Downing St.", "1st", "N.Y."]
NO_VALUE = ["", "-", "--", "?", "unknown", "#N/A", "n/a", "NULL", "k.A.", ".", "nan", "\u2014", "missing"]


def read_date(text, order):
    return read_both(text)[order != "dmy"]


def read_number(text, mark):
    return read_both_marks(text)[mark == ","]


def a_table(draw):
    n = draw.randrange(40, 160)
    columns = {
        "money": [round(draw.uniform(-1, 1) * 10 ** draw.randrange(1, 8), 2) for _ in range(n)],
        "share": [round(draw.uniform(0, 100), 1) for _ in range(n)],
        "count": [float(draw.randrange(10 ** draw.randrange(1, 8))) for _ in range(n)],
        "small": [draw.uniform(-1, 1) for _ in range(n)],
        "when": [datetime.datetime(1950, 1, 1) + datetime.timedelta(days=draw.randrange(30_000)) for _ in range(n)],
        "word": [draw.choice(WORDS) for _ in range(n)],
        "flag": [draw.random() < 0.5 for _ in range(n)],
    }
    times = [datetime.timedelta(minutes=draw.randrange(1, 1440)) for _ in range(n)]
    columns["at"] = [datetime.datetime(2015, 1, 1) + datetime.timedelta(days=draw.randrange(3000)) + t for t in times]
    names = [name for name in columns if name == "money" or draw.random() < 0.8]
    draw.shuffle(names)
    kept = [[None if name != "money" and draw.random() < 0.06 else v for v in columns[name]] for name in names]
    return Table([*names, "outcome"], [*kept, [draw.choice(["in", "out"]) for _ in range(n)]])


def a_dialect(draw):
    separator = draw.choice([",", ";", "\t", "|"])
    decimal = draw.choice([".", ","])
    sign = draw.choice(["", "€ ", "$", "CHF ", "£"])
    day_first = draw.random() < 0.5
    date = draw.choice(["%d.%m.%Y", "%Y-%m-%d", "%d %b %Y", "%d/%m/%Y" if day_first else "%m/%d/%Y"])
    encoding = draw.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
    missing = draw.sample([word for word in NO_VALUE if encoding != "cp1252" or word != "\u2014"], 2)
    return Dialect(
        separator=separator,
        decimal=decimal,
        thousands=draw.choice(["", ".", "'", " ", "\u00a0"] if decimal == "," else ["", ",", "'", " "]),
        before={"money": sign} if encoding != "utf-16-le" else {},
        after={"share": draw.choice(["%", " %", ""]), "count": draw.choice(["", " kr"])},
        negative=draw.choice(["-{}", "({})", "{}-"]),
        date=date,
        time=draw.choice([" %H:%M", " %I:%M %p"]),
        missing=("", *missing),
        yes=("yes", "Yes", "Y"),
        no=("no", "NO"),
        encoding=encoding,
        newline=draw.choice(["\n", "\r\n"]),
        titles=draw.choice(["", "", "A title\n\n", "# note\n# another note\n"]),
        footer=draw.choice(["", "", "Source: somebody\n"]),
        trailing=draw.random() < 0.2,
        blank_every=draw.choice([0, 0, 13]),
        spaces=draw.random() < 0.3,
        quote=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        index=draw.choice([None, None, "pandas"]),
        digits={"money": 2},
    )


def value_of(value):
    if value is None:
        return np.nan
    if isinstance(value, datetime.datetime):
        return (value - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    return float(value)


@pytest.mark.parametrize("seed", range(60))
def test_any_table_in_any_dialect(tmp_path, seed, monkeypatch):
    """By the compiled scanner and, for every third table, by the one in Python."""
    monkeypatch.setattr("gapless.files.csv.plain_scan.kept", lambda _: bool(seed % 3))
    monkeypatch.setattr("gapless.files.csv.plain_scan.awake", lambda: bool(seed % 3))
    draw = random.Random(seed)
    table, dialect = a_table(draw), a_dialect(draw)
    path = dialect.write(table, tmp_path / "data.csv")
    data = read_csv(path, target="outcome", typed=True)
    assert data.names == table.names[:-1]
    assert data.y.tolist() == table.columns[-1]
    for j, name in enumerate(data.names):
        wanted, found = table.columns[j], data.X[:, j]
        if name in ("word", "flag"):
            known = {True: "yes", False: "no"} if name == "flag" else {}
            texts = [None if np.isnan(code) else data.levels[j][int(code)] for code in found]
            # among texts a word for no value is a text, unless it is one of the usual ones
            usual = {"?", "#N/A", "n/a", "NULL", "nan", ""}
            gaps = [dialect.missing[(i + j) % len(dialect.missing)] for i in range(len(wanted))]
            told = [
                (None if gaps[i] in usual else gaps[i]) if v is None else known.get(v, v) for i, v in enumerate(wanted)
            ]
            texts = [text.lower() if name == "flag" and text in ("Yes", "NO") else text for text in texts]
            told = [{"y": "yes"}.get(text, text) for text in told]
            if name == "flag" and len({*data.levels[j]}) > 2:
                continue  # a word for no value among them: they are texts as they stand
            assert texts == told
        else:
            np.testing.assert_array_equal(found, [value_of(value) for value in wanted], err_msg=name)

    encoding = Encoding.fit(data)
    document = {
        "n_features": encoding.width,
        "feature_names": encoding.names,
        "target": "outcome",
        "classes": {"type": "str", "values": ["in", "out"]},
        "input": encoding.document(),
    }
    theirs = judge_read(path, document)
    np.testing.assert_array_equal(theirs.X, encoding.transform(data))
    assert theirs.y.tolist() == data.y.tolist()

    # once more as a model's file, and as a clean one
    expected = Expected.from_document(document)
    again = read_csv(path, expected=expected)
    np.testing.assert_array_equal(encoding.transform(again), encoding.transform(data))


# ------------------------------------------------------------------ cells, against the judge's own reading of them
NUMBERS = [
    ("1,5", None, 1.5),
    ("1.234,5", None, 1234.5),
    ("1,234.5", 1234.5, None),
    ("1 234,5", None, 1234.5),
    ("1\u202f234,5", None, 1234.5),
    ("1'234.50", 1234.5, None),
    ("1\u2019234", 1234.0, 1234.0),
    ("12,34,567", 1234567.0, None),
    ("1,234", 1234.0, 1.234),
    ("1.234", 1.234, 1234.0),
    ("0,123", None, 0.123),
    ("1.234.567", None, 1234567.0),
    ("1.2.3", None, None),
    ("12.34.56", None, None),
    ("31.12.1999", None, None),
    ("€ 5", 5.0, 5.0),
    ("1.000,00 EUR", None, 1000.0),
    ("US$1,000", 1000.0, 1.0),
    ("(1,234.50)", -1234.5, None),
    ("(-5)", None, None),
    ("5-", -5.0, -5.0),
    ("5,-", None, 5.0),
    ("\u22123", -3.0, -3.0),
    ("12 %", 12.0, 12.0),
    ("1,5E+03", None, 1500.0),
    ('="00123"', 123.0, 123.0),
    ("0123 456", None, None),
    ("1_000", None, None),
    ("--5", None, None),
    ("5 kg", None, None),
    ("1e999", None, None),
    ("$ (415.12)", -415.12, None),
    ("(1.234,50) €", None, -1234.5),
    ("$ -", None, None),
    ("1,50,000/-", 150000.0, None),
    ("1.2×10^5", 1.2e5, None),
    ("3,4 x 10^-3", None, 3.4e-3),
]
DATES = [
    ("2020-01-31", 18292.0, 18292.0),
    ("31.12.1999", 10956.0, 10956.0),
    ("12/31/2020", None, 18627.0),
    ("3/4/20", 18355.0, 18325.0),
    ("3/4/69", -273.0, -303.0),
    ("31/12/2020 12:00", 18627.5, None),
    ("2020-01-31T12:00:00Z", 18292.5, 18292.5),
    ("2020-01-31 14:00:00.000+02:00", 18292.5, 18292.5),
    ("06:00", 0.25, 0.25),
    ("31-Dec-20", 18627.0, 18627.0),
    ("Dec 31, 2020", 18627.0, 18627.0),
    ("31. Dez. 2020", 18627.0, 18627.0),
    ("1/31/2020 6:00 PM", None, 18292.75),
    ("2020-02-30", None, None),
    ("2020-01", 18262.0, 18262.0),
    ("25:00", 25 / 24, 25 / 24),  # a duration
    ("2020-01-31 25:00", None, None),
    ("1999", None, None),
    ("1.5", None, None),
    ("31.12.1999 6.00 Uhr", 10956.25, 10956.25),
    ("31/12/2020 12h00", 18627.5, None),
    ("31.12.1999 - 06:00", 10956.25, 10956.25),
    ("12/31/2020, 6:00:00\u202fPM", None, 18627.75),
    ("31/12/2020 6:00 p. m.", 18627.75, None),
    ("Tue Dec 31 06:00:00 UTC 2019", 18261.25, 18261.25),
    ("31/Dec/2019:06:00:00 +0000", 18261.25, 18261.25),
    ("31DEC2019", 18261.0, 18261.0),
    ("20191231T060000Z", 18261.25, 18261.25),
    ("2019-12-31T07:00:00+01:00[Europe/Berlin]", 18261.25, 18261.25),
    ("2019-12-31 07:00 CET", 18261.25, 18261.25),
    ("2019-12-30 24:00", 18261.0, 18261.0),
    ("1er janvier 2020", 18262.0, 18262.0),
    ("31 de dezembro de 2019", 18261.0, 18261.0),
    ("terça-feira, 31 de dezembro de 2019", 18261.0, 18261.0),
    ("31st of December 2019", 18261.0, 18261.0),
    ("Jan 2020", 18262.0, 18262.0),
    ("Jan-20", 18262.0, 18262.0),
    ("01/2020", 18262.0, 18262.0),
    ("2019-Dec-31", 18261.0, 18261.0),
    ("2 days 06:00:00", 2.25, 2.25),
    ("5 h", None, None),
    ("14.30", None, None),
    ("20191231", None, None),
]


@pytest.mark.parametrize(("text", "point", "comma"), NUMBERS)
def test_numbers(text, point, comma):
    for reader in (read_number, judge_numerals.numeral):
        assert (reader(text, "."), reader(text, ",")) == (point, comma)


@pytest.mark.parametrize(("text", "day_first", "month_first"), DATES)
def test_dates(text, day_first, month_first):
    for reader in (read_date, judge_dates.moment):
        assert (reader(text, "dmy"), reader(text, "mdy")) == (day_first, month_first)
    assert is_date(text) is (day_first is not None or month_first is not None)


def test_the_judge_reads_every_cell_alike():
    """Random texts of the signs that numbers and dates have, most of which are neither."""
    draw = random.Random(5)
    signs = [*"0123456789", "12", "1234", "000", *".,' -+()%€$", "EUR", "Fr.", "e", "E5", "\u2212", "\u00a0", '="', '"']
    for _ in range(20_000):
        text = "".join(draw.choice(signs) for _ in range(draw.randrange(1, 8))).strip()
        for mark in ".,":
            assert read_number(text, mark) == judge_numerals.numeral(text, mark), text
        assert is_missing(text) is judge_cells.is_missing(text), text
    signs = [
        "1",
        "2",
        "31",
        "12",
        "2020",
        "99",
        *"-/.: ",
        ", ",
        "t",
        "z",
        "+02:00",
        "dec",
        "Mar",
        "mon ",
        "10:20",
        "10:20:30.5",
        "pm",
    ]
    for _ in range(20_000):
        text = "".join(draw.choice(signs) for _ in range(draw.randrange(1, 9))).strip()
        for order in ("dmy", "mdy"):
            assert read_date(text, order) == judge_dates.moment(text, order), text


def test_parts_of_dates_are_the_calendars():
    days = [datetime.datetime(1969, 12, 31, 18), datetime.datetime(2024, 2, 29, 6), datetime.datetime(1900, 3, 1)]
    x = np.array([value_of(day) for day in days])
    for parts in (parts_of(x), judge_dates.parts_of(x)):
        assert parts["year"].tolist() == [day.year for day in days]
        assert parts["month"].tolist() == [day.month for day in days]
        assert parts["weekday"].tolist() == [day.weekday() for day in days]
        assert parts["hour"].tolist() == [day.hour for day in days]
        assert parts["days"].tolist() == x.tolist()
    assert np.isnan(parts_of(np.array([np.nan]))["year"]).all()


def merged(texts):
    return merged_spellings(texts, "column")[0]


def test_words_for_yes_and_no():
    assert merged(["Yes", "no", "NO"]) == {"Yes": "Yes", "no": "no", "NO": "no"}
    assert merged(["an", "An", "aus"]) == {"an": "an", "An": "an", "aus": "aus"}
    assert merged(["yes", "no"]) == {}
    assert merged(["no", "si", "yes"]) == {}  # of two languages: perhaps three answers
    assert merged(["N", "S", "O"]) == {}
    assert known_spellings(["True", "0", "maybe"], ["no", "yes"]) == {"True": "yes", "0": "no"}


def test_words_that_differ_in_capitals_alone():
    cases, said = merged_spellings(["Light  Blue", "light blue", "LIGHT BLUE", "red"], "colour")
    assert cases == dict.fromkeys(["Light  Blue", "light blue", "LIGHT BLUE"], "light blue")
    assert said.startswith(
        "'colour': texts that differ in capital letters or spaces alone are one ('LIGHT BLUE' is 'light blue'"
    )
    assert merged(["AA", "Aa", "aa"]) == {}
    assert merged(["AaBb", "AABB"]) == {}
    assert known_spellings(["RED", "ReD", "blue"], ["red", "green"]) == {"RED": "red"}
    assert known_spellings(["RED"], ["red", "Red"]) == {}


def test_spellings_are_known_to_the_judge_too():
    levels_of = (
        ["no", "yes"],
        ["n", "j"],
        ["a", "b"],
        ["an", "aus"],
        ["red", "Green", "aa"],
        ["red", "Red", "YES"],
        ["нет", "да"],
    )
    texts_of = (
        ["Ja", "NEIN", "oui"],
        ["y", "n", None],
        ["RED", "green", "AA", "rEd", "Yes"],
        ["Да", "off", "AUS", "no  "],
    )
    for levels, texts in itertools.product(levels_of, texts_of):
        names = known_spellings([text for text in texts if text], levels)
        assert judge_cells.as_levels(texts, levels) == [names.get(text, text) for text in texts]


def test_styles_decide_by_the_cells_that_only_one_mark_can_read():
    assert Style(choice=",").read("1.5") == (1.5, "against")
    assert Style(choice=",").read("1.500") == (1500.0, "chosen")
    assert Style().read("1.500") == (1.5, "chosen")
    assert Style(choice=",").read("1.500,0") == (1500.0, "sure")
    assert Style(unit=" kg").read("72 kg") == (72.0, "same")
    assert Style(unit="days|day").read("1 day") == (1.0, "same")
    assert Style().read("TRUE") == (1.0, "flag")
    assert Style().read("nein") == (0.0, "flag")
    assert Style().read("n")[1] == "bad"
    assert Style().read("inf")[1] == "infinite"
    assert Style().read("high")[1] == "bad"


def test_units():
    assert unit_among(["5 kg", "7kg", "1,5 kg"]) == "kg"
    assert unit_among(["5 m3", "7 m3"]) == "m3"
    assert unit_among(["5 kg/m²", "7 kg/m²"]) == "kg/m²"
    assert unit_among(["1 day", "5 days", "12 days"]) == "days|day"
    assert unit_among(["5 kg", "7"]) == "kg"
    assert unit_among(["5 k", "7"]) is None  # 5,000 and 7
    assert unit_among(["5 mW", "7 MW"]) is None
    assert unit_among(["5 kg", "many", "few"]) is None
    assert without_unit("5 kg", "kg") == "5 "
    for texts, unit in ((["1 day", "5 days"], "days|day"), (["5 kg", "7kg", "8"], "kg")):
        theirs = judge_cells.numbers(texts, ".", unit, ())
        assert theirs.tolist() == [Style(unit=unit).read(text)[0] for text in texts]


def test_times_are_no_dates():
    assert all(map(is_time, ("12:30", "36:15:10", "2 days 10:20:30", "14h30")))
    assert not any(map(is_time, ("2020-01-31", "2020-01-31 12:30", "5 h")))


def test_both_readers_agree_on_odd_texts():
    """Cells that are nearly numbers and dates: what one of the readers takes the other does."""
    draw = random.Random(8)
    texts = [text for text, *_ in (*NUMBERS, *DATES)]
    signs = [*" .:-/,0123456789THhapmz()€$%'", "kr.", "Mai", " de ", "+02:00", "/-", "x10^"]
    for _ in range(6000):
        text = [*draw.choice(texts)]
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(text) + 1)
            text[at : at + draw.randrange(2)] = [draw.choice(signs)] if draw.random() < 0.7 else []
        bare = "".join(text).strip()
        assert read_both(bare) == (judge_dates.moment(bare, "dmy"), judge_dates.moment(bare, "mdy")), bare
        assert read_both_marks(bare) == (judge_numerals.numeral(bare, "."), judge_numerals.numeral(bare, ",")), bare
        assert is_missing(bare) == judge_cells.is_missing(bare), bare
