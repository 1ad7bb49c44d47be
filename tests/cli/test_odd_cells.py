"""One oddity each, in cells, names and line ends: the table is the plain one, for the readers of the library and of the judge."""

import contextlib
import datetime
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gapless import judge, read_data
from gapless.cli import app
from gapless.errors import DataError
from gapless.judge.__main__ import main as judge_main

runner = CliRunner()
N = 120
DRAW = np.random.default_rng(3)
Z = DRAW.normal(size=N)
SIZE = [round(float(v), 2) for v in 300 * Z + DRAW.normal(size=N) + 1500]
COLOUR = [("red", "blue", "green")[int(k)] for k in DRAW.integers(0, 3, N)]
WHEN = [datetime.datetime(2019, 1, 1) + datetime.timedelta(days=int(k), hours=int(k) % 24) for k in 300 * Z + 600]
LABEL = ["in" if v > 0 else "out" for v in Z]


def run(*arguments, code=0):
    result = runner.invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def text_of(names, columns, separator=","):
    return "".join(separator.join(cells) + "\n" for cells in [names, *zip(*columns, strict=True)])


PLAIN = {
    "size": list(map(repr, SIZE)),
    "colour": COLOUR,
    "when": [each.strftime("%Y-%m-%d %H:%M:%S") for each in WHEN],
    "label": LABEL,
}


def table(separator=",", **changed):
    columns = {**PLAIN, **changed}
    return text_of([*columns], columns.values(), separator)


def grouped(value):
    return f"{abs(value):,.2f}"


