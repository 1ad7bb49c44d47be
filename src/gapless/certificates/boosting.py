"""What AdaBoost claims: how each round went, and what follows from that for the training error and the margins.

For every round the weighted error e_t, the stage weight a_t and Z_t (`solvers/boosting/rounds` says what they are), and the
training error of the vote so far, which is at most Z_1 ... Z_t.  For two classes besides:

    rounds     at rate 1 and equal starting weights, with edge = min_t (1/2 - e_t), the error after ln(2n)/(2 edge^2) rounds
    is at most
               prod Z_t <= exp(-2 T edge^2) <= 1/(2n), so that it is 0
    bracket    smallest margin <= best <= min over w of max_h sum_i w_i y_i h(x_i), where best is the largest smallest margin that
               any convex combination of these stumps and their negations has: the margin of the combination that was found is
               one of them, and against any weights w of rows no combination does better than the best stump. The w are the d_t
               and, on data that is not large, those that are hardest for the stumps of the run (`solvers/boosting/margin_game`)

Nothing here bounds the error on new data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless._compile.backend import backend
from gapless._runtime.results import result
from gapless.certificates.base import NO_KEY, WithoutGap
from gapless.errors import short


def enough_rounds(errors: np.ndarray, n: int) -> int | None:
    """ln(2n) / (2 edge^2), rounded up, for the smallest edge of the rounds; None where that is 0."""
    edge = 0.5 - float(np.max(errors))
    most = math.log(2.0 * n) / (2.0 * edge * edge) if edge > 0.0 else math.inf
    return math.ceil(most) if most < 2.0**53 else None


@result
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BoostingCertificate(WithoutGap):
    """``errors``, ``stage_weights`` (scikit-learn's, twice those of the two-class literature), ``factors`` (Z_t) and
    ``training`` (error
    of the vote) have one number a round; ``edges``, where there are, the largest sum_i d_i y_i h(x_i) over all stumps.

    Attributes
    ----------
    best : the edge of all stumps against the array ``against``, which bounds the best smallest margin
    status : "converged", or how the rounds were broken off
    reason : why boosting stopped, as a sentence
    mistakes : training rows that the vote gets wrong
    clean_round : the first round after which it got none wrong
    enough : rounds that are sure to bring the error to 0, at the smallest edge seen
    loss : sum_i d_1i exp(sum_t (a_t/2)([wrong] - [right])), which is prod Z_t
    margin : the smallest
    median_margin : the median of the rows' margins
    seconds : seconds of work, compiling left out
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    statement : the model document without its certificate: estimator, parameters, classes, problem
    arrays : name -> array of the model file: coefficients, offsets, dual point
    backend : what computed it: "cpu", or the name of a device
    kind : "bound": the training error is at most the product of the Z_t
    """

    kind: str = "bound"
    status: str
    reason: str
    mistakes: int
    clean_round: int | None
    enough: int | None
    loss: float
    margin: float
    median_margin: float
    best: float | None = None
    seconds: float
    compile_seconds: float = 0.0
    backend: str = field(default_factory=backend)
    fingerprint: Mapping[str, Any]
    statement: Mapping[str, Any] = field(default_factory=dict, metadata=NO_KEY)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, metadata=NO_KEY)

    @property
    def errors(self) -> np.ndarray:
        """Weighted error e_t of each round."""
        return self.arrays["errors"]

    @property
    def stage_weights(self) -> np.ndarray:
        """Weight of each round's learner in the vote, as scikit-learn counts it: twice that of the two-class literature."""
        return self.arrays["stage_weights"]

    @property
    def factors(self) -> np.ndarray:
        """Z_t of each round."""
        return self.arrays["factors"]

    @property
    def training(self) -> np.ndarray:
        """Error of the vote after each round."""
        return self.arrays["training"]

    @property
    def bounds(self) -> np.ndarray:
        """Z_1 ... Z_t, which the training error after round t cannot exceed."""
        return np.cumprod(self.factors)

    @property
    def bound(self) -> float:
        """The product of all Z_t."""
        return float(self.bounds[-1])

    @property
    def edge(self) -> float:
        """The smallest 1/2 - e_t."""
        return 0.5 - float(self.errors.max())

    @property
    def bracket(self) -> tuple[float, float] | None:
        """Between these lies the best smallest margin that a combination of these stumps can have; None where nobody knows."""
        edges = self.arrays.get("edges")
        if edges is None:
            return None
        return self.margin, float(min(edges.min(), math.inf if self.best is None else self.best))

    # ------------------------------------------------------------ sentences
    def __str__(self) -> str:
        T, n = self.errors.size, self.fingerprint["n_rows"]
        K = len(self.statement["classes"]["values"])
        said = [
            f"{self.estimator}: {T} rounds, weighted errors {self.errors.min():.3g} to {self.errors.max():.3g} "
            f"(useless from {1.0 - 1.0 / K:.3g}); {self.mistakes} of {n} training rows wrong"
        ]
        last = float(self.training[-1])
        if self.bound < 1.0:
            said.append(f"training error {last:.3g} <= prod Z_t = {short(self.bound, 3, up=True)}")
        else:
            said.append(f"prod Z_t = {self.bound:.3g} bounds nothing (training error {last:.3g})")
        if self.clean_round is not None:
            said.append(f"none wrong from round {self.clean_round}" if self.mistakes == 0 else "")
        if self.enough is not None:
            said.append(f"{self.enough} rounds of edge {self.edge:.3g} would be sure to leave none wrong")
        said.append(f"smallest margin {self.margin:.3g}")
        if self.bracket is not None:
            said[-1] += f", the best that stumps can do is at most {self.bracket[1]:.3g}"
        said.append(self.reason)
        known = self._sentence_of_new_rows()
        said.append("" if known else "none of this bounds the error on new data")
        return "; ".join(part for part in said if part) + f" ({self._duration})." + known

    def __repr__(self) -> str:
        return (
            f"BoostingCertificate({self.estimator}: {self.status}, rounds={self.errors.size}, bound={self.bound:.4g})"
        )

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """What a notebook shows: the first and the last rounds."""
        T = self.errors.size
        shown = range(T) if T <= 12 else [*range(6), *range(T - 6, T)]
        columns = (self.errors, self.stage_weights, self.factors, self.bounds, self.training)
        head = ("round", "error", "stage weight", "Z", "bound", "training error")
        return head, [[t + 1, *(column[t] for column in columns)] for t in shown]
