"""The formulas that a user types: parsed, never evaluated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gapless.lab.grammar import FormulaError, parse


@pytest.mark.parametrize(
    ("text", "at", "value"),
    [
        ("x^2 - 3*x + 1", 2.0, -1.0),
        ("-x^2", 3.0, -9.0),
        ("2^-1", 0.0, 0.5),
        ("2^3^2", 0.0, 512.0),
        ("|x - 4| / 2", 1.0, 1.5),
        ("max(0, 1 - x)", -2.0, 3.0),
        ("log(1 + exp(-x))", 0.0, math.log(2.0)),
        ("sin(pi)", 0.0, math.sin(math.pi)),
        ("1e-3*x", 2.0, 2e-3),
        ("8/4/2", 0.0, 1.0),
        ("x − 1", 4.0, 3.0),
        ("x**2", 3.0, 9.0),
        ("--x", 3.0, 3.0),
    ],
)
def test_values(text, at, value):
    formula = parse(text)
    assert formula(np.array([at]))[0] == pytest.approx(value, rel=1e-15)
    assert np.broadcast_to(eval(formula.python, {"np": np, "x": np.array([at])}), (1,))[0] == formula(np.array([at]))[0]


@pytest.mark.parametrize(
    "text",
    [
        "", "x+", "(x", "x)", "y", "__import__('os')", "x.real", "max(x)", "exp", "1 2", "x y", "lambda", "x;x", "exp(x,x)", "𝕩",
        "1__0", "x[0]", "^x", "(" * 40 + "x" + ")" * 40,
    ],
)  # fmt: skip
def test_what_is_not_a_formula_says_so(text):
    with pytest.raises(FormulaError):
        parse(text)


def test_where_a_formula_is_not_defined_it_is_not_a_number():
    assert np.isnan(parse("log(x)")(np.array([-1.0]))[0])
    assert parse("3")(np.zeros(4)).tolist() == [3.0] * 4
