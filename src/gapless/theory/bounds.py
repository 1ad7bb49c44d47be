"""`bounds`: how wrong a fitted model can be on new rows, every statement that its training (and test) rows allow, tightest first.

    held-out       errors on rows that nothing was chosen by: the exact binomial
    compression    LinearSVC, SVC: margin violations, by how many rows the model needs (`theory.compression`)
    PAC-Bayes      linear classifiers: margins, prior N(0, I) in the units of X; twice the bound of the randomised one
    VC             linear classifiers: training error, and the dichotomies of halfspaces (Devroye's form)
    votes          BaggingClassifier: errors of members, and of pairs of them, on the rows out of their bags
    leave-one-out  LinearSVC (hinge), SVC: true in expectation, not with high probability

All but the last hold with probability 1 - delta *together*: delta is divided by their number, and for compression by ``tried``,
the number of settings (C, kernel widths ...) among which the training rows may have chosen; VC and PAC-Bayes hold for all
hyperplanes at once, however they were chosen.  What a condition forbids is listed with the reason, never printed as valid;
what says nothing is called vacuous, never hidden.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.errors import CertificateError
from gapless.theory._inputs import probability, whole

__all__ = ["METHODS", "Bound", "Bounds", "bounds"]

METHODS = ("held-out", "compression", "PAC-Bayes", "VC", "votes", "leave-one-out")
#: Rows up to which a kernel matrix is made for the leave-one-out counts.
MOST = 4_000
INDEPENDENT = "the rows are independent draws from one distribution, and so are the new ones"


@dataclass(frozen=True)
class Bound:
    """One statement about new rows."""

    method: str
    value: float
    delta: float | None  #: spent on it; None where it holds in expectation only
    what: str  #: what is bounded
    holds: str  #: "with probability" or "in expectation"
    assumes: tuple[str, ...]

    @property
    def vacuous(self) -> bool:
        return self.value >= 1.0

    def __str__(self) -> str:
        said = "vacuous" if self.vacuous else f"{self.value:.6g}"
        how = "in expectation" if self.delta is None else f"delta {self.delta:.3g}"
        return f"{said:>10}  {self.method} ({how}): {self.what}"


@dataclass(frozen=True, eq=False)
class Bounds:
    """All of them, tightest first, and what was refused."""

    rows: tuple[Bound, ...]
    refused: dict[str, str]
    delta: float
    tried: int
    shared: float | None  #: share of the test rows that occur among the training rows

    @property
    def best(self) -> Bound:
        """The tightest that holds with high probability."""
        found = [row for row in self.rows if row.delta is not None]
        if not found:
            raise ValueError("no bound holds with high probability here: " + "; ".join(self.refused.values()))
        return found[0]

    def __getitem__(self, method: str) -> Bound:
        for row in self.rows:
            if row.method == method:
                return row
        raise KeyError(self.refused.get(method, f"no {method!r}; there are {', '.join(METHODS)}"))

    def __str__(self) -> str:
        lines = [
            f"on new rows, together but for a failure of probability {self.delta:g}:",
            *(f"  {row}" for row in self.rows),
        ]
        lines += [f"  {'refused':>10}  {method}: {reason}" for method, reason in self.refused.items()]
        assumed = dict.fromkeys(a for row in self.rows for a in row.assumes)
        lines += ["  assuming that " + "; ".join(assumed)] if assumed else []
        return "\n".join(lines)


def bounds(
    model: Any,
    X: Any,
    y: Any,
    delta: Any = 0.05,
    X_test: Any = None,
    y_test: Any = None,
    tried: Any = 1,
    methods: Any = METHODS,
    tested: Any = 1,
) -> Bounds:
    """Every bound on new rows that a fitted classifier allows.

    Parameters
    ----------
    model : a fitted classifier of gapless
    X, y : the rows that it was trained on; other data raise CertificateError
    delta : the probability that any of the bounds fails
    X_test, y_test : rows that were not trained on
    tried : settings among which the training rows may have chosen this one: all that could have been, not only those visited
    methods : which to compare; delta is divided by the number of those that apply
    tested : models that were compared on the test rows
    """
    delta, tried, tested = probability(delta), whole(tried, "tried"), whole(tested, "tested")
    chosen = (methods,) if isinstance(methods, str) else tuple(methods)
    for name in chosen:
        if name not in METHODS:
            raise ValueError(f"methods are {', '.join(METHODS)}; got {name!r}")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test come together")
    if not hasattr(model, "classes_"):
        raise ValueError(f"{type(model).__name__} is no fitted classifier: there is no error to bound")
    refused: dict[str, str] = {}
    shared = None
    _trained_on(model, X, y)
    ready: dict[str, Callable[[float], Bound]] = {}
    for name in chosen:
        try:
            if name == "held-out":
                if X_test is None:
                    refused[name] = "no test rows were given"
                    continue
                shared = _overlap(X, X_test)
                ready[name] = _held_out(model, X_test, y_test, tested)
            elif name != "leave-one-out":
                make = {"compression": _compression, "PAC-Bayes": _pac_bayes, "VC": _vc, "votes": _votes}[name]
                ready[name] = make(model, X, y, tried)
        except ValueError as error:
            if name == "held-out":
                raise
            refused[name] = str(error)
    share = delta / max(1, len(ready))
    rows = [told(share) for told in ready.values()]
    if "leave-one-out" in chosen:
        try:
            rows.append(_leave_one_out(model, X, y))
        except ValueError as error:
            refused["leave-one-out"] = str(error)
    return Bounds(tuple(sorted(rows, key=lambda row: row.value)), refused, delta, tried, shared)


def _trained_on(model: Any, X: Any, y: Any) -> None:
    """Raises CertificateError for other data; a pipeline's last step is looked at."""
    from gapless.certificates.linear_model import last_step
    from gapless.certificates.verify import as_matrix
    from gapless.judge.fingerprint import digest, row_hashes

    step, rows = last_step(model, X)
    named = getattr(getattr(step, "certificate_", None), "fingerprint", None)
    if named is None:
        raise ValueError(f"{type(step).__name__} has no certificate that names its training rows")
    rows = as_matrix(rows)
    index = np.searchsorted(step.classes_, np.asarray(y).ravel())
    if rows.shape[0] != named["n_rows"] or digest(row_hashes(rows), "<u8") != named["rows"]:
        raise CertificateError("other data: bounds needs exactly the rows that fit was given")
    if index.size != rows.shape[0] or digest(index, "<i8") != named["labels"]:
        raise CertificateError("other labels: bounds needs exactly what fit was given")


