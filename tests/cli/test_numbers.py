"""Every number that a command takes: out of its range it is one line that names the option, and nothing is written."""

import pytest
from typer.testing import CliRunner

from gapless.cli import app, numbers

runner = CliRunner()
FLOATS = ("nan", "abc", "1e400", "-1e400")
BAD = [
    *(("train", "--time-limit", text) for text in ("-1", "0", "inf", "1e-400", *FLOATS)),
    *(("train", "-C", text) for text in ("-1", "0", "-inf", *FLOATS)),
    *(("train", "--alpha", text) for text in ("-1", "inf", *FLOATS)),
    *(("train", "--tol", text) for text in ("-1", "inf", *FLOATS)),
    *(("train", "--max-iter", text) for text in ("0", "-3", "1.5")),
    *((command, "--holdout", text) for command in ("train", "tune") for text in ("-0.1", "0", "1", "1.5", *FLOATS)),
    *(("train", "--seed", text) for text in ("-1", str(2**32), "1.5")),
    *(("tune", "--time-limit", text) for text in ("-1", "0", *FLOATS)),
    *(("tune", "--folds", text) for text in ("1", "-5")),
    *(("tune", "--n-iter", text) for text in ("0", "-5")),
    *(("tune", "--grid", text) for text in ("C=1e400", "C=1,nan", "C=1:1e400:3", "C=-1:1:3", "C=1:inf:3")),
]
OF_MODELS = [
    *((command, "--delta", text) for command in ("bounds", "report") for text in ("0", "1", "-1", "2", *FLOATS)),
    *((command, "--tried", "0") for command in ("bounds", "report")),
    *((command, "--tested", "0") for command in ("bounds", "report")),
    *((command, "--holdout", "1") for command in ("bounds", "report", "verify")),
    ("verify", "--index-base", "2"),
    ("predict", "--index-base", "-1"),
]


@pytest.mark.parametrize(("command", "option", "text"), BAD)
def test_out_of_range(csv, tmp_path, command, option, text):
    out = tmp_path / "m.gapless"
    check(
        csv,
        [command, str(csv), f"{option}={text}" if option.startswith("--") else f"{option}{text}", "-o", str(out)],
        option,
    )
    assert not out.exists()


@pytest.mark.parametrize(("command", "option", "text"), OF_MODELS)
def test_out_of_range_with_a_model(csv, tmp_path, command, option, text):
    check(csv, [command, str(tmp_path / "none.gapless"), str(csv), f"{option}={text}"], option)


def check(csv, arguments, option):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert option in result.stderr
    assert "Traceback" not in result.stderr
    assert [p.name for p in csv.parent.iterdir()] == ["data.csv"]


def test_a_hard_margin_is_asked_for_by_name(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("a,b,label\n0,0,x\n0,1,x\n3,0,y\n3,1,y\n")
    result = runner.invoke(app, ["train", str(data), "-C", "inf", "-o", str(tmp_path / "m")])
    assert result.exit_code == 0, result.output
    result = runner.invoke(app, ["train", str(data), "-C", "1e400", "-o", str(tmp_path / "m")])
    assert "1e400 is beyond the largest number, 1.8e308; write inf for infinity" in result.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("1e-3", 1e-3),
        (" 2.5 ", 2.5),
        ("inf", float("inf")),
        ("0", 0.0),
        ("0e-999", 0.0),
        ("-inf", -float("inf")),
    ],
)
def test_numbers(text, value):
    assert numbers.number(text) == value
