"""What a page is told of: the model, the rows that it was trained on, and rows that it was not, each read once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gapless.certificates.tree import TreeCertificate
from gapless.certificates.verify import as_matrix, last_step, names_rows
from gapless.encode.labels import encode_labels
from gapless.errors import CertificateError
from gapless.judge.fingerprint import digest, row_hashes
from gapless.theory.generalisation.bounds import bounds, candidates

__all__ = ["Story"]


@dataclass(eq=False)
class Story:
    """``model`` may be a pipeline: its last step is what was fitted, on what the steps before it make of X."""

    model: Any
    X: Any
    y: Any = None
    X_test: Any = None
    y_test: Any = None
    sample_weight: Any = None
    delta: float = 0.05
    tried: int = 1
    tested: int = 1
    costs: Any = None
    data_name: str | None = None
    test_name: str | None = None
    given_names: Sequence[str] | None = None
    commands: Sequence[str] | None = None
    check: bool | None = None
    pictures: bool = True
    compared: Sequence[Any] | None = None  #: the models that it was chosen from
    picture_bytes: int = 0  #: of all pictures so far
    missing: str = ""  #: what pictures would need
    coinciding: int = 0  #: test rows that occur among the training rows
    left_out: int = 0  #: of these, how many were left out of the test rows

    @cached_property
    def _last(self) -> tuple[Any, Any]:
        return last_step(self.model, self.X)

    @property
    def step(self) -> Any:
        """The estimator itself."""
        return self._last[0]

    @cached_property
    def Z(self) -> Any:
        """X as the estimator saw it: numbers, dense or CSR."""
        Z = self._last[1]
        if callable(getattr(self.step, "kernel", None)):
            return Z
        return as_matrix(Z)

    @property
    def piped(self) -> bool:
        return self.step is not self.model

    @property
    def name(self) -> str:
        return type(self.step).__name__

    @property
    def certificate(self) -> Any:
        return getattr(self.step, "certificate_", None)

    @property
    def kind(self) -> str:
        """The kind of the certificate; "" without one."""
        return str(getattr(self.certificate, "kind", ""))

    @property
    def problem(self) -> dict[str, Any]:
        """The problem block of the document."""
        return dict(getattr(self.certificate, "statement", {}).get("problem", {}))

    @property
    def sparse(self) -> bool:
        return sparse.issparse(self.Z)

    @property
    def n_rows(self) -> int:
        return int(self.Z.shape[0] if hasattr(self.Z, "shape") else len(self.Z))

    @property
    def n_features(self) -> int:
        return int(getattr(self.step, "n_features_in_", 0) or (self.Z.shape[1] if hasattr(self.Z, "shape") else 0))

    @property
    def task(self) -> str:
        """ "classes", "numbers" or "outliers"."""
        if hasattr(self.step, "classes_"):
            return "classes"
        return (
            "outliers"
            if getattr(self.step, "_estimator_type", None) == "outlier_detector" or self.y is None
            else "numbers"
        )

    @property
    def several(self) -> bool:
        """Several outputs at once."""
        return self.target is not None and self.target.ndim == 2 and self.target.shape[1] > 1

    @property
    def classes(self) -> np.ndarray:
        return np.asarray(self.step.classes_)

    @cached_property
    def index(self) -> np.ndarray:
        """The number of each row's class; -1 for a label that the model does not know."""
        try:
            return encode_labels(self.target, self.classes).index
        except ValueError:
            return np.full(len(self.target), -1)

    @cached_property
    def target(self) -> Any:
        """y as an array: (n,), or (n, outputs) with more than one."""
        return _targets(self.y)

    @cached_property
    def target_test(self) -> Any:
        return _targets(self.y_test)

    @cached_property
    def predicted(self) -> np.ndarray:
        return _targets(self.model.predict(self.X))

    @cached_property
    def predicted_test(self) -> np.ndarray:
        return _targets(self.model.predict(self.X_test))

    @property
    def has_test(self) -> bool:
        return self.X_test is not None

    @cached_property
    def feature_names(self) -> list[str]:
        """Of the columns that the estimator saw: given, its own, or what the steps before it call them."""
        d = self.n_features
        if self.given_names is not None and len(self.given_names) == d:
            return [str(name) for name in self.given_names]
        names = getattr(self.step, "feature_names_in_", None)
        if names is None and self.piped:
            try:
                names = self.model[:-1].get_feature_names_out()
            except Exception:  # a step without names is no reason to tell nothing
                names = None
        if names is None or len(names) != d:
            return [f"x{j}" for j in range(d)]
        return [str(name) for name in names]

    @cached_property
    def given_rows(self) -> int:
        """Test rows as they were given, before those of the training set were left out."""
        return (
            0
            if self.X_test is None
            else int(self.X_test.shape[0] if hasattr(self.X_test, "shape") else len(self.X_test))
        )

    def leave_out_known(self) -> None:
        """Keep the test rows that are new: no interval follows from rows that the model was trained on.

        Held-out rows of the training file are new by their number, and rows of few different values coincide without being
        copies; of both only the count of coincidences is kept, for the page to tell.
        """
        if self.given_rows == 0:
            if self.has_test:
                raise ValueError("there are no test rows")
            return
        known, distinct = self._known
        self.coinciding = int(np.count_nonzero(known))
        held_out = self.data_name is not None and self.test_name is None
        if not self.coinciding or held_out or 2.0 * distinct <= 1.0:
            return
        from sklearn.utils import _safe_indexing

        new = np.flatnonzero(~known)
        self.left_out = self.coinciding
        labels = _targets(self.y_test)
        if len(labels) != self.given_rows:
            raise ValueError(f"X_test has {self.given_rows} rows, y_test {len(labels)}")
        self.X_test = _safe_indexing(self.X_test, new) if len(new) else None
        self.y_test = labels[new] if len(new) else None

    @property
    def _known(self) -> tuple[np.ndarray, float]:
        """Which test rows occur in training, and what share of the training rows are different ones."""
        if callable(getattr(self.step, "kernel", None)) or getattr(self.step, "kernel", None) == "precomputed":
            return np.zeros(self.given_rows, dtype=bool), 1.0
        rows = (self.Z, last_step(self.model, self.X_test)[1])
        known, new = (np.ascontiguousarray(row_hashes(as_matrix(part))).view("V16").ravel() for part in rows)
        return np.isin(new, known), len(np.unique(known)) / max(len(known), 1)

    @cached_property
    def bounds(self) -> Any:
        """The bounds of `gapless.bounds`; raises its error where there are none. The model's certificate stays as it was."""
        model, X, X_test, y_test = self.model, self.X, self.X_test, self.y_test
        if isinstance(self.certificate, TreeCertificate):  # trees see float32, and their rows are named so
            model, X = self.step, self.Z.astype(np.float32)
            X_test = None if X_test is None else as_matrix(last_step(self.model, X_test)[1]).astype(np.float32)
        if not self.has_test:
            X_test = y_test = None
        kept = self.certificate
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rows that occur twice are named where the errors stand
                tried, tested = max(self.tried, candidates(self.step)), None if self.tested == 1 else self.tested
                return bounds(model, X, self.y, self.delta, X_test, y_test, tried=tried, tested=tested)
        finally:
            if kept is not None:
                self.step.certificate_ = kept

    def check_rows(self) -> None:
        """Raises CertificateError where X, y or the weights are not those of the fit; a page would tell lies of them."""
        named = getattr(self.certificate, "fingerprint", None)
        if named is None or callable(getattr(self.step, "kernel", None)):
            return
        if self.n_rows != named["n_rows"]:
            raise CertificateError(
                f"other data: the model was trained on {named['n_rows']:,} rows, and X has "
                f"{self.n_rows:,}. A report needs exactly "
                "the rows that fit was given; others go to X_test, y_test"
            )
        if not names_rows(self.certificate, self.Z):
            raise CertificateError("other data: a report needs exactly the rows that fit was given, in their order")
        weights = self.sample_weight
        weights = np.ones(self.n_rows) if weights is None else np.asarray(weights, dtype=np.float64) + 0.0
        if digest(weights, "<f8") != named["weights"]:
            raise CertificateError("other weights: sample_weight is not what fit was given")
        if self.task != "classes" or isinstance(self.step.classes_, list):
            return
        if self.target is None or len(self.target) != self.n_rows or digest(self.index, "<i8") != named["labels"]:
            raise CertificateError("other labels: y is not what fit was given")


def _targets(y: Any) -> Any:
    if y is None:
        return None
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