def _overlap(X: Any, X_test: Any) -> float:
    """The share of test rows that occur in training; a test set that is the training set, or a block of it, is refused."""
    from gapless.certificates.verify import as_matrix
    from gapless.judge.fingerprint import row_hashes

    known, new = (np.ascontiguousarray(row_hashes(as_matrix(part))).view("V16").ravel() for part in (X, X_test))
    n, m = len(known), len(new)
    if m == 0:
        raise ValueError("there are no test rows")
    starts = np.flatnonzero(known[: max(0, n - m + 1)] == new[0]).tolist() if m <= n else []
    block = any(np.array_equal(known[s : s + m], new) for s in starts)
    if (block and m > 1) or (m == n and np.array_equal(np.sort(known), np.sort(new))):
        raise ValueError("the test rows are the training rows, or a block of them: they say nothing of new rows")
    share = float(np.isin(new, known).mean())
    if share > 0.0:
        warnings.warn(
            f"{100 * share:.1f} % of the test rows also occur among the training rows; independent rows may coincide, copied "
            "ones void the held-out bound",
            UserWarning,
            stacklevel=3,
        )
    return share


def _held_out(model: Any, X_test: Any, y_test: Any, tested: int) -> Callable[[float], Bound]:
    from gapless.theory.hoeffding import clopper_pearson

    truth = np.asarray(y_test).ravel()
    found = np.asarray(model.predict(X_test)).ravel()
    if found.shape != truth.shape:
        raise ValueError(f"X_test has {found.size} rows, y_test {truth.size}")
    wrong = int(np.count_nonzero(found != truth))
    assumes = (
        INDEPENDENT,
        "the test rows chose nothing" if tested == 1 else f"the test rows compared {tested} models at most",
    )

    def make(delta: float) -> Bound:
        value = clopper_pearson(wrong, truth.size, delta / tested, 1).high
        return Bound(
            "held-out", value, delta, f"error, from {wrong:,} of {truth.size:,} test rows", "with probability", assumes
        )

    return make


def _fixed(tried: int) -> str:
    if tried == 1:
        return "C, kernel, weights and scaling were fixed without the training rows"
    return f"the setting is one of {tried} that were fixed without the training rows"


def _compression(model: Any, X: Any, y: Any, tried: int) -> Callable[[float], Bound]:
    from gapless.theory.support_vectors import margin_violation

    first = margin_violation(model, X, y)  # refuses here what has to be refused

    def make(delta: float) -> Bound:
        from gapless.theory.compression import one_sided

        what = f"margin violations, hence errors, by {first.k:,} of {first.n:,} rows"
        value = one_sided(first.k, first.n, delta / tried).high
        return Bound("compression", value, delta, what, "with probability", (INDEPENDENT, _fixed(tried)))

    return make


