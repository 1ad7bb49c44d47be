"""Which model for a table: several kinds, a few settings each, chosen by validation rows within a time limit.

The held-out rows choose nothing: their errors are honest for each model, and the bounds hold for all of them together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gapless._clock import now

FOLDED_ROWS = 3000  # up to here five folds choose, beyond one part in four
CONFIDENCE = 0.95


class Setting(NamedTuple):
    """An estimator to try."""

    words: str
    make: Callable[[], Any]


class Family(NamedTuple):
    name: str
    settings: tuple[Setting, ...]


@dataclass
class Tried:
    """The best setting of a family, fitted on all training rows."""

    name: str
    words: str
    model: Any
    validation: float
    seconds: float
    settings: int
    test: Any = None  # Errors or Residuals on the held-out rows
    bound: float | None = None

    @property
    def gap(self) -> str:
        """The certified relative gap, or what stands in its place."""
        certificate = self.model.certificate_
        if certificate.kind == "gap":
            return f"{certificate.relative_gap:.0e}" if certificate.relative_gap > 0 else "0"
        return str(certificate.kind)

    def document(self) -> dict[str, Any]:
        certificate = self.model.certificate_
        return {
            "model": self.name,
            "setting": self.words,
            "estimator": type(self.model).__name__,
            "validation": self.validation,
            "test": None if self.test is None else self.test.document(interval=True),
            "bound": self.bound,
            "kind": certificate.kind,
            "relative_gap": getattr(certificate, "relative_gap", None),
            "status": certificate.status,
            "seconds": self.seconds,
        }


@dataclass
class Comparison:
    tried: list[Tried] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    settings: int = 0
    validation: str = ""

    @property
    def best(self) -> Tried:
        """The smallest validation error; of equals the first, which is the simplest."""
        return min(self.tried, key=lambda each: each.validation)


def classifiers() -> tuple[Family, ...]:
    """Linear SVM, logistic regression, boosted stumps, bagged trees, RBF SVM."""
    from gapless import (
        SVC,
        AdaBoostClassifier,
        BaggingClassifier,
        DecisionTreeClassifier,
        LinearSVC,
        LogisticRegression,
    )

    def bagged(leaf: int) -> Any:
        return BaggingClassifier(
            DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0), n_estimators=50, random_state=0, n_jobs=-1
        )

    return (
        Family("linear SVM", tuple(Setting(f"C={C:g}", partial(LinearSVC, C=C)) for C in (0.01, 0.1, 1.0))),
        Family("logistic", tuple(Setting(f"C={C:g}", partial(LogisticRegression, C=C)) for C in (0.03, 0.3, 3.0))),
        Family("AdaBoost", (Setting("200 stumps", partial(AdaBoostClassifier, n_estimators=200, random_state=0)),)),
        Family("bagging", (Setting("50 trees", partial(bagged, 5)),)),
        Family("RBF SVM", tuple(Setting(f"C={C:g}", partial(SVC, C=C, n_jobs=-1)) for C in (1.0, 10.0))),
    )


def regressions() -> tuple[Family, ...]:
    """Least squares, ridge, RBF regression, bagged trees."""
    from gapless import SVR, BaggingRegressor, DecisionTreeRegressor, LinearRegression, Ridge

    def bagged() -> Any:
        return BaggingRegressor(
            DecisionTreeRegressor(min_samples_leaf=5, random_state=0), n_estimators=50, random_state=0, n_jobs=-1
        )

    return (
        Family("least squares", (Setting("no penalty", LinearRegression),)),
        Family("ridge", tuple(Setting(f"alpha={a:g}", partial(Ridge, alpha=a)) for a in (1.0, 10.0, 100.0))),
        Family("bagging", (Setting("50 trees", bagged),)),
        Family("RBF SVR", tuple(Setting(f"C={C:g}", partial(SVR, C=C)) for C in (1.0, 10.0))),
    )


def folds(y: np.ndarray, seed: int, labels: bool) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    """Training and validation rows, and in words how they were cut; classes keep their shares."""
    codes = np.unique(y, return_inverse=True)[1] if labels else np.zeros(len(y), dtype=np.int64)
    rare = int(np.bincount(codes).min())
    parts = 5 if len(y) <= FOLDED_ROWS else 4
    parts = max(2, min(parts, rare, len(y)))
    # Rows in random order, class after class, are dealt out as cards are: each part has its share of every class.
    order = np.random.RandomState(seed).permutation(len(y))
    if rare >= 2:
        order = order[np.argsort(codes[order], kind="stable")]
    part = np.empty(len(y), dtype=np.int64)
    part[order] = np.arange(len(y)) % parts
    found = [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(parts)]
    if len(y) > FOLDED_ROWS:
        return found[:1], f"one row in {parts}"
    return found, f"{parts} folds"


def compare(
    families: tuple[Family, ...],
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    seconds: float,
    seed: int,
    labels: bool,
    told: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Try every family; a family gets what is left of the time, in equal shares."""
    from gapless import config_context

    result = Comparison()
    cuts, result.validation = folds(y, seed, labels)
    end = now() + seconds
    with config_context(convergence="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, family in enumerate(families):
            left = end - now()
            if left <= 0 and result.tried:
                result.left_out[family.name] = "no time was left"
                continue
            told(family.name)
            try:
                found = _family(family, X, y, weights, cuts, max(left, 1.0) / (len(families) - k), labels)
            except (ValueError, NotImplementedError, MemoryError) as error:
                result.left_out[family.name] = " ".join(str(error).split())[:200]
                continue
            if found is None:
                result.left_out[family.name] = "its first fit took all of its time"
                continue
            result.tried.append(found)
            result.settings += found.settings
    if not result.tried:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in result.left_out.items())
        raise ValueError(f"no model could be fitted ({reasons})")
    _remember(result, sum(len(family.settings) for family in families), len(cuts))
    return result


