"""Which model for a table: several kinds, a few settings each, chosen by validation rows within a time limit.

The held-out rows choose nothing: their errors are honest for each model, and the bounds hold for all of them together. Beside the
models stands a baseline that knows no feature: always the commonest class, or the mean.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import gapless
from gapless._runtime.clock import now
from gapless.cli.interval import CONFIDENCE, Errors, errors_of, upper_bound
from gapless.cli.scoring import Answers, Chance, Scoring, against_baseline, auc, balanced_error, check_defined, recalls
from gapless.tuning.search.folds import deal


class Setting(NamedTuple):
    """An estimator to try."""

    words: str
    make: Callable[..., Any]


class Family(NamedTuple):
    name: str
    settings: tuple[Setting, ...]
    balanced: bool = False  # by class weights

    @property
    def label(self) -> str:
        return f"{self.name}, balanced" if self.balanced else self.name


@dataclass
class Tried:
    """The best setting of a family, fitted on all training rows."""

    name: str
    words: str
    model: Any
    validation: float
    seconds: float
    settings: int
    balanced: bool = False
    test: Any = None  # Errors or Residuals on the held-out rows
    bound: float | None = None
    answers: Answers | None = None  # on the held-out rows

    @property
    def gap(self) -> str:
        """The certified relative gap, or what stands in its place."""
        certificate = getattr(self.model, "certificate_", None)
        if certificate is None:  # the baseline
            return ""
        if certificate.kind == "gap":
            return f"{certificate.relative_gap:.0e}" if certificate.relative_gap > 0 else "0"
        return str(certificate.kind)

    @property
    def balanced_error(self) -> float | None:
        """On the held-out rows."""
        told = self.answers
        return None if told is None or told.classes is None else balanced_error(told.y, told.predicted)

    @property
    def auc(self) -> float | None:
        """On the held-out rows; None where they hold one class."""
        told = self.answers
        if told is None or told.classes is None or told.scores is None:
            return None
        found = auc(told.y, told.scores, told.classes)
        return None if math.isnan(found) else found

    @property
    def recalls(self) -> dict[Any, tuple[int, int]] | None:
        """(rows found, rows) of each class among the held-out rows."""
        told = self.answers
        if told is None or told.classes is None:
            return None
        known = np.unique(np.concatenate([told.classes, told.y]))
        return dict(zip(known.tolist(), recalls(told.y, told.predicted, known)))

    def document(self) -> dict[str, Any]:
        certificate = getattr(self.model, "certificate_", None)
        found = self.recalls
        return {
            "model": self.name,
            "setting": self.words,
            "balanced": self.balanced,
            "estimator": type(self.model).__name__,
            "validation": self.validation,
            "test": None if self.test is None else self.test.document(interval=True),
            "bound": self.bound,
            "balanced_error": self.balanced_error,
            "recall": None if found is None else [{"class": c, "found": k, "rows": n} for c, (k, n) in found.items()],
            "auc": self.auc,
            "kind": getattr(certificate, "kind", "constant"),
            "relative_gap": getattr(certificate, "relative_gap", None),
            "status": getattr(certificate, "status", None),
            "seconds": self.seconds,
        }


@dataclass
class Comparison:
    scoring: Scoring
    baseline: Tried
    tried: list[Tried] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    settings: int = 0
    validation: str = ""
    classes: np.ndarray | None = None
    rarest: tuple[Any, int] | None = None  # the rarest class and its training rows, where weights balance it
    rows: int = 0  # training rows

    @property
    def best(self) -> Tried:
        """The best validation score; of equals the first, which is the simplest."""
        return min(self.tried, key=lambda each: self.scoring.loss(each.validation))

    @property
    def chance(self) -> Chance | None:
        """The chosen model against the baseline on the held-out rows."""
        ours, theirs = self.best.answers, self.baseline.answers
        return None if ours is None or theirs is None else against_baseline(self.scoring, ours, theirs)


def classifiers() -> tuple[Family, ...]:
    """Linear SVM, logistic regression, boosted stumps, bagged trees, RBF SVM."""

    def bagged(leaf: int) -> Any:
        return gapless.BaggingClassifier(
            gapless.DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0),
            n_estimators=50,
            random_state=0,
            n_jobs=-1,
        )

    return (
        Family("linear SVM", tuple(Setting(f"C={C:g}", partial(gapless.LinearSVC, C=C)) for C in (0.01, 0.1, 1.0))),
        Family(
            "logistic", tuple(Setting(f"C={C:g}", partial(gapless.LogisticRegression, C=C)) for C in (0.03, 0.3, 3.0))
        ),
        Family(
            "AdaBoost", (Setting("200 stumps", partial(gapless.AdaBoostClassifier, n_estimators=200, random_state=0)),)
        ),
        Family("bagging", (Setting("50 trees", partial(bagged, 5)),)),
        Family("RBF SVM", tuple(Setting(f"C={C:g}", partial(gapless.SVC, C=C, n_jobs=-1)) for C in (1.0, 10.0))),
    )


def balanced(families: tuple[Family, ...]) -> tuple[Family, ...]:
    """The families whose estimators have class weights, with classes that weigh the same."""
    found = []
    for family in families:
        if "class_weight" in family.settings[0].make().get_params(deep=False):
            twins = [
                Setting(f"{each.words} balanced", partial(each.make, class_weight="balanced"))
                for each in family.settings
            ]
            found.append(Family(family.name, tuple(twins), balanced=True))
    return tuple(found)


def regressions(spread: float = 1.0) -> tuple[Family, ...]:
    """Least squares, ridge, RBF regression, bagged trees.

    ``spread``: the standard deviation of the targets. C and epsilon of an SVR have the unit of the target, and are given in
    standard deviations: the model of 1000 y is then 1000 times the model of y, as it is for the other families by themselves.
    """

    def bagged() -> Any:
        return gapless.BaggingRegressor(
            gapless.DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
            n_estimators=50,
            random_state=0,
            n_jobs=-1,
        )

    def tube(C: float) -> Any:
        # At the default gap of 1e-4 the same prices in another unit end 3e-6 apart; this costs a fit of 3,000 rows nothing.
        return gapless.SVR(C=C * spread, epsilon=0.1 * spread, tol=1e-7)

    return (
        Family("least squares", (Setting("no penalty", gapless.LinearRegression),)),
        Family("ridge", tuple(Setting(f"alpha={a:g}", partial(gapless.Ridge, alpha=a)) for a in (1.0, 10.0, 100.0))),
        Family("bagging", (Setting("50 trees", bagged),)),
        Family("RBF SVR", tuple(Setting(f"C={C:g} sd(y)", partial(tube, C)) for C in (1.0, 10.0))),
    )


def spread_of(y: np.ndarray, weights: np.ndarray | None) -> float:
    """The standard deviation of the targets; 1 where they are all equal."""
    mean = np.average(y, weights=weights)
    size = float(np.abs(y - mean).max())
    if size == 0.0:
        return 1.0
    return size * float(np.sqrt(np.average(((y - mean) / size) ** 2, weights=weights)))


def wishes(y: np.ndarray, labels: bool) -> tuple[str, ...]:
    """The models whose kernels a second process compiles meanwhile: the last is needed last, and begun first."""
    if not labels:
        return ("SVR", "BaggingRegressor")
    many = ", many classes" if np.unique(y[:1000]).size > 2 else ""
    return (f"LogisticRegression{many}", f"AdaBoostClassifier{many}", "BaggingClassifier")


def folds(y: np.ndarray, seed: int, labels: bool) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    """Training and validation rows, and in words how they were cut; classes keep their shares.

    A class with fewer rows than there are parts has at most one row in each: no training part lacks it unless it has one row.
    """
    folded_rows = 3000  # up to here five folds choose, beyond one part in four
    codes = np.unique(y, return_inverse=True)[1] if labels else np.zeros(len(y), dtype=np.int64)
    if len(y) < 2:
        raise ValueError("one row is left to train on: nothing can be compared; give more rows, or --model")
    parts = min(5 if len(y) <= folded_rows else 4, len(y))
    found = deal(codes, parts, seed)
    if len(y) > folded_rows:
        return found[:1], f"one row in {parts}"
    return found, f"{parts} folds"


def compare(
    families: tuple[Family, ...],
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    scoring: Scoring,
    seconds: float,
    seed: int,
    labels: bool,
    told: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Try every family; a family gets what is left of the time, in equal shares."""
    cuts, validation = folds(y, seed, labels)
    classes = np.unique(y) if labels else None
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"the training rows hold one class ({str(classes[0])[:40]!r}), the others are held out: nothing to learn; "
            "give more rows, or another --seed"
        )
    result = Comparison(
        scoring, _baseline(X, y, weights, cuts, classes, scoring), validation=validation, classes=classes
    )
    result.rows = len(y)
    if classes is not None:
        result.rarest = _rarest(y, classes)
        families = families if result.rarest is None else (*families, *balanced(families))
    end = now() + seconds
    with gapless.config_context(convergence="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, family in enumerate(families):
            left = end - now()
            if left <= 0 and result.tried:
                result.left_out[family.label] = "no time was left"
                continue
            told(family.label)
            try:
                found = _family(family, X, y, weights, cuts, max(left, 1.0) / (len(families) - k), classes, scoring)
            except (ValueError, NotImplementedError, MemoryError) as error:
                result.left_out[family.label] = " ".join(str(error).split())[:200]
                continue
            if found is None:
                result.left_out[family.label] = "its first fit took all of its time"
                continue
            if not hasattr(found.model, "certificate_"):  # AdaBoost whose first round was useless
                result.left_out[family.label] = str(getattr(found.model, "stop_reason_", "it has no certificate"))[:200]
                continue
            result.tried.append(found)
            result.settings += found.settings
    if not result.tried:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in result.left_out.items())
        raise ValueError(f"no model could be fitted ({reasons})")
    _remember(result, sum(len(family.settings) for family in families), len(cuts))
    return result


