"""The ghost sample, drawn: where the 2n, the 4 and the 1/8 of the VC inequality come from.

    D, D'      two independent samples of n rows, E_in and E_in' the errors of a hypothesis on them
    step 1     (1 - 2 exp(-epsilon^2 n/2)) P(sup |E_in - E_out| > epsilon) <= P(sup |E_in - E_in'| > epsilon/2)
               E_out, which has infinitely many values, is gone; the 4 is a 2 of this step (the factor is at least 1/2,
               or the bound says nothing) times the 2 of Hoeffding's two sides
    step 2     E_in and E_in' depend on 2n points only: at most m(2n) hypotheses are different on them
    step 3     for one of them, sharing out 2n rows at random: P(|E_in - E_in'| > epsilon/2) <= 2 exp(-epsilon^2 n/8)
    together   P(sup |E_in - E_out| > epsilon) <= 4 m(2n) exp(-epsilon^2 n/8)

The class drawn here are the positive rays sign(x - a), for which both suprema can be computed exactly: x is uniform on
[0, 1], the label is sign(x - 1/2), turned around with probability ``noise``, and

    E_out(a) = noise + (1 - 2 noise) |a - 1/2|          for 0 <= a <= 1,        m(2n) = 2n + 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.theory.inputs import as_fraction, as_positive, as_whole


@result
@dataclass(frozen=True, eq=False)
class Ghost:
    """Shares of draws, and the bounds of each step.

    Attributes
    ----------
    n : rows of each sample
    epsilon : distance of E_in and E_out that is asked about
    noise : probability of a turned label
    draws : how often it was drawn
    out : share with sup |E_in - E_out| > epsilon
    ghost : share with sup |E_in - E_in'| > epsilon/2
    factor : 1 - 2 exp(-epsilon^2 n/2)
    ghost_bound : 2 m(2n) exp(-epsilon^2 n/8), of ``ghost``
    vc_bound : 4 m(2n) exp(-epsilon^2 n/8), of ``out``
    """

    n: int
    epsilon: float
    noise: float
    draws: int
    out: float
    ghost: float
    factor: float
    ghost_bound: float
    vc_bound: float

    @property
    def step_holds(self) -> bool:
        """factor * out <= ghost, as seen."""
        return self.factor * self.out <= self.ghost

    def __str__(self) -> str:
        return (
            f"{self.draws:,} pairs of samples of {self.n:,} rows, positive rays: sup |E_in - E_out| > {self.epsilon:g} in "
            f"{self.out:.4g} of them; sup |E_in - E_in'| > {self.epsilon / 2:g} in {self.ghost:.4g}, which must be at least "
            f"{self.factor:.4g} times as often; the bounds are {self.vc_bound:.4g} and {self.ghost_bound:.4g}"
        )


def ghost_sample(n: Any, epsilon: Any, noise: Any = 0.1, draws: Any = 2_000, seed: int = 0) -> Ghost:
    """Draw pairs of samples and look at both suprema.

    Parameters
    ----------
    n : rows of each sample
    epsilon : distance of E_in and E_out that is asked about
    noise : probability of a turned label
    draws : pairs of samples
    seed : number that all random draws follow from
    """
    n, epsilon, noise, draws = as_whole(n), as_positive(epsilon), as_fraction(noise, "noise"), as_whole(draws, "draws")
    random = np.random.default_rng(seed)
    out = ghost = 0
    for _ in range(draws):
        x, y = _sample(random, n, noise)
        out += largest_deviation(x, y, noise) > epsilon
        ghost += largest_difference(x, y, *_sample(random, n, noise)) > 0.5 * epsilon
    tail = (2 * n + 1) * math.exp(-(epsilon**2) * n / 8.0)
    factor = 1.0 - 2.0 * math.exp(-(epsilon**2) * n / 2.0)
    return Ghost(n, epsilon, noise, draws, out / draws, ghost / draws, factor, 2.0 * tail, 4.0 * tail)


def _sample(random: np.random.Generator, n: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    x = random.random(n)
    return x, np.where((x > 0.5) ^ (random.random(n) < noise), 1, -1)


def largest_deviation(x: np.ndarray, y: np.ndarray, noise: float) -> float:
    """sup over a in [0, 1] of |E_in(a) - E_out(a)| of rays: E_in is constant between points, E_out is linear but for its kink."""
    order = np.argsort(x)
    x, y = x[order], y[order]
    n = len(x)
    # With a just right of the k smallest points these are labelled -1, the others +1.
    errors = (np.concatenate([[0], np.cumsum(y == 1)]) + np.concatenate([np.cumsum((y == -1)[::-1])[::-1], [0]])) / n
    left, right = np.concatenate([[0.0], x]), np.concatenate([x, [1.0]])
    kink = np.clip(0.5, left, right)
    return float(max(np.abs(errors - _true(a, noise)).max() for a in (left, right, kink)))


def _true(a: np.ndarray, noise: float) -> np.ndarray:
    return noise + (1.0 - 2.0 * noise) * np.abs(a - 0.5)


def largest_difference(x: np.ndarray, y: np.ndarray, x2: np.ndarray, y2: np.ndarray) -> float:
    """sup over a of |E_in(a) - E_in'(a)|: the 2n points cut the line into 2n + 1 pieces."""
    order = np.argsort(np.concatenate([x, x2]))
    # Moving a over a point turns its label from +1 to -1: an error more where y = 1, one less where y = -1.
    steps = np.concatenate([y / len(x), -y2 / len(x2)])[order]
    start = np.mean(y == -1) - np.mean(y2 == -1)
    return float(np.abs(start + np.concatenate([[0.0], np.cumsum(steps)])).max())
