"""A Gaussian process over the lattice: look where the expected improvement on the best score so far is largest.

    EI(x) = E max(0, f(x) - best),        f(x) ~ N(m(x), s(x)^2) given the scores so far

The process and the acquisition are those of the package bayesian-optimization (Matern 5/2; Jones, Schonlau and Welch 1998); its
coordinates are places on the axes, so that C and gamma on a logarithmic lattice are equally spaced, and what it suggests
goes to the nearest candidate that is not known yet.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from .lattice import Lattice

#: The variance of the noise, in units of the variance of the scores: those of neighbouring cells differ by a few rows.
NOISE = 1e-2
#: By how much an improvement has to be one, in units of the scores.
MARGIN = 1e-3


def search(lattice: Lattice, score: Callable[[int], float], most: int, seed: int) -> Generator[list[int], None, None]:
    optimiser_of = _package()
    places = np.array([_coordinates(lattice, k) for k in lattice])
    names = [f"x{j}" for j in range(places.shape[1])]
    optimiser = optimiser_of(dict.fromkeys(names, (0.0, 1.0)), seed)
    known: dict[int, float] = {}
    first = _design(places, min(most, max(4, 2 * places.shape[1] + 2)), seed)

    def tell(k: int) -> None:
        value = score(k)
        known[k] = value
        if np.isnan(value):  # what cannot be fitted is as bad as the worst that can
            value = min((v for v in known.values() if not np.isnan(v)), default=0.0)
        optimiser.register(params=dict(zip(names, map(float, places[k]))), target=float(value))

    yield first
    for k in first:
        tell(k)
    while len(known) < most:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package's own fits
            asked = optimiser.suggest()
        point = np.array([float(asked[name]) for name in names])
        distance = ((places - point) ** 2).sum(axis=1)
        distance[list(known)] = np.inf
        k = int(distance.argmin())
        yield [k]
        tell(k)


def _coordinates(lattice: Lattice, k: int) -> list[float]:
    """Where a candidate is on each axis, 0 to 1; which part it is of, where there are several."""
    which, at = lattice.place(k)
    own = {axis.name: i / max(1, len(axis) - 1) for axis, i in zip(lattice.parts[which].axes, at)}
    found = [own.get(name, 0.5) for name in lattice.names]
    return found if len(lattice.parts) == 1 else [*found, which / (len(lattice.parts) - 1)]


def _design(places: np.ndarray, size: int, seed: int) -> list[int]:
    """The first candidates: the middle, then each as far as it can be from those before and from the edges."""
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


def _package() -> Callable[[dict[str, tuple[float, float]], int], Any]:
    try:
        from bayes_opt import BayesianOptimization, acquisition
    except ImportError as error:
        raise ImportError(
            "method='bayes' needs the package bayesian-optimization: pip install 'gapless[tune]'. "
            "method='bisection' and method='random' need nothing more."
        ) from error

    def make(bounds: dict[str, tuple[float, float]], seed: int) -> Any:
        optimiser = BayesianOptimization(
            f=None,
            pbounds=bounds,
            acquisition_function=acquisition.ExpectedImprovement(xi=MARGIN),
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )
        optimiser.set_gp_params(alpha=NOISE)
        return optimiser

    return make
