"""Support vectors as compression: how likely a new row violates the margin, by how many of the training rows the model needs.

A row with y f < 1 would be a support vector if it had been there, and change the model's compression: so epsilon_k of
`theory.compression` bounds P(y f < 1), and with it the probability of an error.  k counts the support vectors and the rows
that fix the offset where no support vector is free: without them the support vectors alone would give another offset.

Rows that alone give the same optimum, all rows with y f < 1 among them, will do.  Take, of the smallest such sets, the first
in some order of the rows: the rows outside have no loss, so that every set between it and all rows has the same optimum and
the same choice, and the compression is preferent; it has at most as many rows as were counted; and a new row with y f < 1
changes it.  At a gap of rounding size the support vectors are counted as they stand; before that, every row counts that the
gap does not prove to be none (``proved``): fit with a small tol.

It holds if nothing about the problem was chosen by the training rows: C in the sum form, the width of the kernel, class
weights and scaling.  What the model itself betrays is checked: gamma="scale", class_weight="balanced" and a pipeline with
fitted steps are refused.  What it cannot betray (a C that was tuned on these rows) is among the assumptions; `tried` divides
delta by the number of settings among which these rows chose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.certificates.fingerprint import digest_of_ones
from gapless.certificates.model_document import decode_float
from gapless.certificates.verify import as_matrix
from gapless.kernels.named import named_kernel, takes_gamma
from gapless.losses import BY_NAME
from gapless.problems.linear import LinearProblem
from gapless.readings.reduce import has_free_row
from gapless.readings.rows_outside import prove_outside
from gapless.readings.slackness import certified_sides
from gapless.theory.fitted_rows import check_fitted_rows, is_pipeline
from gapless.theory.generalisation.compression_bounds import Compression, one_sided
from gapless.theory.inputs import as_probability, as_whole

__all__ = ["MarginViolation", "NotSettled", "count_kept_rows", "margin_violation", "refuse_broken"]


class NotSettled(ValueError):
    """A condition that the rows decide, not the parameters: delta is shared out as if it had been met."""


@result
@dataclass(frozen=True)
class MarginViolation:
    """P(y f(x) < 1), and so P(error), is at most ``high`` on new rows, but for a failure of probability delta.

    Attributes
    ----------
    high : the bound
    k : rows that determine the model
    n : number of rows
    delta : probability with which the statement may fail
    tried : settings among which the rows may have chosen
    support : support vectors
    offset_rows : rows that fix the offset where no support vector is free
    proved : whether k is certified, or counted from the dual point as it stands
    compression : the bound for k of n rows
    assumes : what must be true, a sentence each
    """

    high: float
    k: int
    n: int
    delta: float
    tried: int
    support: int
    offset_rows: int
    proved: bool
    compression: Compression
    assumes: tuple[str, ...] = (
        "the rows are independent draws from one distribution, and new rows come from it too",
        "C (in the sum form), kernel, weights and scaling were fixed without these rows, or are among the `tried`",
    )

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is 1 or more."""
        return self.high >= 1.0

    def __str__(self) -> str:
        extra = f" and {self.offset_rows} that fix the offset" if self.offset_rows else ""
        return (
            f"a new row violates the margin with probability at most {self.high:.6g}: {self.support:,} of {self.n:,} rows are "
            f"support vectors{extra}; but for a failure of probability {self.delta:g} (Campi-Garatti)"
            + (" (vacuous)" if self.vacuous else "")
        )


def margin_violation(model: Any, X: Any, y: Any, delta: Any = 0.05, tried: Any = 1) -> MarginViolation:
    """The bound for a fitted LinearSVC or SVC of two classes and the rows that it was trained on.

    Raises ValueError where a condition is seen to be broken, and CertificateError for other data.

    Parameters
    ----------
    model : fitted LinearSVC (hinge) or SVC of two classes
    X, y : rows that it was trained on
    delta : probability with which the statement may fail
    tried : settings among which these rows may have chosen
    """
    delta, tried = as_probability(delta), as_whole(tried, "tried")
    model = refuse_broken(model)
    check_fitted_rows(model, X, y)
    support, proved, ends = count_kept_rows(model, X, y)
    n = int(model.certificate_.fingerprint["n_rows"])
    k = min(n, support + ends)
    found = one_sided(k, n, delta / tried)
    return MarginViolation(found.high, k, n, delta, tried, support, ends, proved, found)


