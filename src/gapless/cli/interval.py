"""Errors on rows not trained on: of labels with the exact interval, of numbers as root mean square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


def clopper_pearson(wrong: int, rows: int, confidence: float = 0.95) -> tuple[float, float]:
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

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> Errors:
        import numpy as np

        return cls(int(np.count_nonzero(np.asarray(model.predict(X)) != np.asarray(y))), len(y))

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
        return f"{self}, 95 % interval {100 * low:.2f} % to {100 * high:.2f} % (exact, Clopper-Pearson)"

    def document(self, interval: bool = False) -> dict[str, Any]:
        numbers: dict[str, Any] = {"wrong": self.wrong, "rows": self.rows, "error": self.rate}
        if interval:
            numbers |= {"interval": list(self.interval), "confidence": 0.95, "method": "clopper-pearson"}
        return numbers


@dataclass(frozen=True)
class Residuals:
    """How far the predictions of a regression are from the targets."""

    root_mean_square: float
    r2: float
    rows: int

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> Residuals:
        return cls.between(model.predict(X), y)

    @classmethod
    def between(cls, predicted: Any, y: Any) -> Residuals:
        import numpy as np

        y = np.asarray(y, dtype=np.float64)
        rss, tss = float(((y - predicted) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
        return cls((rss / len(y)) ** 0.5, 1.0 - rss / tss if tss > 0 else float("nan"), len(y))

    def __str__(self) -> str:
        return f"{self.root_mean_square:.6g} (root mean square, {self.rows} rows), R2 {self.r2:.6g}"

    def with_interval(self) -> str:
        return str(self)  # an interval would need to know how the errors are distributed

    def document(self, interval: bool = False) -> dict[str, Any]:
        return {"root_mean_square": self.root_mean_square, "r2": self.r2, "rows": self.rows}


def errors_of(model: Any, X: Any, y: Any) -> Errors | Residuals:
    """Labels that are wrong, or the residuals of a regression."""
    return Errors.of(model, X, y) if hasattr(model, "classes_") else Residuals.of(model, X, y)
