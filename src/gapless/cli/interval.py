"""Errors on given rows: of labels as a share, with the exact interval where the rows are new; of numbers as root mean square.

Rows that a model was trained on say nothing of new rows. `Split` takes them out, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95


def clopper_pearson(wrong: int, rows: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of an error rate from `wrong` errors on `rows` independent rows.

    The ends are the rates at which so many errors or more (low end), and so many or fewer (high end), have
    probability (1 - confidence) / 2.
    """
    from scipy.stats import beta

    if not 0 <= wrong <= rows or rows < 1:
        raise ValueError(f"{wrong} errors on {rows} rows")
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if wrong == 0 else float(beta.ppf(tail, wrong, rows - wrong + 1))
    high = 1.0 if wrong == rows else float(beta.ppf(1.0 - tail, wrong + 1, rows - wrong))
    return low, high


def upper_bound(wrong: int, rows: int, delta: float) -> float:
    """What the error rate is below, but for a probability of delta: the largest rate at which so few errors are that likely."""
    from scipy.stats import beta

    return 1.0 if wrong == rows else float(beta.ppf(1.0 - delta, wrong + 1, rows - wrong))


@dataclass(frozen=True)
class Errors:
    """How many rows a model got wrong."""

    wrong: int
    rows: int

    @property
    def rate(self) -> float:
        return self.wrong / self.rows

    @property
    def interval(self) -> tuple[float, float]:
        return clopper_pearson(self.wrong, self.rows)

    def __str__(self) -> str:
        return f"{100 * self.rate:.2f} % ({self.wrong} of {self.rows})"

    def with_interval(self) -> str:
        low, high = self.interval
        share = f"{100 * CONFIDENCE:g} % interval"
        return f"{self}, {share} {100 * low:.2f} % to {100 * high:.2f} % (exact, Clopper-Pearson)"

    def document(self, interval: bool = False) -> dict[str, Any]:
        numbers: dict[str, Any] = {"wrong": self.wrong, "rows": self.rows, "error": self.rate}
        if interval:
            numbers |= {"interval": list(self.interval), "confidence": CONFIDENCE, "method": "clopper-pearson"}
        return numbers


@dataclass(frozen=True)
class Residuals:
    """How far the predictions of a regression are from the targets."""

    root_mean_square: float
    mean_absolute: float
    r2: float
    rows: int

    @classmethod
    def between(cls, predicted: Any, y: Any) -> Residuals:
        import numpy as np

        y = np.asarray(y, dtype=np.float64)
        off = y - predicted
        rss, tss = float((off**2).sum()), float(((y - y.mean()) ** 2).sum())
        r2 = 1.0 - rss / tss if tss > 0 else float("nan")
        return cls((rss / len(y)) ** 0.5, float(np.abs(off).mean()), r2, len(y))

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        r2 = f", R2 {self.r2:.6g}" if self.r2 == self.r2 else ""
        return f"{self.root_mean_square:.6g} (root mean square, {rows}), mean absolute {self.mean_absolute:.6g}{r2}"

    def with_interval(self) -> str:
        return str(self)  # an interval would need to know how the errors are distributed

    def document(self, interval: bool = False) -> dict[str, Any]:
        return {
            "root_mean_square": self.root_mean_square,
            "mean_absolute": self.mean_absolute,
            "r2": self.r2,
            "rows": self.rows,
        }


def errors_of(predicted: Any, y: Any, labels: bool) -> Errors | Residuals:
    """Labels that are wrong, or the residuals of a regression."""
    import numpy as np

    if labels:
        return Errors(int(np.count_nonzero(np.asarray(predicted) != np.asarray(y))), len(y))
    return Residuals.between(predicted, y)


@dataclass(frozen=True)
class Split:
    """Errors on rows of a file, those that were trained on apart from the others."""

    rows: int
    trained: Errors | Residuals | None  # None: no row was trained on, as far as is known
    others: Errors | Residuals | None  # None: every row was trained on
    found: Any  # Trained; None: the model does not say which rows it was trained on

    @classmethod
    def from_model(cls, model: Any, X: Any, y: Any, predicted: Any = None) -> Split:
        import numpy as np

        from gapless.readings.training_rows import trained_on  # with numpy, which the help does without

        predicted = np.asarray(model.predict(X) if predicted is None else predicted)
        labels, y, found = hasattr(model, "classes_"), np.asarray(y), trained_on(model, X)
        mask = np.zeros(len(y), dtype=bool) if found is None else found.mask
        parts = [errors_of(predicted[part], y[part], labels) if part.any() else None for part in (mask, ~mask)]
        return cls(len(y), parts[0], parts[1], found)

    def __str__(self) -> str:
        """One sentence: of which rows the error is, and of which the interval."""
        if self.trained is None:
            assert self.others is not None
            return f"error {self.others.with_interval()}; {self._why_new()}"
        were = "were trained on" if self.found.certain else "equal rows that were trained on"
        if self.others is None:
            return (
                f"all {self.rows} rows {were}: error {self.trained}, which says nothing of new rows and has no interval"
            )
        seen = (
            f"{self.trained.rows} of the {self.rows} rows {were}: error {self.trained}, which says nothing of new rows"
        )
        return f"{seen}; the {self.others.rows} others: error {self.others.with_interval()}"

    def _why_new(self) -> str:
        if self.found is None:
            return "this says something of new rows if none of these was trained on, which the model file does not tell"
        return alike(self.found, self.rows) or "none of these rows was trained on"

    def document(self) -> dict[str, Any]:
        """The entries ``test`` (rows that were not trained on) and ``training`` of a JSON answer."""
        return {
            "test": None if self.others is None else self.others.document(interval=True),
            "training": None if self.trained is None else self.trained.document(),
            "training_rows": None if self.found is None else int(self.found.mask.sum()),
        }


def alike(found: Any, rows: int) -> str | None:
    """What to say of rows that equal training rows by chance; None without any."""
    if not found.alike:
        return None
    chance = f"no more than chance gives ({100 * found.twins:.3g} % of the training rows equal another)"
    return (
        f"{found.alike} of the {rows} rows equal training rows, {chance}: this holds if they are new rows all the same"
    )