def refuse_broken(model: Any) -> Any:
    """The model, of a pipeline of one step that step; ValueError where its parameters break a condition."""
    if is_pipeline(model):
        if len(model.steps) > 1:
            raise ValueError(
                "the steps before the model were fitted on the training rows, which voids the bound: scale with numbers that "
                "were fixed beforehand"
            )
        model = model[-1]
    name = type(model).__name__
    if name not in ("LinearSVC", "SVC") or getattr(model, "certificate_", None) is None:
        raise ValueError(f"the bound is for a fitted LinearSVC or SVC of gapless; got {name}")
    if len(model.classes_) != 2:
        raise ValueError(f"the bound is for two classes; this model has {len(model.classes_)}")
    if isinstance(model.class_weight, str):
        raise ValueError('class_weight="balanced" is computed from the training labels, which voids the bound')
    if not all(decode_float(w) > 0.0 for w in model.certificate_.statement["problem"]["class_weight"]):
        raise ValueError("a class of weight 0 has no support vectors: its errors change nothing, and are not bounded")
    if name == "SVC":
        if takes_gamma(model.kernel) and model.gamma == "scale":
            raise ValueError(
                'gamma="scale" is computed from the training rows, which voids the bound: a number, or "auto"'
            )
        if model.kernel == "precomputed" or callable(model.kernel):
            raise ValueError("a kernel of unknown origin may have been made from the training rows")
        if model.certificate_.kind != "gap":
            raise ValueError("the kernel is not positive semidefinite: there is no gap, and no bound")
    if model.certificate_.fingerprint["weights"] != digest_of_ones(int(model.certificate_.fingerprint["n_rows"])):
        raise ValueError("the model was trained with sample weights: the bound is for rows that count alike")
    return model


def count_kept_rows(model: Any, X: Any, y: Any) -> tuple[int, bool, int]:
    """Support vectors, whether their number is proved, and the rows that fix the offset."""
    # The gap is taken larger by this share, so that the judge, who computes scores anew, counts no row more.
    gap_share = 1e-3
    certificate = model.certificate_
    if certificate.status not in ("converged", "stalled"):
        raise NotSettled(
            f"the fit has not converged ({certificate.status}): its support vectors are not those of the optimum"
        )
    problem = certificate.statement["problem"]
    C, linear = decode_float(problem["C"]), type(model).__name__ == "LinearSVC"
    weight = np.array([decode_float(w) for w in problem["class_weight"]])
    index = np.searchsorted(model.classes_, np.asarray(y).ravel())
    hard = not np.isfinite(C)
    c = (1.0 if hard else C) * weight[index]
    u = certificate.arrays["dual"][0]
    alpha = np.abs(u)
    # The squared hinge has one best offset, and so has the hard margin.
    tied = hard or (linear and (problem["loss"] == "squared_hinge" or problem["offset"] != "free"))
    free = tied or has_free_row(alpha, c)
    ends = 0 if free else 2
    # A relative gap of 1e-9 is rounding: the support vectors are those of the optimum, and are counted as they stand.
    if float(certificate.relative_gap) <= 1e-9:
        return int(np.count_nonzero(alpha)), False, ends
    if hard:
        return len(alpha), True, ends
    signs = np.where(index == 1, 1.0, -1.0)
    sub = certificate.subproblems[0]
    if linear:
        w, b = np.asarray(certificate.arrays["coef"][0], float), float(certificate.arrays["intercept"][0])
        fitted = LinearProblem.build(
            as_matrix(X), signs.astype(np.int8), c, BY_NAME[problem["loss"]], problem["offset"],
            decode_float(problem["offset_scale"]),
        )  # fmt: skip
        needed = ~prove_outside(fitted, fitted.join(w, b), u)
    else:
        known = getattr(model, "_scores", None)  # of the fit; a model from a file makes them anew
        if known is None:
            known = [np.asarray(model.decision_function(X), float) - float(certificate.arrays["scalars"][0, 0])]
        sides = certified_sides(
            known[0], _norms(model, X), signs, np.ones(len(signs)), c, (0.0,), (1.0 + gap_share) * sub.gap,
            (1.0 + gap_share) * sub.rounding, float(alpha.max(initial=0.0)),
        )  # fmt: skip
        needed = sides >= 0
    return int(np.count_nonzero(needed)), True, ends


def _norms(model: Any, X: Any) -> np.ndarray:
    """|phi(x)| of every row, rounded up."""
    told = model.certificate_.statement["problem"]["kernel"]
    numbers = (decode_float(told[each]) for each in ("gamma", "coef0"))
    kernel = named_kernel(told["name"], told["degree"], *numbers)
    squares = np.asarray(
        X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else np.einsum("ij,ij->i", X, X), float
    ).ravel()
    return np.asarray(np.sqrt(kernel.diagonal(squares)) * (1.0 + 1e-9))
