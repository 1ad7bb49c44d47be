"""The strength of the penalty in every unit that is in use, and the objective in words and signs.

All of these are one problem, written with the sum or the mean of the loss and with the constant in front of
the one part or the other; they have the same solution where the constants correspond. The usual slip is C =
1/lambda: that holds if C multiplies the *mean* loss. For the sum, which is what LIBLINEAR, LIBSVM,
scikit-learn and gapless call C, it is C = 1/(n lambda).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gapless._runtime.results import result
from gapless._runtime.written import written


class Form(NamedTuple):
    """One way to write the strength: both maps to C of the sum form, and the objective it belongs to."""

    from_C: Callable[[float, float], float]
    to_C: Callable[[float, float], float]
    needs_n: bool
    objective: str
    used_by: str
    #: objective = factor(C, n) * (1/2 |w|^2 + C sum_i l_i)
    factor: Callable[[float, float], float]


def _over(a: float, b: float) -> float:
    """a / b with 1/0 = inf and 1/inf = 0: no penalty and the hard margin."""
    return math.inf if b == 0.0 else a / b


def _lam(C: float, n: float) -> float:
    return _over(1.0, C * n)


def _of_mean(objective: str, used_by: str) -> Form:
    """lam = 1/(C n), under one of its names."""
    return Form(_lam, _lam, True, objective, used_by, _lam)


#: Every unit, with n the number of rows; where rows have weights n is their sum, but for SGD, whose mean is
#: over rows.
FORMS: dict[str, Form] = {
    "C": Form(
        from_C=lambda C, n: C,
        to_C=lambda C, n: C,
        needs_n=False,
        objective="1/2 |w|^2 + C sum_i l(y_i, z_i)",
        used_by="gapless, LIBLINEAR, LIBSVM, scikit-learn's LinearSVC, SVC and LogisticRegression",
        factor=lambda C, n: 1.0,
    ),
    "lam": _of_mean("lam/2 |w|^2 + 1/n sum_i l(y_i, z_i)", "textbooks, Pegasos"),
    "C_mean": Form(
        from_C=lambda C, n: C * n,
        to_C=lambda C_mean, n: C_mean / n,
        needs_n=True,
        objective="1/2 |w|^2 + C_mean 1/n sum_i l(y_i, z_i)",
        used_by="textbooks that write C = 1/lam",
        factor=lambda C, n: 1.0,
    ),
    "sgd_alpha": _of_mean(
        "1/n sum_i l(y_i, z_i) + alpha/2 |w|^2", "scikit-learn's SGDClassifier and SGDRegressor (penalty='l2')"
    ),
    "glmnet_lambda": _of_mean(
        "1/n sum_i l(y_i, z_i) + lambda/2 |w|^2",
        "glmnet (alpha = 0, standardize = FALSE; family 'gaussian': with y of standard deviation 1)",
    ),
    "ridge_alpha": Form(
        from_C=lambda C, n: _over(1.0, C),
        to_C=lambda alpha, n: _over(1.0, alpha),
        needs_n=False,
        objective="sum_i (y_i - z_i)^2 + alpha |w|^2",
        used_by="scikit-learn's Ridge and RidgeClassifier (squared loss, l = 1/2 (y - z)^2)",
        factor=lambda C, n: _over(2.0, C),
    ),
}


@dataclass(frozen=True)
class Conversion:
    """One strength in every unit; those that need the number of rows are None without it."""

    n: float | None
    C: float
    lam: float | None
    C_mean: float | None
    sgd_alpha: float | None
    glmnet_lambda: float | None
    ridge_alpha: float

    def __getitem__(self, unit: str) -> float:
        value = getattr(self, _known(unit))
        if value is None:
            raise ValueError(_needs_n(unit))
        return float(value)

    def __str__(self) -> str:
        lines = [f"the same problem in other units{'' if self.n is None else f', {self.n:g} rows'}:"]
        for name, form in FORMS.items():
            value = getattr(self, name)
            shown = "needs n" if value is None else f"{value:.10g}"
            lines.append(f"  {name} = {shown}: minimise {form.objective}  ({form.used_by})")
        return "\n".join(lines)


def convert(
    C: float | None = None,
    n: float | None = None,
    to: str | None = None,
    *,
    lam: float | None = None,
    C_mean: float | None = None,
    sgd_alpha: float | None = None,
    glmnet_lambda: float | None = None,
    ridge_alpha: float | None = None,
) -> Any:
    """The strength of the penalty in another unit.

    Parameters
    ----------
    C, lam, C_mean, sgd_alpha, glmnet_lambda, ridge_alpha : the strength, in exactly one of the units of
        ``FORMS``.
    n : the number of rows; where they have weights the sum of these (SGD: the number all the same).
    to : the unit wanted. Without it the answer has them all, and prints with the objective of each.

    Examples
    --------
    >>> convert(C=1.0, n=200, to="lam")
    0.005
    >>> convert(lam=0.005, n=200, to="C")
    1.0
    """
    given = {
        "C": C,
        "lam": lam,
        "C_mean": C_mean,
        "sgd_alpha": sgd_alpha,
        "glmnet_lambda": glmnet_lambda,
        "ridge_alpha": ridge_alpha,
    }
    named = {name: value for name, value in given.items() if value is not None}
    if len(named) != 1:
        raise ValueError(f"give the strength in exactly one of {list(FORMS)}; got {list(named) or 'none'}")
    ((unit, value),) = named.items()
    try:
        value = float(value)
        rows = None if n is None else float(n)
    except (TypeError, ValueError):
        raise ValueError(f"{unit} and n must be numbers; got {unit}={written(value)}, n={written(n)}") from None
    if not value >= 0.0 or (value == 0.0 and unit in ("C", "C_mean")):
        raise ValueError(f"{unit} must be positive (a penalty of 0 is C = inf); got {written(value)}")
    if math.isinf(value) and unit not in ("C", "C_mean"):
        raise ValueError(f"{unit} must be finite; got {written(value)}")
    if rows is not None and not 0.0 < rows < math.inf:
        raise ValueError(f"n, the number of rows or the sum of their weights, must be positive; got {written(n)}")
    if to is not None:
        _known(to)
    if to == unit:
        return value
    if rows is None and (FORMS[unit].needs_n or (to is not None and FORMS[to].needs_n)):
        # lam, C_mean and the like are all means: between two of them the number of rows cancels.
        if to is not None and FORMS[unit].needs_n and FORMS[to].needs_n:
            rows = 1.0
        else:
            raise ValueError(_needs_n(unit if FORMS[unit].needs_n else str(to)))
    as_C = FORMS[unit].to_C(value, 1.0 if rows is None else rows)
    if to is not None:
        return FORMS[to].from_C(as_C, 1.0 if rows is None else rows)
    every: dict[str, Any] = {
        name: None if form.needs_n and rows is None else form.from_C(as_C, 1.0 if rows is None else rows)
        for name, form in FORMS.items()
    }
    every[unit] = value  # not through C and back
    return Conversion(n=rows, **every)


def _known(unit: str) -> str:
    if unit not in FORMS:
        raise ValueError(f"unknown unit {written(unit)}; it is one of {list(FORMS)}")
    return unit


def _needs_n(unit: str) -> str:
    return f"{unit} belongs to the mean loss: give n, the number of rows (the sum of their weights)"


# ----------------------------------------------------------------------------------------------------
# objective
#: Each loss of a row as text, and as LaTeX; z is the score.
FORMULAS = {
    "hinge": ("max(0, 1 - y_i{z})", r"\max\bigl(0,\, 1 - y_i{z}\bigr)"),
    "squared_hinge": ("max(0, 1 - y_i{z})^2", r"\max\bigl(0,\, 1 - y_i{z}\bigr)^2"),
    "logistic": ("ln(1 + exp(-y_i{z}))", r"\ln\bigl(1 + e^{{-y_i{z}}}\bigr)"),
    "squared": ("1/2 (y_i - {z})^2", r"\tfrac12 \bigl(y_i - {z}\bigr)^2"),
    "softmax": ("[ln sum_k exp{z} - (score of the true class)]", r"\Bigl[\ln \sum_k e^{{{z}}} - z_{{i y_i}}\Bigr]"),
}


@result
@dataclass(frozen=True)
class Objective:
    """The formula that was minimised, with the user's numbers: as text, as LaTeX in notebooks.

    Attributes
    ----------
    plain : the formula as text
    latex : the formula as LaTeX
    """

    plain: str
    latex: str

    def __str__(self) -> str:
        return self.plain

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"


def objective(
    loss: str,
    C: float,
    n_rows: int,
    offset: str = "free",
    *,
    offset_scale: float = 1.0,
    weighted: bool = False,
    class_weight: Sequence[float] | None = None,
    classes: Sequence[Any] | None = None,
) -> Objective:
    """The objective with its numbers.

    ``weighted`` says that rows have weights, ``class_weight`` gives the resolved weight of each class,
    ``classes`` the labels: with more than two there is one such problem for each class against the rest.
    """
    if loss not in FORMULAS:
        raise ValueError(f"unknown loss {written(loss)}; it is one of {list(FORMULAS)}")
    if offset not in ("none", "penalised", "free"):
        raise ValueError(f"offset is {written(offset)}; it is 'none', 'penalised' or 'free'")
    C = float(C)
    by_class = class_weight is not None and any(float(w) != 1.0 for w in class_weight)
    s = "s_i " if weighted or by_class else ""
    b = offset != "none"
    z = "<w,x_i> + b" if b else "<w,x_i>"
    z_tex = r"\langle w, x_i\rangle + b" if b else r"\langle w, x_i\rangle"
    if loss == "softmax":
        z, z_tex = z.replace("w", "w_k").replace("b", "b_k"), z_tex.replace("w,", "w_k,").replace("b", "b_k")
    plain_loss = FORMULAS[loss][0].format(z=f"({z})" if b else z)
    latex_loss = FORMULAS[loss][1].format(z=f"({z_tex})" if b else z_tex)
    penalty, penalty_tex = "1/2|w|^2", r"\tfrac12 \|w\|^2"
    if offset == "penalised":
        scaled = float(offset_scale) != 1.0
        penalty += f" + 1/2(b/{_number(offset_scale)})^2" if scaled else " + 1/2 b^2"
        penalty_tex += rf" + \tfrac12 (b/{_number(offset_scale)})^2" if scaled else r" + \tfrac12 b^2"
    over = "w, b" if b else "w"
    hard = math.isinf(C) and loss in ("hinge", "squared_hinge")
    if hard:
        side = f"({z})" if b else z
        side_tex = f"({z_tex})" if b else z_tex
        plain = f"minimise {penalty} subject to y_i{side} >= 1"
        latex = rf"\min_{{{over}}} {penalty_tex} \quad\text{{subject to}}\quad y_i{side_tex} \ge 1"
    elif math.isinf(C):
        plain = f"minimise sum_i {s}{plain_loss}"
        latex = rf"\min_{{{over}}} \sum_{{i=1}}^{{{n_rows}}} {s}{latex_loss}"
    else:
        plain = f"minimise {penalty} + {_number(C)} * sum_i {s}{plain_loss}"
        latex = rf"\min_{{{over}}} {penalty_tex} + {_number_tex(C)} \sum_{{i=1}}^{{{n_rows}}} {s}{latex_loss}"
    how = {"none": "no offset", "penalised": "offset penalised", "free": "offset free"}[offset]
    plain += f" over {n_rows} rows, {how}"
    if hard and (weighted or by_class):
        plain += " (those of weight 0 left out; other weights have no effect)"
    elif weighted or by_class:
        plain += f", s_i = {_cost_factors(weighted, class_weight if by_class else None, classes)}"
    if loss == "softmax":
        plain += f"; k runs over {'all' if classes is None else len(classes)} classes, w is all of the w_k"
    elif classes is not None and len(classes) > 2:
        plain += f"; one such problem for each of {len(classes)} classes against the rest"
    return Objective(plain, latex)


def _cost_factors(weighted: bool, class_weight: Sequence[float] | None, classes: Sequence[Any] | None) -> str:
    """The factors of a row's cost beside C."""
    factors = ["sample_weight_i"] if weighted else []
    if class_weight is not None:
        names = list(range(len(class_weight))) if classes is None else list(classes)
        shown = ", ".join(f"{name!r}: {float(w):.6g}" for name, w in list(zip(names, class_weight))[:10])
        factors.append(f"class_weight(label_i) {{{shown}{', ...' if len(names) > 10 else ''}}}")
    return " * ".join(factors)


def _number(value: float) -> str:
    """The shortest text that gives the number back."""
    return repr(float(value))


def _number_tex(value: float) -> str:
    text = _number(value)
    if "e" not in text:
        return text
    mantissa, power = text.split("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}"
