"""The bounds of the table that `bounds` makes: each refuses or counts what it needs, then has a value for a share of delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.verify import as_matrix
from gapless.judge.fingerprint import digest
from gapless.rows.hashes import row_hashes
from gapless.theory.generalisation.compression_bounds import one_sided
from gapless.theory.generalisation.growth import halfspaces
from gapless.theory.generalisation.leave_one_out import leave_one_out as count_left_out
from gapless.theory.generalisation.pac_bayes import linear
from gapless.theory.generalisation.support_vectors import count_kept_rows, refuse_broken
from gapless.theory.generalisation.vc import bound as vc_bound
from gapless.theory.generalisation.voters import boosted, out_of_bag
from gapless.theory.generalisation.votes import votes as bound_votes
from gapless.theory.samples.hoeffding import clopper_pearson

__all__ = ["INDEPENDENT", "Bound", "Job", "compression", "held_out", "leave_one_out", "pac_bayes", "vc", "votes"]

BY_ROWS = "the steps before the model (a scaler; fills, means and levels of a table) were fitted on the training rows"
INDEPENDENT = "the rows are independent draws from one distribution, and so are the new ones"


@result
@dataclass(frozen=True)
class Bound:
    """One statement about new rows.

    Attributes
    ----------
    method : name of the method
    value : the bound
    delta : spent on it; None where it holds in expectation only
    what : what is bounded
    assumes : what must be true, a sentence each
    figures : what the value follows from
    randomised : of a hypothesis that is drawn for each row, where the bound is twice that
    """

    method: str
    value: float
    delta: float | None
    what: str
    assumes: tuple[str, ...]
    figures: dict[str, Any] = field(default_factory=dict)
    randomised: float | None = None

    @property
    def holds(self) -> str:
        """ "with probability" (1 - delta), or "in expectation"."""
        return "in expectation" if self.delta is None else "with probability"

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is 1 or more."""
        return self.value >= 1.0

    def __str__(self) -> str:
        said = "vacuous" if self.vacuous else f"{self.value:.6g}"
        how = "in expectation" if self.delta is None else f"delta {self.delta:.3g}"
        return f"{said:>10}  {self.method} ({how}): {self.what}"


@dataclass(frozen=True)
class Job:
    """The model with the rows of its fit; of a pipeline its last step, with the rows that this was given."""

    model: Any
    X: Any
    y: Any
    tried: int
    tested: int
    pool: Any
    piped: bool  #: features that the training rows had a part in making
    X_test: Any = None
    y_test: Any = None

    @property
    def fixed(self) -> str:
        if self.tried == 1:
            return "C, kernel, weights and scaling were fixed without the training rows"
        return f"the setting is one of {self.tried} that were fixed without the training rows"


def rounded(value: float) -> float:
    # Values are rounded up by this share, more than their arithmetic can be off by, so that the judge can prove them.
    share_up = 1e-7
    return min(1.0, value * (1.0 + share_up))


Ready = Callable[[float], Bound]


def held_out(job: Job) -> Ready:
    truth = np.asarray(job.y_test).ravel()
    found = np.asarray(job.model.predict(job.X_test)).ravel()
    if found.shape != truth.shape:
        raise ValueError(f"X_test has {found.size} rows, y_test {truth.size}")
    index = np.minimum(np.searchsorted(job.model.classes_, truth), len(job.model.classes_) - 1)
    if not np.array_equal(job.model.classes_[index], truth):
        strange = truth[job.model.classes_[index] != truth].tolist()[0]
        raise ValueError(f"y_test has the label {written(strange)}, which the model does not know")
    wrong = int(np.count_nonzero(found != truth))
    mark = {"rows": digest(row_hashes(as_matrix(job.X_test)), "<u8"), "labels": digest(index, "<i8")}
    chose = "the test rows chose nothing" if job.tested == 1 else f"the test rows compared {job.tested} models at most"

    def make(delta: float) -> Bound:
        value = rounded(clopper_pearson(wrong, truth.size, delta / job.tested, 1).high)
        what = f"error, from {wrong:,} of {truth.size:,} test rows"
        figures = {"errors": wrong, "n": int(truth.size), **mark}
        return Bound("held-out", value, delta, what, (INDEPENDENT, chose), figures)

    return make


def compression(job: Job) -> Ready:
    if job.piped:
        raise ValueError(BY_ROWS + ", which voids the bound")
    model = refuse_broken(job.model)
    support, _, ends = count_kept_rows(model, job.X, job.y)
    n = int(model.certificate_.fingerprint["n_rows"])
    k = min(n, support + ends)

    def make(delta: float) -> Bound:
        value = rounded(one_sided(k, n, delta / job.tried).high)
        what = f"margin violations, hence errors, by {k:,} of {n:,} rows"
        return Bound("compression", value, delta, what, (INDEPENDENT, job.fixed), {"k": k, "n": n})

    return make


