"""Check what a model, a certificate or a model file claims, with the data and without the solver.

The work is done by ``gapless.judge``, which knows nothing of the code that made the claim.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from gapless import judge
from gapless.backends.choose import blocks_for_judge
from gapless.certificates.base import BaseCertificate
from gapless.certificates.fingerprint import digest_of_rows
from gapless.certificates.separation import Separability
from gapless.certificates.tree import TreeCertificate
from gapless.solvers.loop import audible


def last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """The last step of a scikit-learn pipeline and X as that step sees it; any other model as it is."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        return model[-1], X if X is None else model[:-1].transform(X) if len(model.steps) > 1 else X
    return model, X


@audible()
def verify(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, rigorous: bool | Literal["exact"] = False
) -> judge.Verdict:
    """Recompute every claim from the data.

    Parameters
    ----------
    model : a fitted gapless estimator (or a pipeline that ends in one), its ``certificate_``, the path of a model file, or what
        ``separability`` returned (or a file of its ``to_json()``).
    X, y, sample_weight : the data that it was trained on; other data raise CertificateError. Rows in blocks bring their labels
        and weights with them: ``verify(model, blocks)`` reads them block by block, and keeps a few bytes of each row.
    rigorous : False for float64; True for bounds that hold in exact arithmetic; "exact" for fractions (small
        data).

    Returns
    -------
    Verdict : true where every claim holds; prints as a table; lists what it cannot check.
    """
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        document, arrays = (judge.read_proof(path), {}) if path.suffix.lower() == ".json" else judge.read(path)
    elif isinstance(model, BaseCertificate):
        document, arrays = model.document(), dict(model.arrays)
    elif isinstance(model, Separability):
        document, arrays = model.document(), {}
    else:
        model, X = last_step(model, X)
        document, arrays = _of_estimator(model)
        if callable(getattr(model, "kernel", None)):  # the judge knows no functions: it gets the matrix
            X = model.kernel(X, X)
    source = blocks_for_judge(X, y, sample_weight)
    if source is not None:
        return judge.check(document, arrays, judge.Walked(lambda: iter(source)), None, rigorous=rigorous)
    return judge.check(document, arrays, as_matrix(X), _as_vector(y), _as_vector(sample_weight), rigorous=rigorous)


def _of_estimator(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    name = type(model).__name__
    certificate = getattr(model, "certificate_", None)
    if certificate is None:
        if hasattr(model, "fit") and not hasattr(model, "n_features_in_"):
            raise NotFittedError(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using it."
            )
        if why := getattr(model, "stop_reason_", ""):
            raise TypeError(f"this {name} has no certificate_, there is nothing to verify: {why}")
        raise TypeError(f"{name} has no certificate_: verify takes a gapless model, a certificate or a model file")
    # What is judged is the model as it stands now, not as it was when the certificate was made.
    arrays = {**certificate.arrays, **arrays_now(model, certificate.arrays)}
    return certificate.document(), arrays


def arrays_now(model: Any, claimed: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a certificate as the attributes of its model stand now, in the shapes of the certificate."""
    if hasattr(model, "_arrays_now"):
        return {key: np.asarray(value) for key, value in model._arrays_now().items()}
    found = {}
    for key, attribute in (("coef", "coef_"), ("intercept", "intercept_")):
        now = getattr(model, attribute, None)
        if now is None or key not in claimed:
            continue
        now = now.toarray() if sparse.issparse(now) else np.asarray(now)
        if now.ndim == 0 and now == now.astype(claimed[key].dtype):  # a Python float, of a model in float32
            now = now.astype(claimed[key].dtype)
        if now.ndim == 1 and now.size == claimed[key].size:  # one target: scikit-learn's shapes have no first axis
            now = now.reshape(claimed[key].shape)
        found[key] = np.broadcast_to(now, claimed[key].shape) if now.ndim == 0 else now
    return found


def names_rows(certificate: Any, X: Any) -> bool:
    """Whether X has the rows that a certificate speaks of, in their order."""
    named = certificate.fingerprint
    rows = as_matrix(X)
    return rows.shape[0] == named["n_rows"] and digest_of_rows(rows_as_named(certificate, rows)) == named["rows"]


def rows_as_named(certificate: Any, X: Any) -> Any:
    """X as the fingerprint of a certificate has its rows: a tree's in float32, with one NaN for all."""
    rows = as_matrix(X)
    if isinstance(certificate, TreeCertificate):
        with np.errstate(over="ignore"):
            rows = rows.astype(np.float32)
        if not sparse.issparse(rows) and np.isnan(rows).any():
            rows = np.where(np.isnan(rows), np.float32(np.nan), rows)
    return rows


def as_matrix(X: Any) -> Any:
    """X as the judge reads it: a numeric array or a CSR matrix."""
    if sparse.issparse(X):
        return X if X.format == "csr" else X.tocsr()
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    X = np.asarray(X)
    return X.astype(np.float64) if X.dtype == object else X


def _as_vector(values: Any) -> Any:
    if values is None or isinstance(values, np.ndarray):
        return values
    return values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
