"""What a data frame must be before it is read."""

from __future__ import annotations

from typing import Any


def refuse_lazy(X: Any) -> None:
    """A lazy frame is a plan, not data: scikit-learn's reader would take it for an object and fail in riddles."""
    if hasattr(X, "collect") and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, a plan without rows: call .collect() first")
