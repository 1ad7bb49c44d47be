"""Units of the penalty: each conversion gives a proportional objective, and the slip of C = 1/lambda is
shown.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from gapless.problems.units_of_C import FORMS, Conversion, convert, objective

# The objectives, each written out on its own: strength, w, losses l_i, squared errors (y_i - z_i)^2.
OBJECTIVES = {
    "C": lambda s, w, loss, errors: w @ w / 2 + s * loss.sum(),
    "lam": lambda s, w, loss, errors: s / 2 * (w @ w) + loss.mean(),
    "C_mean": lambda s, w, loss, errors: w @ w / 2 + s * loss.mean(),
    "sgd_alpha": lambda s, w, loss, errors: loss.mean() + s / 2 * (w @ w),
    "glmnet_lambda": lambda s, w, loss, errors: loss.mean() + s / 2 * (w @ w),
    "ridge_alpha": lambda s, w, loss, errors: (errors**2).sum() + s * (w @ w),
}


@pytest.mark.parametrize(("unit", "other"), [*product(FORMS, FORMS)])
def test_objectives_are_proportional(unit, other):
    """The same strength in two units: the ratio of the two objectives is one number for all w."""
    rng = np.random.default_rng(1)
    n, d = 40, 5
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    there = convert(**{unit: 0.37}, n=n, to=other)
    ratios = []
    for _ in range(10):
        w = rng.normal(size=d)
        errors = y - X @ w
        loss = errors**2 / 2
        ratios.append(OBJECTIVES[unit](0.37, w, loss, errors) / OBJECTIVES[other](there, w, loss, errors))
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)
    C = convert(**{unit: 0.37}, n=n, to="C")
    assert ratios[0] == pytest.approx(FORMS[unit].factor(C, n) / FORMS[other].factor(C, n))


@pytest.mark.parametrize(("unit", "other"), [*product(FORMS, FORMS)])
def test_there_and_back(unit, other):
    for value in (1e-9, 0.25, 3.0, 1e8):
        there = convert(**{unit: value}, n=64, to=other)
        assert convert(**{other: there}, n=64, to=unit) == pytest.approx(value, rel=1e-15)


def test_exact_cases():
    assert convert(C=1.0, n=200, to="lam") == 0.005
    assert convert(lam=0.005, n=200, to="C") == 1.0
    assert convert(C=0.5, n=8, to="C_mean") == 4.0
    assert convert(lam=0.25, to="C_mean") == 4.0  # between two means the rows cancel
    assert convert(C=4.0, to="ridge_alpha") == 0.25
    assert convert(ridge_alpha=0.25, to="C") == 4.0
    assert convert(C=math.inf, n=5, to="lam") == 0.0
    assert convert(lam=0.0, n=5, to="C") == math.inf
    assert convert(C=2.0, to="C") == 2.0


def test_note_000_C_is_not_one_over_lambda_for_the_sum():
    """Hinge loss on x = ±1 (n = 2), no offset: minimise lam/2 w^2 + mean max(0, 1 - w), solved by w = min(1,
    1/lam).

    With lam = 4, w = 1/4. The sum form with C = 1/lam = 1/4 gives w = min(1, 2C) = 1/2: another model.
    C = 1/(n lam) = 1/8 gives 1/4 again.
    """
    lam, n = Fraction(4), 2

    def sum_form(C):  # minimise w^2/2 + 2 C max(0, 1 - w): slope w - 2C below 1
        return min(Fraction(1), 2 * C)

    mean_form = min(Fraction(1), 1 / lam)  # slope lam w - 1 below 1
    assert sum_form(1 / lam) != mean_form
    assert sum_form(Fraction(convert(lam=float(lam), n=n, to="C"))) == mean_form
    # true as the notes have it, if C multiplies the mean
    assert convert(lam=float(lam), n=n, to="C_mean") == 1 / lam


def test_the_units_of_scikit_learn():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    C = 0.3
    w = np.linalg.solve(np.eye(4) + C * X.T @ X, C * X.T @ y)  # minimises 1/2|w|^2 + C sum 1/2 (y - z)^2
    ridge = Ridge(alpha=convert(C=C, to="ridge_alpha"), fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, w, rtol=1e-10)
    # LogisticRegression's C is that of the sum: its gradient vanishes there, and not with the mean
    signs = np.sign(y)
    fit = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, signs)
    w = fit.coef_[0]
    slope = -(X.T @ (signs / (1 + np.exp(signs * (X @ w)))))
    assert np.linalg.norm(w + C * slope) < 1e-6
    assert np.linalg.norm(convert(C=C, n=60, to="lam") * w + slope / 60) < 1e-6


def test_all_units_at_once():
    every = convert(C=2.0, n=10)
    assert isinstance(every, Conversion)
    assert every["lam"] == every.lam == 0.05
    assert every["ridge_alpha"] == 0.5
    text = str(every)
    for name, form in FORMS.items():
        assert f"  {name} = " in text
        assert form.objective in text
    without = convert(C=2.0)
    assert without.lam is None
    assert "lam = needs n" in str(without)
    with pytest.raises(ValueError, match="give n"):
        without["lam"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of"),
        ({"C": 1.0, "lam": 1.0}, r"got \['C', 'lam'\]"),
        ({"C": 0.0}, "C must be positive"),
        ({"C": -1.0}, "C must be positive"),
        ({"C": math.nan}, "C must be positive"),
        ({"lam": -1.0, "n": 3}, "lam must be positive"),
        ({"lam": math.inf, "n": 3}, "lam must be finite"),
        ({"C": "one"}, "must be numbers"),
        ({"C": 1.0, "to": "lambda"}, "unknown unit 'lambda'"),
        ({"C": 1.0, "to": "lam"}, "lam belongs to the mean loss: give n"),
        ({"lam": 1.0, "to": "C"}, "give n"),
        ({"lam": 1.0}, "give n"),
        ({"C": 1.0, "n": 0}, "n, the number of rows"),
        ({"C": 1.0, "n": -5}, "n, the number of rows"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        convert(**arguments)


# -----------------------------------------------------------------------------------------------------
# objective
def test_objective_with_the_users_numbers():
    text = objective("hinge", 1.0, 270, "free")
    assert str(text) == ("minimise 1/2|w|^2 + 1.0 * sum_i max(0, 1 - y_i(<w,x_i> + b)) over 270 rows, offset free")
    assert text.latex == (
        r"\min_{w, b} \tfrac12 \|w\|^2 + 1.0 \sum_{i=1}^{270} "
        r"\max\bigl(0,\, 1 - y_i(\langle w, x_i\rangle + b)\bigr)"
    )
    assert text._repr_latex_().startswith("$")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("squared_hinge", 0.5, 3, "none"),
            "minimise 1/2|w|^2 + 0.5 * sum_i max(0, 1 - y_i<w,x_i>)^2 over 3 rows, no offset",
        ),
        (
            ("logistic", 0.1, 3, "penalised"),
            "minimise 1/2|w|^2 + 1/2 b^2 + 0.1 * sum_i ln(1 + exp(-y_i(<w,x_i> + b))) over 3 rows, offset penalised",
        ),
        (
            ("squared", 1e-7, 3, "free"),
            "minimise 1/2|w|^2 + 1e-07 * sum_i 1/2 (y_i - (<w,x_i> + b))^2 over 3 rows, offset free",
        ),
        (
            ("hinge", math.inf, 3, "free"),
            "minimise 1/2|w|^2 subject to y_i(<w,x_i> + b) >= 1 over 3 rows, offset free",
        ),
        (("logistic", math.inf, 3, "none"), "minimise sum_i ln(1 + exp(-y_i<w,x_i>)) over 3 rows, no offset"),
    ],
)
def test_objectives(arguments, expected):
    assert str(objective(*arguments)) == expected
    assert objective(*arguments).latex.count("{") == objective(*arguments).latex.count("}")


def test_objective_names_its_weights():
    text = str(
        objective("hinge", 2.0, 9, "penalised", offset_scale=10.0, weighted=True, class_weight=[0.5, 1.0,
        2.0],
                  classes=["a", "b", "c"])
    )  # fmt: skip
    assert "1/2(b/10.0)^2" in text
    assert "2.0 * sum_i s_i max" in text
    assert "s_i = sample_weight_i * class_weight(label_i) {'a': 0.5, 'b': 1, 'c': 2}" in text
    assert text.endswith("one such problem for each of 3 classes against the rest")
    assert "s_i" not in str(objective("hinge", 2.0, 9, class_weight=[1.0, 1.0]))
    assert "10^{-7}" in objective("hinge", 1e-7, 9).latex
    for bad in ({"loss": "0-1"}, {"offset": "fixed"}):
        with pytest.raises(ValueError, match="unknown loss|offset is"):
            objective(**{"loss": "hinge", "C": 1.0, "n_rows": 1, **bad})