def _hyperplane(model: Any) -> tuple[np.ndarray, float | None]:
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        raise ValueError("the steps before the model were fitted on the training rows")
    coef = getattr(model, "coef_", None)
    if coef is None or len(model.classes_) != 2:
        raise ValueError("this is for linear classifiers of two classes")
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef, float)
    if coef.size != model.n_features_in_:
        raise ValueError("this is for linear classifiers of two classes")
    b = float(np.ravel(getattr(model, "intercept_", 0.0))[0])
    return coef.ravel(), b if getattr(model, "fit_intercept", True) else None


def _pac_bayes(model: Any, X: Any, y: Any, tried: int) -> Callable[[float], Bound]:
    from gapless.certificates.verify import as_matrix
    from gapless.theory.pac_bayes import linear

    w, b = _hyperplane(model)
    signs = np.where(np.asarray(y).ravel() == model.classes_[1], 1.0, -1.0)
    rows = as_matrix(X)

    def make(delta: float) -> Bound:
        found = linear(w, rows, signs, b, delta)
        what = f"error; {found.randomised:.4g} for the randomised classifier"
        # For all w and mu at once: no choice of C or of the loss costs anything.
        assumes = (INDEPENDENT, "the columns of X have units that were fixed without the training rows")
        return Bound("PAC-Bayes", found.fixed, delta, what, "with probability", assumes)

    return make


def _vc(model: Any, X: Any, y: Any, tried: int) -> Callable[[float], Bound]:
    from gapless.theory.growth import halfspaces
    from gapless.theory.vc import bound

    w, b = _hyperplane(model)
    truth = np.asarray(y).ravel()
    inside = float(np.mean(np.asarray(model.predict(X)).ravel() != truth))
    kind = halfspaces(w.size, offset=b is not None)

    def make(delta: float) -> Bound:
        omega = bound(truth.size, kind, delta, "devroye").value
        what = f"error: E_in {inside:.4g} + Omega {omega:.4g}, d_VC = {kind.vc_dimension}"
        return Bound("VC", min(1.0, inside + omega), delta, what, "with probability", (INDEPENDENT,))

    return make


def _votes(model: Any, X: Any, y: Any, tried: int) -> Callable[[float], Bound]:
    from gapless.certificates.verify import as_matrix
    from gapless.theory.votes import votes

    if not hasattr(type(model), "estimators_samples_") or not hasattr(model, "estimators_"):
        raise ValueError("this is for a BaggingClassifier, whose members have not seen the rows out of their bags")
    rows, index = as_matrix(X), np.searchsorted(model.classes_, np.asarray(y).ravel())
    n, m = rows.shape[0], len(model.estimators_)
    wrong, counted = np.zeros((n, m), dtype=bool), np.zeros((n, m), dtype=bool)
    bags = zip(model.estimators_, model.estimators_features_, model.estimators_samples_)
    for j, (member, features, bag) in enumerate(bags):
        out = np.setdiff1d(np.arange(n), bag)
        if out.size == 0:
            raise ValueError("a bag holds every row: no row is left to count its member on")
        counted[out, j] = True
        found = np.asarray(member.predict(rows[out][:, features]), dtype=np.int64)  # members know classes by number
        wrong[out, j] = found != index[out]
    two = len(model.classes_) == 2
    methods = ("first order", "tandem", "disagreement") if two else ("first order", "tandem")
    votes(wrong, counted=counted, methods=methods)  # refuses here what has to be refused

    def make(delta: float) -> Bound:
        name, value = votes(wrong, counted=counted, delta=delta / tried, methods=methods).best
        what = f"error of the plain majority of its {m} members ({name}); predict averages their probabilities"
        return Bound("votes", value, delta, what, "with probability", (INDEPENDENT, _fixed(tried)))

    return make


def _leave_one_out(model: Any, X: Any, y: Any) -> Bound:
    from gapless.theory.leave_one_out import leave_one_out

    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n > MOST:
        raise ValueError(f"more than {MOST:,} rows: the kernel matrix would be too large")
    found = leave_one_out(model, X, y)
    what = f"error of models trained on {n - 1:,} rows: at most {found.bound} of {n:,} are wrong when left out"
    value = found.bound / n
    return Bound("leave-one-out", value if math.isfinite(value) else 1.0, None, what, "in expectation", (INDEPENDENT,))