def _remember(result: Comparison, candidates: int, parts: int) -> None:
    """The certificate of the chosen model says among how many settings the training rows may have chosen."""
    certificate = result.best.model.certificate_
    stated = {"method": "train", "candidates": candidates, "visited": result.settings, "folds": parts, "held_out": None}
    result.best.model.certificate_ = replace(certificate, statement={**certificate.statement, "tuning": stated})


def _family(
    family: Family, X: Any, y: np.ndarray, weights: np.ndarray | None, cuts: Any, share: float, labels: bool
) -> Tried | None:
    """The best setting by the validation rows, then fitted on all."""
    started = now()
    scores: list[tuple[float, int, Setting]] = []
    for number, setting in enumerate(family.settings):
        losses: list[float] = []
        sizes: list[int] = []
        for train, valid in cuts:
            left = share - (now() - started)
            if left <= 0.35 * share and (scores or losses):
                break
            model = _fit(setting, X[train], y[train], None if weights is None else weights[train], 0.4 * share)
            predicted = model.predict(X[valid])
            wrong = predicted != y[valid] if labels else (predicted - y[valid]) ** 2
            losses.append(float(np.sum(wrong)))
            sizes.append(len(valid))
        if losses and (len(losses) == len(cuts) or not scores):
            mean = sum(losses) / sum(sizes)
            scores.append((mean if labels else mean**0.5, number, setting))
    if not scores:
        return None
    error, _, setting = min(scores)
    before = now()
    model = _fit(setting, X, y, weights, max(share - (before - started), 0.4 * share))
    return Tried(family.name, setting.words, model, error, now() - started, len(scores))


def _fit(setting: Setting, X: Any, y: np.ndarray, weights: np.ndarray | None, seconds: float) -> Any:
    model = setting.make()
    if "time_limit" in model.get_params(deep=False):
        model.set_params(time_limit=round(max(seconds, 0.5), 1))
    return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)


def judge_by(result: Comparison, X: Any, y: np.ndarray) -> None:
    """Errors on rows that chose nothing, and what bounds all true errors together."""
    from gapless.cli.interval import Errors, errors_of, upper_bound

    for each in result.tried:
        each.test = errors_of(each.model, X, y)
        if isinstance(each.test, Errors):
            each.bound = upper_bound(each.test.wrong, each.test.rows, (1.0 - CONFIDENCE) / len(result.tried))


def table(result: Comparison) -> list[str]:
    """The comparison in lines of at most 100 characters; a star marks the chosen one."""
    labels = any(each.bound is not None for each in result.tried)
    validation = "validation" if labels else "rms valid."
    heads = ("", "model", "setting", validation, "held out", "95 % interval", "bound", "gap", "seconds")
    rows = []
    for each in result.tried:
        if each.test is None:
            held, interval, bound = "", "", ""
        elif labels:
            low, high = each.test.interval
            held, interval = f"{100 * each.test.rate:.2f} %", f"{100 * low:.2f} to {100 * high:.2f}"
            bound = "" if each.bound is None else f"{100 * each.bound:.2f} %"
        else:
            held, interval, bound = f"{each.test.root_mean_square:.5g}", "", ""
        valid = f"{100 * each.validation:.2f} %" if labels else f"{each.validation:.5g}"
        mark = "*" if each is result.best else ""
        rows.append((mark, each.name, each.words, valid, held, interval, bound, each.gap, f"{each.seconds:.1f}"))
    widths = [max(len(str(row[k])) for row in (heads, *rows)) for k in range(len(heads))]
    return [
        "  ".join(f"{cell:<{w}}" if k < 3 else f"{cell:>{w}}" for k, (cell, w) in enumerate(zip(row, widths))).rstrip()
        for row in (heads, *rows)
    ]
