"""A Gaussian process over the lattice: visit the candidate with the largest expected improvement on the best score so far.

    EI(x) = E max(0, f(x) - best),        f(x) ~ N(m(x), s(x)^2) given the scores so far

Coordinates are places on the axes, 0 to 1, so that C and gamma on a logarithmic lattice are equally spaced.  The kernel is
Matern's with nu = 5/2 and a length for each axis; lengths and noise are a few fixed ones, and the improvement is averaged over
them by how likely they make the scores (a single best one is overconfident after ten scores).  The improvement is that of the
package bayesian-optimization (Jones, Schonlau and Welch 1998), computed at every candidate that has no score yet.

The process is fitted to -log(1 + (best - score) / the median of best - score): most of a grid is far below its best, and the
distance does not matter there; near the best this is linear in the score.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .lattice import Lattice


def search(lattice: Lattice, score: Callable[[int], float], most: int, seed: int) -> Generator[list[int], None, None]:
    """Candidates by expected improvement, one after the other; the first ones are spread over the lattice."""
    first_candidates, candidates_per_axis = 4, 3  # of the first choice: four, and three more for each axis
    improvement = _expected_improvement()
    places = np.array([_coordinates(lattice, k) for k in lattice])
    known = _first_candidates(places, min(most, first_candidates + candidates_per_axis * places.shape[1]))
    yield known
    while len(known) < most:
        seen = transform_scores(np.array([score(k) for k in known]))
        rest = np.setdiff1d(np.arange(len(places)), known)
        value = np.zeros(rest.size)
        for weight, mean, deviation in posteriors(places[known], seen, places[rest]):
            value += weight * improvement(mean, deviation, float(seen.max()))
        known.append(int(rest[value.argmax()]))
        yield [known[-1]]


def transform_scores(scores: np.ndarray) -> np.ndarray:
    """The scores that the process is fitted to; a candidate that failed has the worst score of all that did not."""
    if np.isnan(scores).all():
        return np.zeros(scores.size)
    below = np.nanmax(scores) - np.where(np.isnan(scores), np.nanmin(scores), scores)
    scale = float(np.median(below)) or float(below.mean())
    return -np.log1p(below / scale) if scale > 0.0 else np.zeros(scores.size)


class _Setting(NamedTuple):
    likelihood: float
    lengths: tuple[float, ...]
    factor: np.ndarray  #: of the covariance of the scores, lower
    level: float
    whitened: np.ndarray
    variance: float


def posteriors(places: np.ndarray, scores: np.ndarray, at: np.ndarray) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """(weight, mean, standard deviation) of the process at other places, for each likely setting of lengths and noise."""
    # Settings less likely than the best by more than this (in natural logarithms) are left out.
    unlikely_by = 4.0
    settings = [
        found
        for lengths, noise in _settings(places.shape[1])
        if (found := _fit_setting(places, scores, lengths, noise)) is not None
    ]
    best = max(one.likelihood for one in settings)
    likely = [one for one in settings if one.likelihood >= best - unlikely_by]
    weights = np.exp([one.likelihood - best for one in likely])
    out = []
    for weight, one in zip(weights / weights.sum(), likely):
        across = np.linalg.solve(one.factor, _matern(places, at, one.lengths))
        left = np.maximum(1.0 - (across * across).sum(axis=0), 0.0)
        out.append((float(weight), one.level + across.T @ one.whitened, np.sqrt(one.variance * left) + 1e-12))
    return out


def _settings(d: int) -> list[tuple[tuple[float, ...], float]]:
    """Lengths for each axis, and a noise. Where all combinations are too many, all axes but one have the same length."""
    most_settings = 200
    # Lengths of an axis on which scores change, and variances of the noise in units of the variance of the scores.
    noises = (1e-4, 1e-2, 1e-1)
    length_scales = (0.1, 0.2, 0.4, 0.8)
    if len(length_scales) ** d * len(noises) <= most_settings:
        lengths = set(product(length_scales, repeat=d))
    else:
        lengths = {
            (own,) * j + (other,) + (own,) * (d - 1 - j)
            for own in length_scales
            for other in length_scales
            for j in range(d)
        }
    return [(one, noise) for one in sorted(lengths) for noise in noises]


def _fit_setting(places: np.ndarray, scores: np.ndarray, lengths: tuple[float, ...], noise: float) -> _Setting | None:
    """Level and variance at their most likely values, the variance drawn a little towards the variance of the scores."""
    n, spread = scores.size, float(scores.var()) or 1.0
    try:
        factor = np.linalg.cholesky(_matern(places, places, lengths) + noise * np.eye(n))
    except np.linalg.LinAlgError:
        return None
    white = np.linalg.solve(factor, np.column_stack([scores, np.ones(n)]))
    level = float(white[:, 0] @ white[:, 1] / (white[:, 1] @ white[:, 1]))
    rest = white[:, 0] - level * white[:, 1]
    variance = (float(rest @ rest) + 0.2 * spread) / (n + 0.2)
    likelihood = -0.5 * n * np.log(variance) - float(np.log(np.diagonal(factor)).sum())
    return _Setting(likelihood, lengths, factor, level, rest, variance)


def _matern(a: np.ndarray, b: np.ndarray, lengths: tuple[float, ...]) -> np.ndarray:
    """(1 + r + r^2 / 3) exp(-r), r = sqrt(5) |a - b| with every axis in units of its length."""
    apart = (a[:, None, :] - b[None, :, :]) / np.asarray(lengths)
    r = np.sqrt(5.0 * (apart * apart).sum(axis=2))
    found: np.ndarray = (1.0 + r + r * r / 3.0) * np.exp(-r)
    return found


def _coordinates(lattice: Lattice, k: int) -> list[float]:
    """The candidate's place on each axis, 0 to 1, and the part that it belongs to, where there are several."""
    which, at = lattice.place(k)
    own = {axis.name: i / max(1, len(axis) - 1) for axis, i in zip(lattice.parts[which].axes, at)}
    found = [own.get(name, 0.5) for name in lattice.names]
    return found if len(lattice.parts) == 1 else [*found, which / (len(lattice.parts) - 1)]


def _first_candidates(places: np.ndarray, size: int) -> list[int]:
    """The first candidates: the middle, then each as far as possible from the candidates before it and from the edges."""
    middle = int(((places - 0.5) ** 2).sum(axis=1).argmin())
    chosen = [middle]
    edge = np.minimum(places, 1.0 - places).min(axis=1)
    near = np.sqrt(((places - places[middle]) ** 2).sum(axis=1))
    while len(chosen) < size:
        k = int(np.minimum(near, 2.0 * edge + 0.15).argmax())
        if k in chosen:
            k = int(np.setdiff1d(np.arange(len(places)), chosen)[0])
        chosen.append(k)
        near = np.minimum(near, np.sqrt(((places - places[k]) ** 2).sum(axis=1)))
        near[chosen] = -1.0
    return chosen


def _expected_improvement() -> Callable[[np.ndarray, np.ndarray, float], Any]:
    try:
        from bayes_opt import acquisition
    except ImportError as error:
        raise ImportError(
            "method='bayes' needs the package bayesian-optimization: pip install 'gapless[tune]'. "
            "method='bisection' and method='random' need nothing more."
        ) from error
    rule = acquisition.ExpectedImprovement(xi=0.0)

    def improvement(mean: np.ndarray, deviation: np.ndarray, best: float) -> Any:
        rule.y_max = best
        return rule.base_acq(mean, deviation)

    return improvement
