"""Which class is taken for which, how often, and where the true rates lie.

    confusion   counts[i, j]: rows of class i that were called class j
    recall      of class i: counts[i, i] of all rows of class i;      precision of class j: of all rows that were called j
    two classes, the second the positive one: false positive rate, of the negative rows; false negative rate, of the positive ones

Each rate is a binomial given the number of rows that it is a share of, so that its interval is exact (Clopper-Pearson) - for rows
that were neither trained on nor used to choose anything.  On the training rows of a model of ours the intervals are refused.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.readings.training_rows import is_training_data
from gapless.theory.inputs import as_probability
from gapless.theory.samples.hoeffding import Interval, clopper_pearson

__all__ = ["Confusion", "confusion"]


@result
@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts and rates; every rate an `Interval` at confidence 1 - delta (each, or all together: ``simultaneous``).

    Attributes
    ----------
    classes : classes, in the order of the counts
    counts : rows of class i that are called j
    delta : probability with which the statement may fail
    simultaneous : whether all intervals hold together with confidence 1 - delta
    trained_on : None: not known
    """

    classes: np.ndarray
    counts: np.ndarray
    delta: float
    simultaneous: bool
    trained_on: bool | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def rates(self) -> int:
        """How many intervals there are: the error, and recall and precision of each class."""
        return 1 + 2 * len(self.classes)

    def _interval(self, k: int, n: int) -> Interval | None:
        if n == 0:
            return None
        found = clopper_pearson(k, n, self.delta / self.rates if self.simultaneous else self.delta)
        if self.trained_on:
            raise ValueError("these rows were trained on: no interval for the rate on new rows follows from them")
        return found

    @property
    def error(self) -> Interval:
        """The share of rows that are wrong."""
        found = self._interval(self.n - int(np.trace(self.counts)), self.n)
        assert found is not None
        return found

    def recall(self, label: Any) -> Interval | None:
        """Rows of this class that are called so; None without rows of it. ``label`` is the class."""
        i = self._place(label)
        return self._interval(int(self.counts[i, i]), int(self.counts[i].sum()))

    def precision(self, label: Any) -> Interval | None:
        """Rows called so that are of this class; None where none is called so. ``label`` is the class."""
        i = self._place(label)
        return self._interval(int(self.counts[i, i]), int(self.counts[:, i].sum()))

    @property
    def false_positive_rate(self) -> Interval | None:
        """Two classes: rows of the first that are called the second."""
        self._two()
        return self._interval(int(self.counts[0, 1]), int(self.counts[0].sum()))

    @property
    def false_negative_rate(self) -> Interval | None:
        """Two classes: rows of the second that are called the first."""
        self._two()
        return self._interval(int(self.counts[1, 0]), int(self.counts[1].sum()))

    def _two(self) -> None:
        if len(self.classes) != 2:
            raise ValueError(f"there are {len(self.classes)} classes: ask for recall and precision of one of them")

    def _place(self, label: Any) -> int:
        found = np.flatnonzero(self.classes == label)
        if found.size != 1:
            raise ValueError(f"no class {written(label)}; there are {', '.join(map(repr, self.classes.tolist()))}")
        return int(found[0])

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        """What a notebook shows: a line for each true class."""
        names = [str(c) for c in self.classes.tolist()]
        return ["", *(f"called {name}" for name in names)], [[n, *row] for n, row in zip(names, self.counts.tolist())]

    def __str__(self) -> str:
        names = [str(c) for c in self.classes.tolist()]
        wide = max(7, *(len(name) for name in names), len(f"{self.counts.max():,}"))
        lines = [" " * (wide + 2) + " ".join(f"{name:>{wide}}" for name in names) + "   (called)"]
        lines += [
            f"{name:>{wide}}  " + " ".join(f"{v:>{wide},}" for v in row)
            for name, row in zip(names, self.counts.tolist())
        ]
        if self.trained_on:
            wrong = self.n - int(np.trace(self.counts))
            return "\n".join(
                [
                    *lines,
                    f"{wrong:,} of {self.n:,} wrong, on the rows that were trained on: this says nothing of new rows",
                ]
            )
        together = "together" if self.simultaneous else "each"
        lines.append(f"exact intervals at confidence {1 - self.delta:g} {together}:")
        lines.append(_shown("error", self.error))
        for name, label in zip(names, self.classes):
            lines += [_shown(f"recall {name}", self.recall(label)), _shown(f"precision {name}", self.precision(label))]
        if self.trained_on is None:
            lines.append("(they hold for rows that were neither trained on nor used to choose anything)")
        else:
            lines.append("(these are not the rows that were trained on; they must not have chosen anything either)")
        return "\n".join(lines)


def _shown(name: str, found: Interval | None) -> str:
    if found is None:
        return f"  {name}: no rows"
    return f"  {name}: {found.rate:.4f}, between {found.low:.4f} and {found.high:.4f} ({found.errors:g} of {found.n:,})"


def confusion(
    model: Any, X: Any = None, y: Any = None, delta: Any = 0.05, simultaneous: bool = False, predicted: Any = None
) -> Confusion:
    """The confusion matrix of a fitted classifier on X, y, or of labels that were predicted already.

    ``confusion(model, X, y)``, or ``confusion(None, y=y, predicted=...)``.  Models of ours know their training rows: on those the
    matrix is given and its intervals are refused.  ``simultaneous``: delta is shared out over all rates.

    Parameters
    ----------
    model : fitted classifier, or None with ``predicted``
    X, y : rows that the model was not trained on, and their labels
    delta : probability with which the statement may fail
    simultaneous : whether delta is shared out over all rates, so that they hold together
    predicted : labels that were predicted already, in place of a model
    """
    delta = as_probability(delta)
    if y is None:
        raise ValueError("the true labels y are needed")
    true = np.asarray(y).ravel()
    if (model is None) == (predicted is None):
        raise ValueError("give a model with X, or predicted labels")
    trained_on = None
    if model is not None:
        if X is None:
            raise ValueError("the rows X are needed")
        found = np.asarray(model.predict(X)).ravel()
        trained_on = is_training_data(model, X)
    else:
        found = np.asarray(predicted).ravel()
    if found.shape != true.shape or true.size == 0:
        raise ValueError(f"there are {true.size} true labels and {found.size} predicted ones")
    known = [np.asarray(model.classes_)] if hasattr(model, "classes_") else []
    classes, coded = np.unique(np.concatenate([true, found, *known]), return_inverse=True)
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, (coded[: true.size], coded[true.size : 2 * true.size]), 1)
    if trained_on:
        warnings.warn(
            "these rows were trained on: the counts say nothing of new rows, and have no intervals",
            UserWarning,
            stacklevel=2,
        )
    return Confusion(classes, counts, delta, bool(simultaneous), trained_on)