def _hyperplane(job: Job) -> tuple[np.ndarray, float | None]:
    model = job.model
    if job.piped:
        raise ValueError(BY_ROWS)
    coef = getattr(model, "coef_", None)
    if coef is None or len(model.classes_) != 2:
        raise ValueError("this is for linear classifiers of two classes")
    if getattr(model, "variant", None) == "voted":
        raise ValueError("the answer of a voted perceptron is no single hyperplane's")
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef, float)
    if coef.size != model.n_features_in_:
        raise ValueError("this is for linear classifiers of two classes")
    b = float(np.ravel(getattr(model, "intercept_", 0.0))[0])
    return coef.ravel(), b if getattr(model, "fit_intercept", True) else None


def pac_bayes(job: Job) -> Ready:
    w, b = _hyperplane(job)
    signs = np.where(np.asarray(job.y).ravel() == job.model.classes_[1], 1.0, -1.0)
    rows = as_matrix(job.X)

    def make(delta: float) -> Bound:
        found = linear(w, rows, signs, b, delta)
        drawn = rounded(found.randomised)
        what = f"error; {drawn:.4g} for the randomised classifier"
        # For all w and mu at once: no choice of C or of the loss costs anything.
        assumes = (INDEPENDENT, "the columns of X have units that were fixed without the training rows")
        figures = {"mu": float(found.parameters["mu"]), "n": int(found.n)}
        return Bound("PAC-Bayes", min(1.0, 2.0 * drawn), delta, what, assumes, figures, drawn)

    return make


def vc(job: Job) -> Ready:
    w, b = _hyperplane(job)
    truth = np.asarray(job.y).ravel()
    wrong = int(np.count_nonzero(np.asarray(job.model.predict(job.X)).ravel() != truth))
    kind = halfspaces(w.size, offset=b is not None)

    def make(delta: float) -> Bound:
        omega = vc_bound(truth.size, kind, delta, "devroye").value
        inside, dimension = wrong / truth.size, int(kind.vc_dimension)
        what = f"error: E_in {inside:.4g} + Omega {omega:.4g}, d_VC = {dimension}"
        figures = {"errors": wrong, "n": int(truth.size), "dimension": dimension}
        return Bound("VC", rounded(inside + omega), delta, what, (INDEPENDENT,), figures)

    return make


def votes(job: Job) -> Ready:
    bagged = hasattr(type(job.model), "estimators_samples_") and hasattr(job.model, "estimators_")
    boosting = type(job.model).__name__ == "AdaBoostClassifier"
    if job.piped and (bagged or boosting):
        raise ValueError(BY_ROWS)
    if not (bagged or boosting):
        raise ValueError(
            "this is for the members of a BaggingClassifier, on rows out of their bags, and for stumps of a pool"
        )
    two = len(job.model.classes_) == 2
    orders = ("first order", "tandem", "disagreement") if two else ("first order", "tandem")
    told: dict[str, Any] = out_of_bag(job.model, job.X, job.y) if bagged else boosted(job.model, job.X, job.y, job.pool)
    name = f"plain majority of its {told['losses'].shape[1]} members" if bagged else "vote of its stumps"
    aside = "; predict averages their probabilities" if bagged else ""
    assumes = (
        (INDEPENDENT, job.fixed) if bagged else (INDEPENDENT, "the pool of cuts was fixed without the training rows")
    )
    pool = None if job.pool is None or bagged else [[int(j), float(t)] for j, t in job.pool]
    # KL of the weights, whatever made them: only a bagging's setting is one of those tried.
    parts = job.tried if bagged else 1
    bound_votes(**told, methods=orders)  # refuses here what has to be refused

    def make(delta: float) -> Bound:
        found = bound_votes(**told, delta=delta / parts, methods=orders)
        order, value = found.best
        drawn = rounded(found.drawn)
        what = f"error of the {name} ({order}){aside}; {drawn:.4g} for one voter that is drawn"
        figures = {
            "orders": list(orders), "gibbs": found.gibbs, "tandem": found.tandem, "disagreement": found.disagreement,
            "n": found.n, "pairs": found.pairs, "voters": found.voters, "divergence": found.divergence, "pool": pool,
        }  # fmt: skip
        return Bound("votes", rounded(value), delta, what, assumes, figures, drawn)

    return make


def leave_one_out(job: Job) -> Bound:
    if job.piped:
        raise ValueError(BY_ROWS)
    n = job.X.shape[0] if hasattr(job.X, "shape") else len(job.X)
    most_rows = 4_000  # the kernel matrix of the counts then takes 128 MB
    if n > most_rows:
        raise ValueError(f"more than {most_rows:,} rows: the kernel matrix would be too large")
    found = count_left_out(job.model, job.X, job.y)
    what = f"error of models trained on {n - 1:,} rows: at most {found.bound} of {n:,} are wrong when left out"
    value = found.bound / n
    value = value if math.isfinite(value) else 1.0
    return Bound("leave-one-out", value, None, what, (INDEPENDENT,), {"count": int(found.bound), "n": int(n)})
