"""Bayes rule for given densities: the decision that no classifier beats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gapless._runtime.results import result
from gapless.encode.priors import check_priors
from gapless.solvers.gaussian import log_posterior


@result
class BayesRule(NamedTuple):
    """What Bayes rule says of each point.

    Attributes
    ----------
    posterior : (n, K), rows sum to 1
    decision : (n,), the class (or its number) of the largest posterior; the first one of equals
    log_posterior : (n, K), -inf where the posterior is exactly 0
    error : (n,), the probability that the decision is wrong; its mean is the Bayes error
    undefined : (n,), True where every density is 0: there the posterior is the prior
    """

    posterior: np.ndarray
    decision: np.ndarray
    log_posterior: np.ndarray
    error: np.ndarray
    undefined: np.ndarray

    def __str__(self) -> str:
        return (
            f"{len(self.posterior):,} points, {self.posterior.shape[1]} classes: the best decision is wrong with probability "
            f"{float(np.mean(self.error)):.6g} on average"
        )


def bayes_rule(densities: Any, priors: Any, X: Any = None, *, log: bool = False, classes: Any = None) -> BayesRule:
    """P(class | x) = density_class(x) prior_class / sum, and the class where it is largest.

    Computed from logarithms: neither densities that underflow (``log=True`` gives their logarithms) nor points
    where every density is 0 make a NaN. At such points nothing is known but the priors, so the posterior is the
    prior, and ``undefined`` marks them. An infinite density wins; among several, their priors decide.

    Parameters
    ----------
    densities : list of K callables, list of K arrays of length n, or array of shape (n, K)
        A callable is given ``X`` and returns n values.
    priors : array of K numbers >= 0 with sum 1
    X : what the callables are given
    log : bool
        Whether the values are logarithms of densities.
    classes : array of K labels, optional
        The decision is one of them; without, the number of the class, from 0.

    Returns
    -------
    BayesRule(posterior, decision, log_posterior, error, undefined)

    Examples
    --------
    >>> rule = bayes_rule([[0.5, 0.1], [0.5, 0.3]], priors=[0.75, 0.25])
    >>> rule.posterior
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    >>> rule.decision
    array([0, 0])
    """
    values = _values(densities, X)
    K = values.shape[1]
    prior = check_priors(priors, K, renormalise=False)
    labels = np.arange(K) if classes is None else np.asarray(classes)
    if labels.shape != (K,):
        raise ValueError(f"classes has shape {labels.shape}; there are {K} densities")
    if np.isnan(values).any():
        row, k = np.argwhere(np.isnan(values))[0]
        raise ValueError(f"density {k} is NaN at point {row}")
    if not log and (values < 0.0).any():
        row, k = np.argwhere(values < 0.0)[0]
        raise ValueError(
            f"density {k} is {values[row, k]:g} at point {row}: a density is never negative (log=True takes logarithms)"
        )
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
        joint = values if log else np.log(values)
    infinite = (joint == np.inf) & (prior > 0.0)
    some = infinite.any(axis=1)
    joint = np.where(some[:, None], np.where(infinite, 0.0, -np.inf), np.where(joint == np.inf, 0.0, joint))
    joint = joint + log_prior
    undefined = ~(joint > -np.inf).any(axis=1)
    joint = np.where(undefined[:, None], log_prior, joint)
    posterior_log = log_posterior(joint)
    posterior = np.exp(posterior_log)
    best = joint.argmax(axis=1)
    error = np.clip(1.0 - posterior[np.arange(best.size), best], 0.0, 1.0)
    return BayesRule(posterior, labels[best], posterior_log, error, undefined)


def _values(densities: Any, X: Any) -> np.ndarray:
    if isinstance(densities, Sequence) and any(callable(f) for f in densities):
        if X is None:
            raise ValueError("densities are functions: X gives the points at which they are asked")
        columns = [_ask(f, X) if callable(f) else np.asarray(f, dtype=np.float64) for f in densities]
    elif isinstance(densities, np.ndarray):
        columns = list(np.asarray(densities, dtype=np.float64).T) if densities.ndim == 2 else []
    else:
        columns = [np.asarray(column, dtype=np.float64) for column in densities]
    if len(columns) < 1 or any(column.ndim != 1 or column.size != columns[0].size for column in columns):
        raise ValueError(
            "densities must be an array of shape (n, K), or K functions or arrays that give n values each; got shapes "
            f"{[column.shape for column in columns] if columns else np.shape(densities)}"
        )
    return np.column_stack(columns)


def _ask(f: Callable[[Any], Any], X: Any) -> np.ndarray:
    given = np.asarray(f(X), dtype=np.float64)
    return given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else np.atleast_1d(given)
