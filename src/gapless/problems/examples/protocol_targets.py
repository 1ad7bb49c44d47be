"""The verbs of least squares: K targets for each example. See `protocol` for what a handle is, and for the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gapless.problems.examples.protocol import Handle, Tick


class TargetExamples(Protocol):
    """K targets for each example; see `problems/least_squares`. Residuals and dual points are handles."""

    @property
    def n(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def K(self) -> int: ...
    @property
    def sparse(self) -> bool: ...
    @property
    def one_by_one(self) -> bool: ...
    @property
    def offset(self) -> bool: ...
    @property
    def alpha(self) -> np.ndarray:
        """The penalty of each target."""

    @property
    def look(self) -> Callable[[], None] | None:
        """Raises where X is not finite."""

    @property
    def common(self) -> np.ndarray | None: ...
    @property
    def mass(self) -> float:
        """The sum of the weights."""

    @property
    def mean_y(self) -> np.ndarray: ...
    @property
    def columns(self) -> Any:
        """Mean, length, and length about the mean of each column."""

    @property
    def tss(self) -> np.ndarray: ...
    @property
    def largest(self) -> np.ndarray: ...
    @property
    def varying(self) -> tuple[np.ndarray, np.ndarray]: ...

    def typical_row(self) -> np.ndarray: ...
    def moments(self, centre: np.ndarray, centre_y: np.ndarray, tick: Tick = None) -> np.ndarray:
        """sum_i s_i t_i t_i' of t = (x - centre, y - centre_y, 1)."""

    def triangle(
        self, centre: np.ndarray | None, centre_y: np.ndarray, scale: np.ndarray, tick: Tick = None
    ) -> np.ndarray: ...
    def know_columns(self, size: Any) -> None: ...
    def scales(self) -> np.ndarray: ...
    def residuals(self, W: np.ndarray, b: np.ndarray, tick: Tick = None) -> tuple[Handle, np.ndarray]:
        """The residuals, and half of minus the gradient there."""

    def centred_residuals(self, W: np.ndarray, tick: Tick = None) -> tuple[Handle, np.ndarray, np.ndarray]: ...
    def rss(self, left: Handle) -> np.ndarray: ...
    def residual_error(self, W: np.ndarray, b: np.ndarray, unit: float = 0.0) -> np.ndarray: ...
    def orthogonality(self, left: Handle, gradient: np.ndarray) -> np.ndarray: ...
    def orthogonality_error(self, left: Handle, error: np.ndarray) -> np.ndarray: ...
    def dual_point(self, k: int, left: Handle) -> Handle: ...
    def gap(self, k: int, w: np.ndarray, b: float, u: Handle) -> Any: ...
    def own_gap(self, k: int, w: np.ndarray, b: float) -> Any | None:
        """The gap at the residuals that were measured last, with their dual point; None where that asks for another pass."""

    def zero_duals(self) -> Handle: ...
    def put_dual(self, duals: Handle | None, k: int, u: Handle) -> Handle:
        """``duals`` (K of them), None before the first, with the dual point of target k."""

    def stretched(self, u: Handle, t: float) -> Handle:
        """t u"""
