"""Forgeries: each claim of a perceptron's certificate, made false, is found out."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

from gapless import CertificateError, ConvergenceWarning, Perceptron, judge, verify
from tests.perceptron.cases import inseparable, separable


@pytest.fixture(scope="module")
def clean():
    X, y = separable(np.random.default_rng(1))
    start = np.random.default_rng(2).normal(size=(1, X.shape[1]))
    return Perceptron(tol=None, eta0=0.5, max_iter=-1).fit(X, y, coef_init=start).certificate_, X, y


@pytest.fixture(scope="module")
def endless():
    X, y = inseparable(np.random.default_rng(4), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Perceptron(tol=None).fit(X, y).certificate_, X, y


def forged(case, change):
    certificate, X, y = case
    document, arrays = copy.deepcopy(certificate.document()), {k: v.copy() for k, v in certificate.arrays.items()}
    assert judge.check(document, arrays, X, y)
    change(document, arrays, document["certificate"]["subproblems"][0])
    return judge.check(document, arrays, X, y)


def failing(case, change):
    return [claim.name for claim in forged(case, change).claims if not claim.holds]


def set_(block, **entries):
    block.update(entries)


CLEAN = {
    "mistakes": lambda doc, arrays, sub: set_(sub, mistakes=sub["mistakes"] - 1),
    "last weights": lambda doc, arrays, sub: arrays["start"].__imul__(2.0),
    "errors": lambda doc, arrays, sub: set_(sub, errors=1),
    "weights": lambda doc, arrays, sub: arrays["coef"].__imul__(1.0 + 1e-15),
    "bound": lambda doc, arrays, sub: set_(sub, bound=sub["bound"] * (1 - 1e-6)),
    "radius": lambda doc, arrays, sub: set_(sub, radius=sub["radius"] * 1.01),
    "margin": lambda doc, arrays, sub: set_(sub, margin=sub["margin"] * 1.01),
    "rate": lambda doc, arrays, sub: set_(doc["problem"], rate=1.0),
    "offset": lambda doc, arrays, sub: set_(doc["parameters"], fit_intercept=False),
    "penalty": lambda doc, arrays, sub: set_(doc["parameters"], penalty="l2"),
    "variant": lambda doc, arrays, sub: set_(doc["parameters"], variant="pocket"),
    "class weights": lambda doc, arrays, sub: set_(doc["problem"], class_weight=[1.0, 2.0]),
    "counts": lambda doc, arrays, sub: arrays["updates"].__setitem__((0, 0), -1),
    "finite": lambda doc, arrays, sub: arrays["direction"].__setitem__((0, 0), np.nan),
    "status": lambda doc, arrays, sub: set_(doc["certificate"], status="max_iter"),
    "infeasible": lambda doc, arrays, sub: set_(sub, status="infeasible"),
    "mistakes <= bound": lambda doc, arrays, sub: set_(sub, bound=sub["mistakes"] - 0.5),
    "bound applies": lambda doc, arrays, sub: set_(doc["parameters"], early_stopping=True),
}


@pytest.mark.parametrize("name", CLEAN)
def test_forged_bounds(clean, name):
    assert name in failing(clean, CLEAN[name])


def test_a_larger_bound_is_weaker_and_true(clean):
    assert forged(clean, lambda doc, arrays, sub: set_(sub, bound=sub["bound"] * 2.0))


def test_a_direction_that_separates_nothing_proves_nothing(clean):
    found = failing(clean, lambda doc, arrays, sub: arrays["direction"].__imul__(-1.0))
    assert {"margin", "bound"} <= set(found)


def test_converged_with_an_error(clean):
    def change(doc, arrays, sub):
        arrays["coef"] *= -1.0
        arrays["intercept"] *= -1.0
        arrays["last"] *= -1.0

    assert {"converged", "errors", "last weights"} <= set(failing(clean, change))


def first_multiplier(value):
    return lambda doc, arrays, sub: sub["witness"]["multipliers"].__setitem__(0, value)


def move_a_row(doc, arrays, sub):
    used = sub["witness"]["rows"]
    used[0] = next(i for i in range(10**6) if i not in used)


@pytest.mark.parametrize("change", [first_multiplier("7/3"), first_multiplier("0"), move_a_row])
def test_forged_witnesses(endless, change):
    assert "not separable" in failing(endless, change)


def test_no_witness_no_infeasible(endless):
    assert "infeasible" in failing(endless, lambda doc, arrays, sub: set_(sub, witness=None))
    assert "errors" in failing(endless, lambda doc, arrays, sub: set_(sub, errors=0))
    bad = failing(endless, lambda doc, arrays, sub: arrays.update(coef=-arrays["coef"], intercept=-arrays["intercept"]))
    assert "errors" in bad


def test_a_proof_is_not_called_less_and_a_file_of_before_holds(clean):
    X, y = inseparable(np.random.default_rng(4), 0)
    certificate = Perceptron().fit(X, y).certificate_
    assert (certificate.status, certificate.kind) == ("stalled", "heuristic")
    assert forged((certificate, X, y), lambda d, a, sub: d["certificate"].update(kind="bound"))  # written so before
    assert failing(clean, lambda d, a, sub: d["certificate"].update(kind="heuristic")) == ["kind"]


@pytest.mark.parametrize(
    "change",
    [
        lambda doc, arrays, sub: sub.pop("bound"),
        lambda doc, arrays, sub: set_(sub, bound=None),  # a radius without a bound
        lambda doc, arrays, sub: set_(sub, mistakes=-1),
        lambda doc, arrays, sub: set_(sub, witness={"rows": [0], "multipliers": ["1/0"]}),
        lambda doc, arrays, sub: set_(sub, witness={"rows": [0], "multipliers": ["-1"]}),
        lambda doc, arrays, sub: set_(doc["problem"], variant="chosen"),
        lambda doc, arrays, sub: set_(doc["problem"], voters=[3]),
        lambda doc, arrays, sub: set_(doc["certificate"], kind="gap"),
        lambda doc, arrays, sub: doc["certificate"]["subproblems"].append(dict(sub)),
        lambda doc, arrays, sub: arrays.pop("updates"),
        lambda doc, arrays, sub: arrays.update(last=arrays["last"].astype(np.float32)),
    ],
)
def test_unreadable(clean, change):
    with pytest.raises(CertificateError, match="cannot be read"):
        forged(clean, change)


def test_other_data(clean):
    certificate, X, y = clean
    with pytest.raises(CertificateError, match="other data"):
        verify(certificate, X + 1.0, y)
    with pytest.raises(CertificateError, match="other labels"):
        verify(certificate, X, -y)
    with pytest.raises(CertificateError, match="other weights"):
        verify(certificate, X, y, sample_weight=np.full(len(y), 2.0))


def test_a_changed_model_is_judged_as_it_stands():
    X, y = separable(np.random.default_rng(1))
    model = Perceptron(tol=None).fit(X, y)
    assert verify(model, X, y)
    model.coef_ = -model.coef_
    assert not verify(model, X, y)


def test_voters_are_judged():
    X, y = separable(np.random.default_rng(3))
    certificate = Perceptron(tol=None, variant="voted").fit(X, y).certificate_
    case = certificate, X, y
    assert "votes" in failing(case, lambda doc, arrays, sub: arrays["votes"].__setitem__(0, 0))
    assert "errors" in failing(case, lambda doc, arrays, sub: arrays.update(voters=-arrays["voters"]))
