"""What estimators have in common: a check of their parameters, and attributes that are read off their certificate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from gapless._runtime.config import report_convergence
from gapless.backends.choose import require_card
from gapless.certificates.confirmation.odd_scales import confirmed
from gapless.errors import lost_scale_message
from gapless.solvers.loop import Interruption
from gapless.solvers.solution import Event

from .constraints import Constraint, check_parameter
from .notebook import Shown


class CertifiedModel(Shown):
    """An estimator with a table of its parameters and, after fit, a certificate."""

    _on_cards: ClassVar[bool] = False  #: there is a way on a card
    device: Any
    _parameter_constraints: ClassVar[dict[str, list[Constraint]]] = {}
    certificate_: Any
    max_iter: Any
    time_limit: Any

    def _check_parameters(self) -> None:
        """Errors in scikit-learn's words, at fit and not before."""
        for name, constraints in self._parameter_constraints.items():
            check_parameter(self, name, constraints)
        if self._on_cards:
            require_card(self.device)
        elif getattr(self, "device", "auto") == "cuda":
            raise NotImplementedError(
                f"device='cuda': {type(self).__name__} has no GPU solver yet; use 'auto' or 'cpu'."
            )

    def _certificate(self, attribute: str) -> Any:
        """The certificate, which an attribute is read off."""
        if not hasattr(self, "certificate_"):
            raise AttributeError(f"{type(self).__name__} has no {attribute} before fit")
        return self.certificate_

    def _confirm(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Of data of odd scales keep no claim that the judge refuses. Families whose certificate warns of nothing warn here."""
        before = self.certificate_
        self.certificate_ = confirmed(before, X, y, sample_weight)
        if self.certificate_ is not before and not hasattr(before, "shortfall"):
            report_convergence(lost_scale_message(type(self).__name__), stacklevel=4)

    def _pass_limit(self) -> int:
        """max_iter as a number: -1 and None are finite, and far beyond any fit that makes progress."""
        return 100_000 if self.max_iter is None or self.max_iter < 0 else int(self.max_iter)

    def _raise_interruption(self, interruption: Interruption) -> None:
        """Pass on a Ctrl-C that the fit has obeyed."""
        if interruption.requested:
            raise KeyboardInterrupt(f"{type(self).__name__} keeps the model reached so far: {self.certificate_}")

    def _warn(self, fitted: Any, stacklevel: int = 4) -> None:
        """One warning a fit, last; ``fit`` calls this."""
        shortfall = self.certificate_.shortfall(self.max_iter, self.time_limit)
        if shortfall is not None:
            words = self._words_of_scikit_learn(self.certificate_.status)
            report_convergence(shortfall + words, stacklevel=stacklevel)

    def _words_of_scikit_learn(self, status: str) -> str:
        """What is added to the warning of a fit that ended so, for programs that look for scikit-learn's words."""
        return ""

    def _require_training_rows(self) -> None:
        """A loaded model has no figures of its training rows."""
        if not hasattr(self, "_scores"):
            raise AttributeError(
                f"this {type(self).__name__} was loaded from a file, or fitted to rows in blocks, and does not hold the training "
                "rows: margins(model, X, y) recomputes what they say"
            )


class StatusModel(CertifiedModel):
    """A model with ``status_``."""

    @property
    def status_(self) -> str:
        """How the fit ended."""
        return self._certificate("status_").status


class OptimisedModel(StatusModel):
    """A model that minimises an objective."""

    @property
    def objective_(self) -> Any:
        """The formula that was minimised, with its numbers."""
        return self._certificate("objective_").objective


class DualModel(OptimisedModel):
    """A model with a dual point."""

    @property
    def alpha_(self) -> np.ndarray:
        """The dual variable of each training row (one problem: n; more: a row of n for each problem)."""
        dual = np.abs(self._certificate("alpha_").arrays["dual"])
        return dual[0] if dual.shape[0] == 1 else dual


class CoefficientModel:
    """A model with ``coef_``, which takes sparse rows."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


def history_of(events: Iterable[Event]) -> list[tuple[Any, ...]]:
    """Passes, seconds, primal, dual and gap of a fit's events; dual and gap are not numbers where there is no dual."""
    nan = math.nan
    return [(e.pass_, e.seconds, e.primal, *((e.dual, e.gap) if math.isfinite(e.dual) else (nan, nan))) for e in events]
