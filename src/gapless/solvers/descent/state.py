"""The arrays and numbers of a descent that compiled steps read and write.

Rows are read at K scores each: K = 1 but for softmax.  theta has ``width`` entries for each score.  The sum of iterates that
an average needs is S v - B:  after  v += a x  the sums  S = sum of s  of the steps before must not count a x, so B += S a x.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class ScoreVectors(NamedTuple):
    """Work vectors of a row with K scores: the scores, and the probabilities that softmax makes of them."""

    z: np.ndarray
    share: np.ndarray


class Examples(NamedTuple):
    """The data and the objective. ``rows`` has no constant feature where the offset is free, ``whole`` always has it."""

    rows: Any
    whole: Any
    y: np.ndarray
    p: np.ndarray
    weighted: bool
    lam: float
    free: bool
    width: int
    scores: Any  # ScoreVectors of softmax; None: one score a row


class StepRange(NamedTuple):
    """Steps t + first + 1 ... t + last: step t + k + 1 takes the examples order[k size : (k + 1) size] at rates[k]."""

    order: np.ndarray
    size: int
    rates: np.ndarray
    first: int
    last: int
    t: int
    far: bool  # rows come in an order that the memory cannot guess


class StepRule(NamedTuple):
    """Plain steps against the gradient, momentum (Polyak's heavy ball) or Adam, and their memory."""

    momentum: bool
    adam: bool
    beta: float
    beta2: float
    epsilon: float


class TraceBook(NamedTuple):
    """The rows of the trace, one at every ``every``-th step (0: none). When it is full, every second row goes."""

    step: np.ndarray
    rate: np.ndarray
    loss: np.ndarray
    norm: np.ndarray
    held: np.ndarray
    theta: np.ndarray
    direction: np.ndarray
    gradient: np.ndarray
    filled: np.ndarray
    every: np.ndarray


class IterateSums(NamedTuple):
    """B of the average and u, the dual point with w = sum u_i x_i that steps from 0 make on the way."""

    B: np.ndarray
    u: np.ndarray
    average: int  # 0: none, 1: all iterates count alike, 2: the t-th counts t times
    begin: int  # the first step that counts
    keep: bool  # u is kept


class StepVectors(NamedTuple):
    """Work vectors of `full_gradient_steps`; ``broke``, ``broke_gradient``: where a step first decreased f too little."""

    velocity: np.ndarray
    square: np.ndarray
    step: np.ndarray
    gradient: np.ndarray
    before: np.ndarray
    before_gradient: np.ndarray
    broke: np.ndarray
    broke_gradient: np.ndarray
    best: np.ndarray


def new_state(small: float, limit: float) -> Any:
    """The numbers that a descent keeps between two calls of a kernel: a record of float64.

    w = scale v; scale_sum, offset_sum and weight_sum make the average; dual_scale multiplies u.  ``broken_off`` is the step at
    which a number left the finite range, -1 before.  The other numbers watch full gradients: the last ``value`` and ``norm``,
    the decrease that the last step ``promised`` to first order and its rate, the best value with its step, the step that first
    decreased too little.  ``converged`` (a gradient shorter than ``small``), ``rose`` (a value above ``limit``)
    and ``last`` (the step) say how it ended.
    """
    starts = {
        "scale": 1.0, "offset": 0.0, "scale_sum": 0.0, "offset_sum": 0.0, "weight_sum": 0.0, "dual_scale": 1.0,
        "broken_off": -1.0, "value": 0.0, "norm": 0.0, "promised": np.nan, "last_rate": 0.0, "best": np.inf, "best_step": 0.0,
        "broke_step": -1.0, "broke_rate": 0.0, "converged": 0.0, "rose": 0.0, "last": 0.0, "small": small, "limit": limit,
    }  # fmt: skip
    return np.array([tuple(starts.values())], np.dtype((np.record, [(name, float) for name in starts])))[0]
