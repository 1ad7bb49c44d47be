"""What a fit of rows in blocks will take: rounds, bytes and seconds, before there is a cluster.

    seconds =  readings x values / (rate of a core x workers)  +  Hessians x values x columns / 2 / (their rate x workers)
             + rounds x (4 latencies + 2 tasks a block x overhead)  +  bytes that travel / bandwidth

The rates of a core are measured here, on rows made for it, in half a second. How often rows are read, and how many rounds there
are, was measured for logistic regression and is an estimate for the hinge losses (`steps`). Everything else is a product: the
seconds are extrapolated unless rows and workers are those of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gapless import losses
from gapless._runtime.clock import now
from gapless.problems.linear import LinearProblem


class Steps(NamedTuple):
    """What fits to a relative gap of 1e-4 took, with a start from some rows: the largest of the sets of docs/scaling.md."""

    readings: int  #: of all rows, Hessians left out
    hessians: int
    rounds: int


class Cluster(NamedTuple):
    """What a plan is for. ``bandwidth`` in bytes a second, ``latency`` of one way in seconds, ``overhead`` of a task."""

    rows: float = 1e6
    columns: float = 100
    workers: float = 1
    item: float = 4  #: bytes of a value
    bandwidth: float = 1.25e8
    latency: float = 5e-4
    overhead: float = 1e-3
    block: float = 1.28e8  #: bytes of a block
    disk: float = math.inf  #: bytes a second that each worker reads, where its blocks are made in every task


class Rates(NamedTuple):
    """Of one core here, measured: values a second of a pass with losses and gradient, and multiplications of a Hessian."""

    values: float
    multiplications: float


class Planned(NamedTuple):
    """The plan of one fit."""

    rounds: int
    bytes_here: float  #: that come to the client and go to the workers
    compute: float
    reading: float
    waiting: float

    @property
    def seconds(self) -> float:
        return self.compute + self.reading + self.waiting


def steps() -> dict[str, Steps]:
    """For each loss."""
    return {"logistic": Steps(9, 3, 24), "squared_hinge": Steps(14, 6, 36), "hinge": Steps(60, 0, 120)}


def plan(cluster: Cluster, rates: Rates, loss: str) -> Planned:
    """Rounds, bytes and seconds of one fit."""
    n, d, many = cluster.rows, cluster.columns, max(1.0, cluster.workers)
    took = steps()[loss]
    values, blocks = n * d, max(many, math.ceil(n * d * cluster.item / cluster.block))
    compute = took.readings * values / (rates.values * many)
    compute += took.hessians * 0.5 * values * d / (rates.multiplications * many)
    reading = (took.readings + took.hessians) * values * cluster.item / (cluster.disk * many)
    groups = blocks if blocks <= 32 else math.ceil(blocks / 8)
    travels = took.readings * 8.0 * d * (groups + blocks) + took.hessians * 8.0 * d * d * groups
    waiting = took.rounds * (4.0 * cluster.latency + 2.0 * blocks * cluster.overhead) + travels / cluster.bandwidth
    return Planned(took.rounds, travels, compute, reading, waiting)


def measure_rates(columns: int = 100) -> Rates:
    """How fast a core of this machine is."""
    d = max(1, min(columns, 1000))
    n = max(2000, 4_000_000 // d)
    random = np.random.default_rng(0)
    X, y = random.random((n, d), np.float32), random.choice(np.array([-1, 1], np.int8), n)
    problem = LinearProblem.build(X, y, np.ones(n), losses.BY_NAME["logistic"], "free")
    at, theta = problem.new_point(), np.full(d + 1, 0.1)
    look = _fastest(lambda: problem.loss_and_gradient(theta, at))
    gram = _fastest(lambda: problem.gram(at.h))
    return Rates(n * d / look, 0.5 * n * d * d / gram)


def _fastest(work: Callable[[], object]) -> float:
    """Seconds of the best of three calls, after one that may compile."""
    work()
    found = []
    for _ in range(3):
        start = now()
        work()
        found.append(now() - start)
    return max(min(found), 1e-9)