def _rarest(y: np.ndarray, classes: np.ndarray) -> tuple[Any, int] | None:
    """The rarest class and its number of rows, where that is below rare_share of an equal share."""
    # Classes are balanced by weights where the rarest has less than this part of an equal share: 15 % of the rows of two classes.
    rare_share = 0.3
    counts = np.unique(y, return_counts=True)[1]
    k = int(counts.argmin())
    return (classes.tolist()[k], int(counts[k])) if counts[k] * len(classes) < rare_share * len(y) else None


def _constant(labels: bool) -> Any:
    """The baseline: always the commonest class, its chances the shares of the classes; or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier(strategy="prior") if labels else DummyRegressor(strategy="mean")


def _baseline(
    X: Any, y: np.ndarray, weights: np.ndarray | None, cuts: Any, classes: np.ndarray | None, scoring: Scoring
) -> Tried:
    """The constant, scored as the models are and fitted on all training rows."""
    labels = classes is not None
    model = _constant(labels).fit(X, y, sample_weight=weights)
    check_defined(scoring, model, X, y)
    parts = []
    for train, valid in cuts:
        known = _constant(labels).fit(X[train], y[train], sample_weight=None if weights is None else weights[train])
        parts.append(Answers.of(known, X[valid], y[valid], classes, scoring))
    words = f"always {model.predict(X[:1])[0]}"[:20] if labels else "always the mean"
    return Tried("baseline", words, model, scoring.of(parts), 0.0, 0)


def _remember(result: Comparison, candidates: int, parts: int) -> None:
    """The certificate of the chosen model says among how many settings the training rows may have chosen."""
    certificate = result.best.model.certificate_
    stated = {"method": "train", "candidates": candidates, "visited": result.settings, "folds": parts, "held_out": None}
    result.best.model.certificate_ = replace(certificate, statement={**certificate.statement, "tuning": stated})


def _family(
    family: Family,
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    cuts: Any,
    share: float,
    classes: np.ndarray | None,
    scoring: Scoring,
) -> Tried | None:
    """The best setting by the validation rows, then fitted on all."""
    if scoring.chances and not hasattr(family.settings[0].make(), "predict_proba"):
        raise ValueError(f"{scoring.name} needs probabilities, which it does not give")
    started = now()
    scores: list[tuple[float, int, float, Setting]] = []
    for number, setting in enumerate(family.settings):
        parts: list[Answers] = []
        for train, valid in cuts:
            left = share - (now() - started)
            if left <= 0.35 * share and (scores or parts):
                break
            of_train = None if weights is None else weights[train]
            if (
                classes is not None and len(np.unique(y[train])) < 2
            ):  # nothing to separate: its only class is the answer
                model = _constant(labels=True).fit(X[train], y[train])
            else:
                model = _fit(setting, X[train], y[train], of_train, 0.4 * share)
            parts.append(Answers.of(model, X[valid], y[valid], classes, scoring))
        if parts and (len(parts) == len(cuts) or not scores):
            score = scoring.of(parts)
            scores.append((scoring.loss(score), number, score, setting))
    if not scores:
        return None
    _, _, score, setting = min(scores)
    before = now()
    model = _fit(setting, X, y, weights, max(share - (before - started), 0.4 * share))
    seconds = now() - started
    return Tried(family.name, setting.words, model, score, seconds, len(scores), family.balanced)


def _fit(setting: Setting, X: Any, y: np.ndarray, weights: np.ndarray | None, seconds: float) -> Any:
    model = setting.make()
    if "time_limit" in model.get_params(deep=False):
        model.set_params(time_limit=round(max(seconds, 0.5), 1))
    return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)


def judge_by(result: Comparison, X: Any, y: np.ndarray) -> None:
    """Errors on rows that chose nothing, and what bounds all true errors together."""
    for each in (result.baseline, *result.tried):
        each.answers = Answers.of(each.model, X, y, result.classes, result.scoring, ranks=True)
        each.test = errors_of(each.answers.predicted, y, labels=result.classes is not None)
    for each in result.tried:
        if isinstance(each.test, Errors):
            each.bound = upper_bound(each.test.wrong, each.test.rows, (1.0 - CONFIDENCE) / len(result.tried))
