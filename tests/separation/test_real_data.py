"""Every two-class set of the data folder: decided, proved, judged."""

from __future__ import annotations

import resource
import time

import numpy as np
import pytest
from scipy import sparse

from gapless import separability, verify
from tests.shared_data import folder, needs_data

#: From the first decision of each, which the judge confirmed: a status cannot be right today and wrong tomorrow.
KNOWN = {
    "a9a": "quasi", "adult": "overlap", "australian": "overlap", "banana": "overlap", "bank": "overlap", "basehock": "complete",
    "breast-cancer-wisc": "overlap", "cod-rna": "overlap", "connect-4": "overlap", "covtype": "quasi",
    "credit_default": "overlap", "diabetes_pima": "overlap", "eeg-eye-state": "overlap", "fourclass": "overlap",
    "german.numer": "overlap", "heart": "overlap",
    "higgs_sample": "overlap", "ijcnn1": "overlap", "imdb": "complete", "ionosphere": "quasi", "madelon": "overlap",
    "magic": "overlap", "mushrooms": "complete", "news20": "complete", "pcmac": "complete", "phishing": "quasi",
    "rcv1_small": "complete", "reuters_moneyfx": "quasi", "ringnorm": "overlap", "skin_nonskin": "overlap", "sonar": "complete",
    "spambase": "overlap", "splice": "overlap", "susy_sample": "overlap", "svmguide1": "overlap", "svmguide3": "overlap",
    "titanic": "overlap", "usps": "overlap", "w8a": "quasi",
}  # fmt: skip
FAST = ("mushrooms", "covtype", "news20")


def read(name):
    z = np.load(folder() / f"{name}.npz", allow_pickle=False)
    part = "" if "y" in z.files else "_train"
    y = z["y" + part]
    if name == "news20":
        y = z["y_train_bin"]
    elif name == "covtype":
        y = y == 2
    elif name == "usps":
        y = y % 2
    if "X" + part in z.files:
        return z["X" + part], y
    parts = [z[f"X{part}_{key}"] for key in ("data", "indices", "indptr")]
    return sparse.csr_matrix(tuple(parts), shape=tuple(z[f"X{part}_shape"])), y


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_decided_with_a_checked_proof(name):
    X, y = read(name)
    separability([[0.0], [1.0]], [0, 1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    found = separability(X, y)
    seconds = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
    assert found.status == KNOWN[name]
    assert verify(found, X, y)
    assert grown <= size + 500e6
    if name in FAST:
        assert seconds < 30.0
