"""The scores of candidates on folds, by the cheapest way that a model allows.

    kernel    SVC: one kernel matrix for all folds and all C of a kernel (`solvers/kernel/folds`)
    ridge     Ridge: one decomposition for all alpha of a fold (`solvers/least_squares/many_penalties`)
    warm      models with ``init``: each C starts from the model of the C before
    plain     anything with fit and predict

A chain is computed together: the candidates that differ in C (alpha) only, on one fold. The steps of a pipeline before the
last are fitted once for a chain.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from gapless._runtime.clock import Mutex, now
from gapless._runtime.config import config_context
from gapless._runtime.threads import map_threads, n_threads, one_blas_thread
from gapless.encode.weights import check_sample_weight
from gapless.solvers.kernel.folds import bytes_needed
from gapless.solvers.loop import Ended, Interruption, Loop, Stop, Watch

from .chains import Chain, fit_constant, fit_kernel_chain, fit_one_by_one, fit_ridge_chain, score_fold
from .folds import Folds, take
from .journal import Journal
from .lattice import Lattice


@dataclass(frozen=True)
class Step:
    """The argument of a progress callback."""

    done: int  #: fits that are scored, including fits from a resumed file
    total: int | None  #: fits that the search will score; None where the method decides as it goes
    seconds: float
    best_score: float
    best_params: dict[str, Any] | None


@dataclass(frozen=True, eq=False)
class SearchRows:
    """The rows of a search, their weights as they were given, and their folds."""

    X: Any
    y: Any
    weights: Any
    folds: Folds


@dataclass(frozen=True, eq=False)
class SearchSettings:
    """How a search runs: threads, the time at which it ends, who interrupts it, and who is told of its progress."""

    n_jobs: int | None = None
    deadline: float | None = None
    progress: Callable[[Step], None] | None = None
    interruption: Interruption = field(default_factory=Interruption)


class Evaluation:
    """Scores of candidates, kept in a journal under keys that begin with ``prefix``."""

    def __init__(
        self, model: Any, rows: SearchRows, lattice: Lattice, scoring: Any, journal: Journal, settings: SearchSettings,
        prefix: str = "",
    ) -> None:  # fmt: skip
        self.model, self.X, self.y, self.folds, self.lattice = model, rows.X, rows.y, rows.folds, lattice
        self.weights = (
            None if rows.weights is None else np.asarray(check_sample_weight(rows.weights, self.folds.n_rows))
        )
        self.scoring = scoring
        self.journal, self.prefix = journal, prefix
        self.n_jobs, self.deadline = settings.n_jobs, settings.deadline
        self.interruption, self.progress = settings.interruption, settings.progress
        self.started = now()
        self.classifier = bool(is_classifier(model))
        self.step_name, self.last = _last_step(model)
        self.n_fits = 0
        self.total: int | None = None
        self.errors: dict[int, str] = {}
        self.first_error: Exception | None = None
        self._seconds: list[float] = []
        self._lock = threading.Lock()
        self._matrices: dict[Any, Any] = {}
        self._finished: Counter[int] = Counter()
        self._best: tuple[float, int] = (-np.inf, -1)

    # -- what is known -------------------------------------------------------------------------------------------

    def _key(self, k: int, fold: int) -> str:
        return f"{self.prefix}{k}/{fold}"

    def entry(self, k: int, fold: int) -> list[Any] | None:
        """[score, relative gap, errors, rows] of a candidate on a fold."""
        return self.journal.get(self._key(k, fold))

    def is_scored(self, k: int) -> bool:
        return all(self.entry(k, fold) is not None for fold in range(len(self.folds)))

    def scores(self, k: int) -> np.ndarray:
        return np.array([(self.entry(k, fold) or [np.nan])[0] for fold in range(len(self.folds))])

    def score(self, k: int) -> float:
        """The mean over the folds on which the score is defined; NaN where a fit failed or is not scored yet."""
        return self.folds.mean(self.scores(k))

    @property
    def visited(self) -> list[int]:
        return [k for k in self.lattice if self.is_scored(k)]

    @property
    def stopped(self) -> bool:
        return self.interruption.requested or self.out_of_time

    @property
    def out_of_time(self) -> bool:
        if self.deadline is None:
            return False
        longest = max(self._seconds, default=0.0)  # the fit of the chosen setting comes after the search
        return now() + 1.5 * longest >= self.deadline

    # -- what is computed ----------------------------------------------------------------------------------------

    def run(self, candidates: Sequence[int]) -> bool:
        """Score the candidates on every fold; False where the time was over, or Ctrl-C came, before all were scored."""
        chains = self._chains([k for k in candidates if not self.is_scored(k)])
        if chains:
            with one_blas_thread(), config_context(convergence="ignore"):
                map_threads(self._run_chain, chains, self.n_jobs)
            self._matrices.clear()
            self._finished.clear()
        return all(self.is_scored(k) for k in candidates)

    def _chains(self, candidates: list[int]) -> list[Chain]:
        name = self.chain_name
        groups: dict[str, list[tuple[Any, int]]] = {}
        for k in candidates:
            parameters = self.lattice.parameters(k)
            along = parameters.pop(name, None) if name is not None else None
            key = repr(sorted((n, repr(v)) for n, v in parameters.items()))
            if name is None or not isinstance(along, int | float) or isinstance(along, bool):
                key = f"{key} {k}"
            groups.setdefault(key, []).append((along, k))
        found = []
        for number, key in enumerate(_order_by_halves(list(groups))):
            along = sorted(groups[key], key=lambda pair: (pair[0] is not None, pair[0] if pair[0] is not None else 0))
            members = tuple(k for _, k in along)
            for fold in range(len(self.folds)):
                left = tuple(k for k in members if self.entry(k, fold) is None)
                if left:
                    found.append(Chain(number, fold, left, len(self.folds)))
        return found

    @property
    def chain_name(self) -> str | None:
        """The parameter along which each fit starts from the fit before."""
        own = self.last.get_params(deep=False) if hasattr(self.last, "get_params") else {}
        for name in ("C", "alpha"):
            full = self.step_name + name
            if full in self.lattice.names and name in own:
                return full
        return None

    def _run_chain(self, chain: Chain) -> None:
        if self.stopped:
            return
        started = now()
        try:
            found = self._score_chain(chain)
        except Ended:
            return  # the time is over, or Ctrl-C came: only a complete chain is kept
        finally:
            self._free_matrices(chain)
        with self._lock:
            self.n_fits += len(found)
            self._seconds.append((now() - started) / max(1, len(found)))
            self.journal.put({self._key(k, chain.fold): entry for k, entry in found.items()})
            for k in found:
                if self.is_scored(k) and (score := self.score(k)) > self._best[0]:
                    self._best = score, k
            if self.progress is not None:
                best = None if self._best[1] < 0 else self.lattice.parameters(self._best[1])
                done = len(self.journal.entries)
                self.progress(Step(done, self.total, now() - self.started, self._best[0], best))

    def _score_chain(self, chain: Chain) -> dict[int, list[Any]]:
        """The entry of each candidate of the chain; a candidate that cannot be fitted scores NaN, and the reason is kept."""
        train, test = self.folds.splits[chain.fold]
        models = [self.with_candidate(k) for k in chain.members]
        loop = Loop(Stop(0.0, 1 << 60, self._seconds_left()), Watch(interruption=self.interruption))
        try:
            if self.classifier and len(np.unique(np.asarray(take(self.y, train)))) < 2:
                constant = fit_constant(self, train, test)  # one class: there is nothing to separate
                return {k: score_fold(self, constant, train, test) for k in chain.members}
            before, last = self._transform_rows(models[0], train)
            for fit_chain in (fit_kernel_chain, fit_ridge_chain, fit_one_by_one):
                found = fit_chain(self, chain, models, before, last, train, test, loop)
                if found is not None:
                    return {k: score_fold(self, view, train, test) for k, view in zip(chain.members, found)}
            raise AssertionError("fit_one_by_one applies to every model")
        except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
            if len(chain.members) > 1:  # find the candidates that fail
                alone: dict[int, list[Any]] = {}
                for k in chain.members:
                    alone.update(self._score_chain(Chain(chain.group, chain.fold, (k,), chain.folds)))
                return alone
            with self._lock:
                self.errors.setdefault(chain.members[0], str(error))
                self.first_error = self.first_error or error
            return {chain.members[0]: [np.nan, np.nan, 0.0, float(test.size)]}

    def _seconds_left(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - now())

    def with_candidate(self, k: int) -> Any:
        """The model with a candidate's parameters, not fitted."""
        return clone(self.model).set_params(**{n: clone(v, safe=False) for n, v in self.lattice.parameters(k).items()})

    def _transform_rows(self, model: Any, train: np.ndarray) -> tuple[Any, Any]:
        """All rows, transformed by the steps before the last, and these steps, fitted on the training rows; None without any."""
        if not isinstance(model, Pipeline) or len(model.steps) == 1:
            return self.X, None
        front = model[:-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            front.fit(take(self.X, train), take(self.y, train))
            return front.transform(self.X), front

    # -- kernel matrices -----------------------------------------------------------------------------------------

    @property
    def most_rows(self) -> int:
        """Rows up to which the kernel matrices that are used at once fit the budget."""
        most_bytes = 2 << 30  # of the kernel matrices
        at_once = 1 + -(-(n_threads(self.n_jobs) - 1) // max(1, len(self.folds)))
        n = 1 << 20
        while n > 1 and at_once * bytes_needed(n) > most_bytes:
            n = int(n * 0.98)
        return n

    def matrix(self, key: Any, chain: Chain, make: Callable[[], Any]) -> Any:
        """The result of ``make``, called once for all chains with the same key."""
        with self._lock:
            slot = self._matrices.setdefault(key, [Mutex(), None, set()])
        with slot[0]:
            if slot[1] is None:
                slot[1] = make()
            slot[2].add(chain.group)
        return slot[1]

    def _free_matrices(self, chain: Chain) -> None:
        """Free the matrices of groups whose chains have all ended."""
        with self._lock:
            self._finished[chain.group] += 1
            if self._finished[chain.group] >= chain.folds:
                for key in [key for key, slot in self._matrices.items() if slot[2] and slot[2] <= {chain.group}]:
                    del self._matrices[key]


def _last_step(model: Any) -> tuple[str, Any]:
    """The last step of a pipeline and the prefix of its parameters."""
    prefix = ""
    while isinstance(model, Pipeline):
        prefix += f"{model.steps[-1][0]}__"
        model = model.steps[-1][1]
    return prefix, model


def _order_by_halves(keys: list[Any]) -> list[Any]:
    """The middle first, then the middles of the halves: where the time ends early, the scored keys are spread evenly."""
    found, todo = [], [(0, len(keys))]
    while todo:
        low, high = todo.pop(0)
        if low < high:
            middle = (low + high) // 2
            found.append(keys[middle])
            todo += [(low, middle), (middle + 1, high)]
    return found
