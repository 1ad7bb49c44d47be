"""Scores by which `gapless train` chooses, and the figures that its table shows beside the error.

    balanced error   the mean, over the classes, of the share of a class's rows that is called something else
    recall           of a class: the share of its rows that is called so
    AUC              of a class: the probability that a row of it scores higher than a row of another (ties count half); of a
                     model: the mean over the classes (which are equal where there are two)

A score of a setting is taken over all validation rows together. AUC and scikit-learn's own scorers compare scores of one fit
only: they are taken on each validation part, and averaged by rows over the parts on which they are defined.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CHANCE = 0.05  # a difference with a larger p-value is not told apart from chance


@dataclass(frozen=True)
class Answers:
    """What a model says of rows whose targets are known."""

    y: np.ndarray
    predicted: np.ndarray
    classes: np.ndarray | None = None  # of all training rows, sorted; None: a regression
    scores: np.ndarray | None = None  # (rows, classes): larger is more likely
    chances: np.ndarray | None = None  # (rows, classes): probabilities
    judged: float | None = None  # the value of a scorer of scikit-learn

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: np.ndarray,
        classes: np.ndarray | None,
        scoring: Scoring | None = None,
        *,
        ranks: bool = False,
    ) -> Answers:
        """Ask a fitted model what the scoring needs, and, with ``ranks``, scores for an AUC.

        A model that was fitted on rows without a class gives that class the least score.
        """
        predicted = np.asarray(model.predict(X))
        judged = None if scoring is None or scoring.scorer is None else _judged(scoring.scorer, model, X, y)
        if classes is None:
            return cls(y, predicted, judged=judged)
        ranked = ranks or (scoring is not None and scoring.name == "auc")
        by_chances = ranked and not hasattr(model, "decision_function")
        scores = chances = None
        if by_chances or (scoring is not None and scoring.chances):
            chances = _aligned(np.asarray(model.predict_proba(X), dtype=np.float64), model, classes, 0.0)
        if ranked:
            scores = chances
            if not by_chances:
                scores = _aligned(np.asarray(model.decision_function(X), dtype=np.float64), model, classes, -np.inf)
        return cls(y, predicted, classes, scores, chances, judged)


def _aligned(values: np.ndarray, model: Any, classes: np.ndarray, absent: float) -> np.ndarray:
    """One column for each of ``classes``, from one for each of the model's own (or one for its second against its first)."""
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    found = np.full((len(values), len(classes)), absent)
    found[:, np.searchsorted(classes, model.classes_)] = values
    return found


def _judged(scorer: Any, model: Any, X: Any, y: np.ndarray) -> float:
    """A scorer's value; NaN where it is not defined, as for a part without rows of a class."""
    try:
        return _ask(scorer, model, X, y)
    except AttributeError:
        raise ValueError(f"{type(model).__name__} gives no probabilities, which the score needs") from None
    except ValueError:
        return math.nan