MARCH = ["Jan", "Feb", "März", "April", "Mai", "Juni", "Juli", "Aug", "Sept", "Okt", "Nov", "Dez"]
ODD = {
    "accounts": (table(";", size=[f" $ ({grouped(v)}) " if v < 0 else f" $ {grouped(v)} " for v in SIZE]), "$ left out"),
    "a unit that some lack": (table(size=[f"{v} kg" if k % 3 else f"{v}" for k, v in enumerate(SIZE)]), "the unit 'kg'"),
    "a unit from the 101st row on": (table(size=[f"{v} kg" if k > 100 else f"{v}" for k, v in enumerate(SIZE)]), "the unit"),
    "a unit with and without a blank": (table(size=[f"{v}{' ' * (k % 2)}kg/m²" for k, v in enumerate(SIZE)]), "'kg/m²'"),
    "a unit that ends with a digit": (table(size=[f"{v} m3" for v in SIZE]), "the unit 'm3' left out"),
    "powers of ten": (table(size=[f"{v / 100:.4f} × 10^2" for v in SIZE]), ""),
    "rupees": (table("\t", size=[f"Rs. {v}/-" for v in SIZE]), "Rs. left out"),
    "capitals": (table(colour=[(c, c.upper(), c.title())[k % 3] for k, c in enumerate(COLOUR)]), "'BLUE' is 'blue'"),
    "signs that nobody sees": (table(colour=[("", "\u200b")[k % 2] + c for k, c in enumerate(COLOUR)]), "are one"),
    "German months": (table(when=[f"{d.day}. {MARCH[d.month - 1]} {d.year}, {d.hour}.00 Uhr" for d in WHEN]).replace(
        ", ", " um "), "dates, as year"),
    "a log": (table(when=[d.strftime("%d/%b/%Y:%H:%M:%S +0000") for d in WHEN]), "in UTC"),
    "ctime": (table(when=[d.strftime("%a %b %d %H:%M:%S %Y") for d in WHEN]), "dates, as year"),
    "SAS": (table(when=[d.strftime("%d%b%Y:%H:%M:%S").upper() for d in WHEN]), "dates, as year"),
    "a browser": (table("\t", when=[d.strftime("%m/%d/%Y, %I:%M:%S\u202f%p") for d in WHEN]), "month first"),
    "French hours": (table(";", when=[d.strftime("%d/%m/%Y %Hh%M") for d in WHEN]), "day first"),
    "compact times": (table(when=[d.strftime("%Y%m%dT%H%M%SZ") for d in WHEN]), "in UTC"),
    "names behind a hash": ("# " + table(), ""),
    "names of two lines": (table().replace("size", '"size\n(mm)"', 1), ""),
    "blanks before quotes": (table().replace(",", '", "').replace("\n", '"\n"')[:-1].join(('"', "")), ""),
    "blanks around quotes": (table().replace(",", '" , "').replace("\n", '" \n"')[:-1].join(('"', "")), ""),
    "averages below": (table() + "Average,,,\nAnzahl,120,,\n", "2 lines below the table left out"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_table_is_the_plain_one(tmp_path, name):
    text, told = ODD[name]
    odd, plain, out = tmp_path / "odd.csv", tmp_path / "plain.csv", tmp_path / "odd.gapless"
    odd.write_text(text, encoding="utf-8")
    plain.write_text(table(), encoding="utf-8")
    ours, theirs = (read_data(path, target="label", typed=True) for path in (odd, plain))
    days = [j for j, column in enumerate(PLAIN) if column == "when"]
    np.testing.assert_allclose(ours.X, theirs.X, rtol=0, atol=1e-9)
    assert ours.levels == theirs.levels
    assert ours.reading.dated(days[0])
    assert ours.y.tolist() == theirs.y.tolist()
    assert [each.split("\n")[0] for each in ours.names] == theirs.names
    answer = json.loads(
        run("train", odd, "--target", "label", "--model", "svm", "--no-report", "--json", "-o", out).stdout
    )
    assert told in " | ".join(answer["notes"])
    run("verify", out, odd)
    with contextlib.redirect_stdout(io.StringIO()) as verdict:
        assert judge_main([str(out), str(odd)]) == 0
    assert "TRUE" in verdict.getvalue()
    predicted = [run("predict", out, path).stdout for path in (odd, *([plain] if ours.names == theirs.names else []))]
    assert len({*predicted}) == 1


def test_labels_in_capitals_are_the_same_labels(tmp_path):
    labels = [
        (each, each.upper(), f"{each} ", each.title())[k % 4]
        for k, each in enumerate(["good" if v > 0 else "bad" for v in Z])
    ]
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    path.write_text(table(label=labels))
    told = json.loads(
        run("train", path, "--target", "label", "--model", "svm", "--no-report", "--json", "-o", out).stdout
    )
    assert told["classes"] == ["bad", "good"]
    assert any(
        "'label': texts that differ in capital letters or spaces alone are one ('BAD' is 'bad'" in each
        for each in told["notes"]
    )
    with contextlib.redirect_stdout(io.StringIO()):
        assert judge_main([str(out), str(path)]) == 0
    assert {*run("predict", out, path).stdout.split()} == {"prediction", "bad", "good"}


def test_a_target_with_a_unit_is_of_numbers_and_a_few_stars_are_classes(tmp_path):
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    path.write_text(table(label=[f"{v} kg" if k % 5 else f"{v}" for k, v in enumerate(SIZE)]))
    told = json.loads(
        run("train", path, "--target", "label", "--model", "ridge", "--no-report", "--json", "-o", out).stdout
    )
    assert told["classes"] is None
    assert "'label': the unit 'kg' left out" in told["notes"]
    with contextlib.redirect_stdout(io.StringIO()):
        assert judge_main([str(out), str(path)]) == 0
    path.write_text(table(label=["1 star" if v < 0 else "2 stars" for v in Z]))
    told = json.loads(
        run("train", path, "--target", "label", "--model", "svm", "--no-report", "--json", "-o", out).stdout
    )
    assert told["classes"] == ["1 star", "2 stars"]


def test_thousands_that_could_be_fractions_are_told(tmp_path):
    """Between semicolons 60.374 may be sixty thousand: what is taken is said, where no cell decides."""
    path = tmp_path / "data.csv"
    path.write_text(table(";", size=[f"{60 + k}.{100 + 7 * k:03}" for k in range(N)]))
    assert (
        "'size': '60.100' read with a decimal point (--decimal says otherwise)"
        in read_data(path, target="label", typed=True).told
    )
    path.write_text(table(";"))
    assert not any("--decimal" in each for each in read_data(path, target="label", typed=True).told)


def test_a_new_file_is_told_what_predict_can_be_asked_for(tmp_path):
    path, new, out = tmp_path / "data.csv", tmp_path / "new.csv", tmp_path / "m.gapless"
    labels = [None if k % 20 == 3 else each for k, each in enumerate(LABEL)]
    path.write_text(table(name=[f"row {k}" for k in range(N)], label=[each or "" for each in labels]))
    told = json.loads(
        run("train", path, "--target", "label", "--model", "svm", "--no-report", "--json", "-o", out).stdout
    )
    assert told["left_out"] == ["'name': 114 different texts in 114 rows"]  # those of rows without a label do not count
    new.write_text("size,colour,when\n1500,red,05/03/2019\nbig,mauve,yesterday\n1500,blue,2019-05-03\n")
    said = " ".join(run("predict", out, new).stderr.split())
    assert "'size': 1 of 3 cells is no number ('big'), taken as missing gapless" in said
    assert "'when': 1 of 3 cells is no date ('yesterday'), taken as missing gapless" in said
    assert "'05/03/2019' leaves open (--date-order says otherwise)" in said
    assert "'colour': 1 row with a text not seen in training ('mauve'), 0 in all its features" in said
    assert "--category" not in said


def test_weights_with_decimal_commas(tmp_path):
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    size = [repr(v).replace(".", ",") for v in SIZE]
    path.write_text(table(";", size=size, weight=[f"{1 + k % 3},5" for k in range(N)]))
    run("train", path, "--target", "label", "--weights", "weight", "--model", "svm", "--no-report", "-o", out)
    run("verify", out, path)
    with contextlib.redirect_stdout(io.StringIO()):
        assert judge_main([str(out), str(path)]) == 0
    path.write_text(
        "a|b|weight|label\n" + "".join(f"{v}|{k % 7}|{1 + k % 3},5|{LABEL[k]}\n" for k, v in enumerate(SIZE))
    )
    run("train", path, "--target", "label", "--weights", "weight", "--model", "svm", "--no-report", "-o", out)
    with contextlib.redirect_stdout(io.StringIO()):
        assert judge_main([str(out), str(path)]) == 0


def test_an_encoding_that_is_given_is_given_to_the_judge_too(tmp_path):
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    path.write_bytes(table(colour=[{"red": "红", "green": "绿", "blue": "蓝"}[c] for c in COLOUR]).encode("gbk"))
    told = run(
        "train", path, "--target", "label", "--encoding", "gbk", "--model", "svm", "--no-report", "-o", out
    ).stdout
    assert "--encoding gbk" in " ".join(told.split()).partition("next")[2]
    run("verify", out, path, "--encoding", "gbk")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as error:
        assert judge_main([str(out), str(path), "--encoding", "gbk"]) == 0
        assert judge_main([str(out), str(path)]) == 2
        assert judge_main([str(out), str(path), "--encoding", "nowhere"]) == 2
    assert "unknown encoding: nowhere" in error.getvalue()


def test_a_year_is_the_name_of_a_column(tmp_path):
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    path.write_text(table().replace("label", "2021", 1))
    told = json.loads(
        run("train", path, "--target", "2021", "--model", "svm", "--no-report", "--json", "-o", out).stdout
    )
    assert told["target"] == "2021"
    with contextlib.redirect_stdout(io.StringIO()):
        assert judge_main([str(out), str(path)]) == 0
    years = tmp_path / "years.csv"
    years.write_text("2019,2020,2021\n" + "".join(f"{v},{v * v:.3f},{int(v > 1500)}\n" for v in SIZE))
    told = json.loads(
        run("train", years, "--target", "2021", "--model", "svm", "--no-report", "--json", "-o", out).stdout
    )
    assert told["rows"] == N
    assert "outside the 4 columns" in run("train", path, "--target", "2022", "-o", out, code=2).output


def test_the_sign_of_any_currency(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(table(";", size=[f"{v} €".replace(".", ",") for v in SIZE]).encode("iso8859-15"))
    data = read_data(path, target="label", typed=True)  # ¤ in other encodings
    np.testing.assert_allclose(data.X[:, 0], SIZE)
    assert "'size': ¤ left out" in data.told


def test_durations_keep_their_length(tmp_path):
    hours = [abs(v) / 50 for v in SIZE]
    path = tmp_path / "data.csv"
    path.write_text(table(size=[f"{int(v)}:{int(v * 60) % 60:02}" for v in hours]))
    data = read_data(path, target="label", typed=True)
    np.testing.assert_allclose(24 * data.X[:, 0], [int(v * 60) / 60 for v in hours], atol=1e-9)
    assert "'size': times, as hour (and days, where they are longer)" in data.told


def test_a_header_that_stands_again_is_refused(tmp_path):
    path = tmp_path / "data.csv"
    lines = table().splitlines(keepends=True)
    path.write_text("".join([*lines[:70], lines[0], *lines[70:]]))
    with pytest.raises(
        DataError, match="line 71: the header stands again, as where tables are put one behind the other"
    ):
        read_data(path, target="label", typed=True)
    long = lines[30].replace(lines[30].split(",")[0], "0." + 200_000 * "3", 1)
    path.write_text("".join([*lines[:30], long, *lines[31:70], lines[0], *lines[70:]]))
    with pytest.raises(
        DataError, match="line 71: the header stands again"
    ):  # below a cell that Python's csv cannot take
        read_data(path, target="label", typed=True)
    path.write_text("spam,length,words\n" + "".join(f"{('spam', 'ham')[k % 2]},{k % 7},{k % 5}\n" for k in range(60)))
    assert sorted({*read_data(path, target="spam", typed=True).y}) == [
        "ham",
        "spam",
    ]  # a class called as its column is none


@pytest.mark.parametrize("sign", "^~:")
def test_another_separator_is_named(tmp_path, sign):
    path = tmp_path / "data.csv"
    path.write_text(table(when=["x"] * N).replace(",", sign))
    result = run("train", path, "--target", "label", code=2)
    assert f"the columns seem to be parted by {sign!r}; write the table with" in " ".join(result.output.split())


def test_whole_lines_in_quotes_are_said(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("".join(f'"{line}"\n' for line in table().splitlines()))
    assert "whole lines seem to stand in quotes" in " ".join(
        run("train", path, "--target", "label", code=2).output.split()
    )


@pytest.mark.parametrize("name", ["Kundennummer", "PolicyNumber", "artikelnr", "matricule"])
def test_numbers_of_rows_have_names_in_other_languages(tmp_path, name):
    path, out = tmp_path / "data.csv", tmp_path / "m.gapless"
    path.write_text(table(**{name: [str(10**6 + 7919 * k % 99991) for k in range(N)]}))
    told = json.loads(
        run("train", path, "--target", "label", "--model", "svm", "--no-report", "--json", "-o", out).stdout
    )
    assert told["left_out"] == [f"'{name}': a number of the row, by its name and without a value that occurs twice"]
    assert name not in [column["name"] for column in judge.read(out)[0]["input"]["columns"]]
