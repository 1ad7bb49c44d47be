"""The judge of AdaBoost: what is true passes, and every forgery of it fails."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import gapless
from gapless import AdaBoostClassifier
from gapless.certificates.boosting import BoostingCertificate
from gapless.solvers.boosting import features
from gapless.solvers.boosting.thresholds import BoostingThresholds
from tests.boosting.cases import blobs


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_true_claims_hold(K, rate):
    X, y = blobs(120, K, 0)
    weight = np.random.default_rng(0).random(120)
    weight[::9] = 0.0
    for Z in (X, sparse.csr_matrix(np.where(X > 0, X, 0.0))):
        for w in (None, weight):
            model = AdaBoostClassifier(n_estimators=12, learning_rate=rate).fit(Z, y, sample_weight=w)
            verdict = gapless.verify(model, Z, y, sample_weight=w)
            assert verdict, str(verdict)
    again = BoostingCertificate.from_document(model.certificate_.document(), model.certificate_.arrays)
    assert again == model.certificate_
    assert gapless.verify(again, Z, y, sample_weight=weight)


def test_bins_are_judged_by_their_own_thresholds(monkeypatch):
    monkeypatch.setattr(features, "BOOSTING_THRESHOLDS", BoostingThresholds(exact_rows=100))
    X, y = blobs(2000, 2, 1)
    model = AdaBoostClassifier(n_estimators=6).fit(X, y)
    assert "cuts" in model.certificate_.arrays
    assert not gapless.verify(model, X, y)  # of so few rows all cuts are kept
    monkeypatch.setattr("gapless.judge.boosting.EXACT_ROWS", 100)
    assert gapless.verify(model, X, y)


def forged(certificate, **changes):
    arrays = dict(certificate.arrays)
    for name in list(changes):
        if name in arrays:
            arrays[name] = changes.pop(name)
    return dataclasses.replace(certificate, arrays=arrays, **changes)


def nudged(array, by=1e-4):
    out = array.copy()
    out[len(out) // 2] *= 1.0 + by
    return out


def test_forgeries_fail():
    X, y = blobs(150, 2, 2)
    c = AdaBoostClassifier(n_estimators=20).fit(X, y).certificate_
    assert gapless.verify(c, X, y)
    flipped, other = c.arrays["classes"].copy(), c.arrays["feature"].copy()
    flipped[3] = flipped[3, ::-1]
    other[5] = (other[5] + 1) % 4
    cases = {
        "weighted errors": {"errors": nudged(c.errors)},
        "stage weights": {"stage_weights": nudged(c.stage_weights, 1e-3)},
        "Z": {"factors": nudged(c.factors)},
        "training errors": {"training": c.training * 0.5},
        "edges": {"edges": nudged(c.arrays["edges"], -1e-3)},
        "loss": {"loss": c.loss * 0.9},
        "margin": {"margin": c.margin + 0.01},
        "median_margin": {"median_margin": c.median_margin + 0.01},
        "mistakes": {"mistakes": c.mistakes + 1},
        "enough rounds": {"enough": c.enough // 2},
        "clean round": {"clean_round": 2 if c.clean_round != 2 else 3},
        "flipped stump": {"classes": flipped},
        "another feature": {"feature": other},
        "threshold": {"threshold": c.arrays["threshold"] + 0.3},
    }
    for name, changes in cases.items():
        verdict = gapless.verify(forged(c, **changes), X, y)
        assert not verdict, name
        if name in {claim.name for claim in verdict.claims}:
            assert name in {claim.name for claim in verdict.failed}, (name, verdict.failed)


def test_other_data_and_unreadable_documents_raise():
    X, y = blobs(60, 2, 3)
    c = AdaBoostClassifier(n_estimators=4).fit(X, y).certificate_
    with pytest.raises(gapless.CertificateError, match="other data"):
        gapless.verify(c, X + 1.0, y)
    with pytest.raises(gapless.CertificateError, match="other labels"):
        gapless.verify(c, X, 1 - y)
    with pytest.raises(gapless.CertificateError, match="other weights"):
        gapless.verify(c, X, y, sample_weight=np.arange(60.0))
    with pytest.raises(gapless.CertificateError, match="cannot be read"):
        gapless.verify(forged(c, feature=c.arrays["feature"][:2]), X, y)


def test_the_certificate_says_it_in_words():
    X, y = blobs(60, 2, 3)
    c = AdaBoostClassifier(n_estimators=4).fit(X, y).certificate_
    assert c.kind == "bound"
    assert c.gap is None
    for part in ("4 rounds", "prod Z_t", "smallest margin", "at most", "new data"):
        assert part in str(c)
    assert "<table>" in c._repr_html_()