def _ask(scorer: Any, model: Any, X: Any, y: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(scorer(model, X, y))


# ------------------------------------------------------------------ figures


def recalls(y: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> list[tuple[int, int]]:
    """(rows found, rows) of each class."""
    right = predicted == y
    return [(int(np.count_nonzero(right & (y == each))), int(np.count_nonzero(y == each))) for each in classes.tolist()]


def balanced_error(y: np.ndarray, predicted: np.ndarray) -> float:
    """The mean error of the classes that have rows."""
    wrong = predicted != y
    return float(np.mean([np.mean(wrong[y == each]) for each in np.unique(y).tolist()]))


def auc(y: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> float:
    """The mean area under the ROC curve of each class against the rest; NaN where no class has rows on both sides."""
    from scipy.stats import rankdata

    ranks = np.column_stack([rankdata(column) for column in scores.T])
    return _auc_of_ranks(np.searchsorted(classes, y), ranks, np.isin(y, classes))


def _auc_of_ranks(index: np.ndarray, ranks: np.ndarray, known: np.ndarray) -> float:
    n, found = len(index), []
    for k in range(ranks.shape[1]):
        inside = (index == k) & known
        m = int(np.count_nonzero(inside))
        if 0 < m < n:
            found.append((ranks[inside, k].sum() - 0.5 * m * (m + 1)) / (m * (n - m)))
    return float(np.mean(found)) if found else math.nan


def log_loss(y: np.ndarray, chances: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """-ln of the probability of the true class of each row; no probability is below 2.2e-16, as in scikit-learn."""
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    chance = np.where(classes[place] == y, chances[np.arange(len(y)), place], 0.0)
    return np.asarray(-np.log(np.clip(chance, np.finfo(np.float64).eps, 1.0)))


def r2(y: np.ndarray, predicted: np.ndarray) -> float:
    spread = float(np.sum((y - y.mean()) ** 2))
    return 1.0 - float(np.sum((y - predicted) ** 2)) / spread if spread > 0 else math.nan


# ------------------------------------------------------------------ scorings


@dataclass(frozen=True)
class Scoring:
    """What chooses among settings."""

    name: str
    words: str  # as "the smallest error"
    larger: bool = False  # whether larger is better
    share: bool = False  # printed in per cent
    chances: bool = False  # needs probabilities
    scorer: Any = None  # of scikit-learn
    of_parts: Callable[[Sequence[Answers]], float] | None = None

    def of(self, parts: Sequence[Answers]) -> float:
        """The score over the validation parts of a setting."""
        if self.of_parts is None:
            return _mean_of_parts(parts, lambda part: math.nan if part.judged is None else part.judged)
        return self.of_parts(parts)

    def loss(self, score: float) -> float:
        """The score, so turned that smaller is better; an undefined score is the worst."""
        return math.inf if math.isnan(score) else -score if self.larger else score

    def shown(self, score: float) -> str:
        if math.isnan(score):
            return "none"
        return f"{100 * score:.2f} %" if self.share else f"{score:.5g}"


def _together(parts: Sequence[Answers], name: str) -> np.ndarray:
    return np.concatenate([getattr(part, name) for part in parts])


def _mean_of_parts(parts: Sequence[Answers], value: Callable[[Answers], float]) -> float:
    """The mean by rows over the parts on which the value is defined."""
    found = [(value(part), len(part.y)) for part in parts]
    rows = sum(n for each, n in found if not math.isnan(each))
    return sum(each * n for each, n in found if not math.isnan(each)) / rows if rows else math.nan


def _error(parts: Sequence[Answers]) -> float:
    return float(np.mean(_together(parts, "predicted") != _together(parts, "y")))


def _balanced(parts: Sequence[Answers]) -> float:
    return balanced_error(_together(parts, "y"), _together(parts, "predicted"))


def _auc(parts: Sequence[Answers]) -> float:
    return _mean_of_parts(parts, lambda part: auc(part.y, part.scores, part.classes))  # type: ignore[arg-type]


def _log_loss(parts: Sequence[Answers]) -> float:
    return float(np.mean(np.concatenate([log_loss(part.y, part.chances, part.classes) for part in parts])))  # type: ignore[arg-type]


def _absolute(parts: Sequence[Answers]) -> float:
    return float(np.mean(np.abs(_together(parts, "y") - _together(parts, "predicted"))))


def _rmse(parts: Sequence[Answers]) -> float:
    return float(np.sqrt(np.mean((_together(parts, "y") - _together(parts, "predicted")) ** 2)))


def _r2(parts: Sequence[Answers]) -> float:
    return r2(_together(parts, "y"), _together(parts, "predicted"))


CLASSES = {
    "error": Scoring("error", "smallest error", share=True, of_parts=_error),
    "balanced_error": Scoring("balanced_error", "smallest balanced error", share=True, of_parts=_balanced),
    "auc": Scoring("auc", "largest AUC", larger=True, of_parts=_auc),
    "log_loss": Scoring("log_loss", "smallest log loss", chances=True, of_parts=_log_loss),
}
NUMBERS = {
    "rmse": Scoring("rmse", "smallest root mean square error", of_parts=_rmse),
    "mae": Scoring("mae", "smallest mean absolute error", of_parts=_absolute),
    "r2": Scoring("r2", "largest R2", larger=True, of_parts=_r2),
}
#: scikit-learn's names of the same.
SAME = {
    "accuracy": "error",
    "balanced_accuracy": "balanced_error",
    "roc_auc": "auc",
    "neg_log_loss": "log_loss",
    "neg_root_mean_squared_error": "rmse",
    "neg_mean_squared_error": "rmse",
    "neg_mean_absolute_error": "mae",
}


def check_name(name: str | None) -> None:
    """Before a file is read: a ValueError for a name that no scoring has."""
    from sklearn.metrics import get_scorer_names

    if name is None or name in CLASSES or name in NUMBERS or name in get_scorer_names():
        return
    from difflib import get_close_matches

    near = get_close_matches(name, [*CLASSES, *NUMBERS, *get_scorer_names()], 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ValueError(
        f"--scoring {name}: no such score; {hint}It is {', '.join(CLASSES)} (classes), {', '.join(NUMBERS)} (numbers), or the "
        "name of a scorer of scikit-learn"
    )


def scoring_of(name: str | None, labels: bool) -> Scoring:
    """A scoring by its name or by scikit-learn's; the default is the error, or the root mean square error."""
    check_name(name)
    own, other = (CLASSES, NUMBERS) if labels else (NUMBERS, CLASSES)
    name = next(iter(own)) if name is None else name
    short = SAME.get(name, name)
    if short in own:
        return own[short]
    if short in other:
        holds = "classes" if labels else "numbers"
        raise ValueError(f"--scoring {name}: the target holds {holds}; choose by {', '.join(own)}")
    from sklearn.metrics import get_scorer

    return Scoring(name, f"largest {name}", larger=True, scorer=get_scorer(name))


def scikit_name(name: str, labels: bool) -> str:
    """scikit-learn's name of a scoring; its own names stay."""
    from sklearn.metrics import get_scorer_names

    short = scoring_of(name, labels).name
    if name in get_scorer_names():
        return name
    return next(known for known, ours in SAME.items() if ours == short)


def check_defined(scoring: Scoring, model: Any, X: Any, y: np.ndarray) -> None:
    """Before anything is fitted: a ValueError where a scorer of scikit-learn has no value for such targets."""
    if scoring.scorer is None:
        return
    try:
        value = _ask(scoring.scorer, model, X, y)
    except (ValueError, TypeError) as error:
        raise ValueError(f"--scoring {scoring.name}: {error}") from None
    if math.isnan(value):
        raise ValueError(f"--scoring {scoring.name}: it has no value for such targets")


# ------------------------------------------------------------------ chance


@dataclass(frozen=True)
class Chance:
    """Whether a model is better than the baseline on held-out rows, and how likely chance alone is to look so."""

    better: bool
    p_value: float
    how: str

    @property
    def beaten(self) -> bool:
        return self.better and self.p_value <= CHANCE


def against_baseline(scoring: Scoring, model: Answers, baseline: Answers) -> Chance | None:
    """Compare a model that these rows did not choose with the baseline on them; None for a scorer without a test."""
    if scoring.scorer is not None:
        return None
    ours, theirs = scoring.of([model]), scoring.of([baseline])
    if math.isnan(ours) or math.isnan(theirs):
        return None
    better = scoring.loss(ours) < scoring.loss(theirs)
    if scoring.name == "error":
        return _sign_test(better, model, baseline)
    if scoring.name in ("balanced_error", "auc"):
        return _shuffled(scoring, better, model)
    from scipy.stats import ttest_1samp

    gain = _losses(scoring, baseline) - _losses(scoring, model)
    if len(gain) < 2 or not np.ptp(gain) > 0:
        return Chance(better, 1.0, "too few rows to tell")
    return Chance(better, float(ttest_1samp(gain, 0.0, alternative="greater").pvalue), "paired t test")


def _sign_test(better: bool, model: Answers, baseline: Answers) -> Chance:
    """Rows where one of both is right: a coin tells which, if they are equally good (McNemar's exact test)."""
    from scipy.stats import binomtest

    ours, theirs = model.predicted == model.y, baseline.predicted == baseline.y
    for_us, for_them = int(np.count_nonzero(ours & ~theirs)), int(np.count_nonzero(theirs & ~ours))
    p = 1.0 if for_us + for_them == 0 else float(binomtest(for_us, for_us + for_them, alternative="greater").pvalue)
    return Chance(better, p, f"{for_us} against {for_them} of the rows where one of both is right: exact sign test")


def _shuffled(scoring: Scoring, better: bool, model: Answers) -> Chance:
    """The share of shuffles of the labels that score as well or better."""
    shuffled_scores = 100_000  # beyond, AUC of several classes is compared with a tenth as many
    # Shuffles of the labels that a balanced error is compared with, and an AUC of several classes: the least p-value is 1 / 1000.
    n_shuffles = 999
    assert model.classes is not None
    random, shuffles = np.random.RandomState(0), n_shuffles
    if scoring.name == "balanced_error":
        from scipy.stats import random_table

        names, index = np.unique(np.concatenate([model.y, model.predicted]), return_inverse=True)
        n, K = len(model.y), len(names)
        table = np.bincount(index[:n] * K + index[n:], minlength=K * K).reshape(K, K)
        rows, called = table.sum(axis=1), table.sum(axis=0)
        there = rows > 0
        drawn = random_table(rows, called, seed=random).rvs(n_shuffles)

        def recall(tables: np.ndarray) -> np.ndarray:
            found = np.diagonal(tables, axis1=-2, axis2=-1)[..., there] / rows[there]
            return np.asarray(found.mean(axis=-1))

        as_good = int(np.count_nonzero(recall(drawn) >= recall(table) - 1e-12))
    else:
        from scipy.stats import rankdata

        assert model.scores is not None
        if len(model.classes) == 2:
            from scipy.stats import mannwhitneyu

            of_second = model.y == model.classes[1]
            sides = model.scores[of_second, 1], model.scores[~of_second, 1]
            return Chance(better, float(mannwhitneyu(*sides, alternative="greater").pvalue), "Mann-Whitney test")
        ranks = np.column_stack([rankdata(column) for column in model.scores.T])
        index, known = np.searchsorted(model.classes, model.y), np.isin(model.y, model.classes)
        ours = _auc_of_ranks(index, ranks, known)
        as_good, shuffles = 0, n_shuffles if ranks.size <= shuffled_scores else n_shuffles // 10
        for _ in range(shuffles):
            order = random.permutation(len(index))
            as_good += _auc_of_ranks(index[order], ranks, known[order]) >= ours - 1e-12
    return Chance(better, (1 + as_good) / (1 + shuffles), f"{shuffles} shuffles of the labels")


def _losses(scoring: Scoring, answers: Answers) -> np.ndarray:
    """The loss of each row that the score is the mean of."""
    if scoring.name == "log_loss":
        assert answers.chances is not None
        assert answers.classes is not None
        return log_loss(answers.y, answers.chances, answers.classes)
    off = np.abs(answers.y - answers.predicted)
    return np.asarray(off if scoring.name == "mae" else off**2)
