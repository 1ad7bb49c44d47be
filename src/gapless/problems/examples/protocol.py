"""The verbs: what a solver and a certificate ask of all examples at once.

A solver is written once and runs wherever the examples are: in memory by kernels or by numpy, in blocks of a file, on the
workers of a cluster, on a GPU.  It therefore never reads rows and holds no vector with an entry for each example.  It asks the
problem for sums over all examples, which have as many entries as there are features (or classes), and gets

    theta, gradients, Gram matrices, values      arrays and numbers: they come to the solver
    scores, weights, dual points, sides          **handles**: they stay where the rows are

A handle is whatever the problem makes of it: an array, a list of arrays, futures.  A solver may keep it, hand it back to the
problem it came from, and drop it.  It does not look inside, and its type is the problem's own affair; in memory it is an
array, so that a handle costs nothing there.  Where a verb has ``out``, the handle given may be written over and is returned.
A handle that is recorded in the loop is copied by its ``copy()``, unless it comes as a function that makes it at the end.

    examples          verbs                                                                    passes over X
    `Examples`        shape and costs of a pass; sums, counts, choices of a vector                 0
                      `combine` (X'u), `curve` (X'DXp), `gram` (X'DX), `squares` (its diagonal)    1 each
                      `take`, `products`: few examples, at hand, where these are fewer than the features
    `LinearExamples`  `loss_and_gradient` at theta (scores, l' and l'' stay)                       1
                      `slopes_along` a step at several lengths; `dual_at`, `repair`, `dual`        0
                      `sample`: a smaller problem in memory, for a start
    `Band`, `Sets`    hinge: multipliers, who is inside the band, slopes; who is at 0, at c, free  0, but for sums of rows
    `Barrier`         hinge: the iterates of interior point and their steps                        4 a step
    `SoftmaxExamples` the same for K scores: `move_to`, `slopes_along`, `move`, `hessian`
    `TargetExamples`  least squares: `moments`, `residuals` (and their gradient), `triangle`       1 each
    all of them       `primal`, `dual`, `rounding` for the certificate, `fetch` for the user       0

Rules for who implements them.  A sum over blocks is added in the order of the blocks, not as they arrive: any number of
workers gives the same bits.  ``steps_at_once`` says how many step lengths one pass should answer: 1 in memory, where an answer
costs little, some 33 where it costs a round.  ``tick`` is called at least every 0.2 s of work, and may raise.  `rounding` bounds
P - D as computed, so that it has to know how long the sums are.  A problem that cannot keep a verb's promise raises; it does
not approximate.

Rules for who uses them.  No array of length n: `tests/problems/test_examples.py` runs the solvers on rows in blocks and
watches what they allocate.  Examples that come to the solver (`take`, `products`) are fewer than the features.  Nothing is
chosen by what a handle is; a choice is made by shape, and by the costs that the problem states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

Handle = Any
Tick = Callable[[], None] | None


class Examples(Protocol):
    """What problems of one and of several scores have in common."""

    @property
    def n(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def free(self) -> bool:
        """Whether the offset is not penalised."""

    @property
    def constant(self) -> float:
        """The value of the constant feature; 0 without an offset."""

    @property
    def c(self) -> Handle:
        """The cost of each example."""

    @property
    def sparse(self) -> bool: ...
    @property
    def stored(self) -> int:
        """The values that the rows keep."""

    @property
    def pass_stored(self) -> int:
        """The values that a full pass reads."""

    @property
    def R2(self) -> float:
        """The largest |x_i|^2, without the constant feature where the offset is free."""

    @property
    def one_by_one(self) -> bool:
        """Whether a solver may visit the rows one by one: rows in memory. What does so asks for more than this protocol."""

    @property
    def sum_length(self) -> float:
        """The most terms that `combine` adds one after the other: its rounding grows with that."""

    @property
    def base_length(self) -> float:
        """By how much the terms of a product are longer than a row; 0, but for some copies."""

    @property
    def curve_cost(self) -> float:
        """What `curve` costs, in ns of one core, by shape."""

    def gram_cost(self, m: int) -> float:
        """What `gram` of m examples costs."""

    def use_fast_copy(self, large: int | None = None, many: bool = True) -> None:
        """Many passes follow."""

    # vectors
    def sum(self, vector: Handle) -> float: ...
    def count(self, vector: Handle) -> int:
        """The entries that are not 0, or True."""

    def above(self, vector: Handle, share: float) -> Handle:
        """The examples whose entry is above this share of the largest."""

    def masked(self, weights: Handle, inside: Handle | None, scale: float) -> Handle:
        """scale x weights of the examples inside, 0 for the others."""

    def weigh_norms2(self, weights: Handle) -> float:
        """sum_i weights_i |x_i|^2"""

    # sums over rows
    def combine(self, u: Handle, tick: Tick = None) -> np.ndarray: ...
    def curve(self, weights: Handle, p: np.ndarray, tick: Tick = None) -> np.ndarray: ...
    def squares(self, weights: Handle, tick: Tick = None) -> np.ndarray: ...
    def gram(
        self, weights: Handle, inside: Handle | None = None, tick: Tick = None, *, single: bool = False
    ) -> np.ndarray:
        """sum over the examples inside of weights_i x_i x_i'; ``single``: float32 will do."""

    def gram_of_sample(
        self, weights: Handle, size: int, tick: Tick = None, *, single: bool = False
    ) -> tuple[np.ndarray, float]:
        """`gram` of some examples, always the same, and the sum of their weights."""

    # few examples
    def take(self, weights: Handle, inside: Handle | None) -> Any:
        """The examples inside as rows in memory, their weights and their numbers."""

    def products(self, tick: Tick = None) -> np.ndarray:
        """X X' of all examples."""


class Band(Protocol):
    """The band of the hinge: u = c clip(share + (1 - yz) steep, 0, 1) y at scores z, and the scores of a step."""

    @property
    def z(self) -> Handle: ...
    @property
    def u(self) -> Handle: ...
    @property
    def inside(self) -> Handle:
        """The examples whose multiplier is strictly between 0 and c."""

    @property
    def summed_at_once(self) -> bool:
        """Whether the last `combine` was over all of u, and not over what had changed."""

    def move_to(self, theta: np.ndarray, tick: Tick = None) -> None:
        """The scores of theta."""

    def find(self, steep: float) -> tuple[float, float]:
        """Compute u, and who is inside; the loss, and sum u y."""

    def accept(self) -> None:
        """The multipliers become the shares."""

    def mass(self) -> float:
        """The sum of c over the examples inside."""

    def sides(self) -> bytes:
        """Equal where the same examples are inside and the same at 0; asked of small problems."""

    def combine(self, tick: Tick = None) -> np.ndarray: ...
    def repaired(self, tick: Tick = None) -> tuple[Handle, np.ndarray]:
        """u moved onto sum u = 0, and the sum of the rows of what moved."""

    def look_along(self, step: np.ndarray, tick: Tick = None) -> None:
        """The scores of a step."""

    def slopes(self, steep: float, ts: Sequence[float]) -> list[tuple[float, float]]: ...
    def move(self, t: float) -> None:
        """Go on to the scores z + t along."""


class Sets(Protocol):
    """The active sets of the hinge: alpha = uy at 0, at c, or free; and the margins of a point."""

    def guess(self) -> tuple[int, bytes]:
        """Sort the examples into the sets; how many are free, and what is equal where the sets are."""

    def fix(self) -> None:
        """alpha = 0 and alpha = c where the sets say so."""

    def take_free(self) -> Any:
        """Rows, signs and alpha of the free examples, which are few."""

    def set_free(self, alpha: np.ndarray) -> None: ...
    def combine(self, tick: Tick = None) -> np.ndarray: ...
    def dual_point(self) -> Handle: ...
    def look(self, z: Handle) -> None:
        """The margins of a point with the scores z."""

    def settled(self) -> bool: ...


class Barrier(Protocol):
    """The iterates of interior point for the hinge: alpha and t = c - alpha, s and xi, all above 0; and their steps."""

    @property
    def theta(self) -> np.ndarray:
        """The theta to begin with."""

    @property
    def z(self) -> Handle: ...
    @property
    def u(self) -> Handle: ...

    def look(self, theta: np.ndarray, tick: Tick = None) -> tuple[float, np.ndarray]:
        """The scores z of theta and the dual point u; alpha s + t xi, summed, and sum u x."""

    def weigh(self) -> Handle:
        """The weights of the step's system."""

    def right(self, centre: float | None, tick: Tick = None) -> np.ndarray:
        """The data's part of the right-hand side: straight down (None), or to ``centre``, corrected by the last step."""

    def look_along(self, step: np.ndarray, tick: Tick = None) -> None:
        """The steps of alpha, s and xi that go with a step of theta."""

    def reach(self) -> float:
        """The longest step that keeps alpha, t, s and xi at 0 or above."""

    def aim(self, reach: float) -> float:
        """alpha s + t xi after such a step, summed."""

    def move(self, length: float) -> None: ...


class LinearExamples(Examples, Protocol):
    """One score for each example; see `problems/linear` for P and D."""

    @property
    def loss(self) -> Any: ...
    @property
    def steps_at_once(self) -> int:
        """Step lengths that one pass over the scores answers."""

    @property
    def masses(self) -> tuple[float, float]:
        """The costs of the positive and of the negative examples."""

    @property
    def one_class(self) -> bool: ...
    @property
    def sums_like_combine(self) -> bool: ...

    def new_vector(self) -> Handle: ...
    def equal_scores(self, z: float) -> Handle: ...
    def zero_dual(self) -> Handle: ...
    def new_point(self) -> Any:
        """Room for scores z and the derivatives g = c l' and h = c l'' there: three handles."""

    def new_band(self, start: Handle | None = None, by_changes: bool = False) -> Band: ...
    def new_barrier(self, start: Handle | None = None) -> Barrier: ...
    def count_free(self, u: Handle) -> int:
        """The examples strictly inside their box."""

    def new_sets(self, theta: np.ndarray, u: Handle, tick: Tick = None) -> Sets: ...
    def loss_and_gradient(self, theta: np.ndarray, at: Any, tick: Tick = None) -> tuple[float, np.ndarray]: ...
    def scores(self, theta: np.ndarray, tick: Tick = None, out: Handle | None = None) -> Handle: ...
    def slopes_along(self, at: Any, along: Handle, ts: Sequence[float]) -> list[tuple[float, float]]:
        """Slope and curvature of the loss at z + t along, for each t; g and h are written over."""

    def dual_at(self, at: Any, out: Handle | None = None) -> Handle:
        """-g, repaired; into ``out``, which may be h."""

    def repair(self, u: Handle, out: Handle | None = None) -> Handle: ...
    def dual(self, u: Handle, primal: float, combined: np.ndarray | None = None) -> float: ...
    def dual_from_primal(self, theta: np.ndarray, z: Handle | None = None) -> Handle: ...
    def primal_from_dual(
        self, u: Handle, combined: np.ndarray | None = None, near: float | None = None
    ) -> np.ndarray: ...
    def best_offset(self, z: Handle, near: float | None = None) -> float: ...
    def primal(self, theta: np.ndarray, z: Handle | None = None) -> float: ...
    def primal_at_zero(self) -> float: ...
    def penalty(self, theta: np.ndarray) -> float: ...
    def penalty_along(self, theta: np.ndarray, step: np.ndarray) -> tuple[float, float]: ...
    def gradient(self, theta: np.ndarray, data_part: np.ndarray) -> np.ndarray: ...
    def offset_bound(self, primal: float) -> float: ...
    def conjugate_sizes(self, u: Handle) -> float: ...
    def rounding_sums(self, theta: np.ndarray, z: Handle, u: Handle, unit: float) -> tuple[float, float, float]:
        """Sums over the examples: how far ``unit``, the error of a product, moves the loss; |u| |x|; and |u|."""

    def rounding(self, theta: np.ndarray, z: Handle, u: Handle, combined: np.ndarray, primal: float) -> float: ...
    def sample(self, m: int, order: np.ndarray | None = None) -> LinearExamples: ...
    def scale_costs(self, factor: float) -> LinearExamples:
        """The same examples at other costs."""


class SoftmaxExamples(Examples, Protocol):
    """K scores for each example; see `problems/multinomial` for P and D."""

    @property
    def K(self) -> int: ...
    @property
    def steps_at_once(self) -> int: ...
    @property
    def class_weights(self) -> np.ndarray:
        """The costs of each class (K)."""

    def new_point(self) -> Any:
        """Room for scores and probabilities."""

    def move_to(self, at: Any, theta: np.ndarray, tick: Tick = None) -> float:
        """The scores of theta, into ``at``; the loss."""

    def scores(self, theta: np.ndarray, tick: Tick = None) -> Handle: ...
    def slopes_along(self, at: Any, along: Handle, ts: Sequence[float]) -> list[tuple[float, float]]: ...
    def move(self, at: Any, along: Handle, t: float) -> float:
        """Go on to the scores Z + t along; the loss there."""

    def bends(self, at: Any, k: int, j: int) -> Handle:
        """Weights of a block of the Hessian, for `gram`; for j other than k without their sign."""

    def mean_bends(self, at: Any) -> Handle: ...
    def shares(self, at: Any) -> np.ndarray:
        """c p of every example and class, where examples are fewer than features."""

    def hessian_times(self, at: Any, V: np.ndarray, tick: Tick = None) -> np.ndarray: ...
    def zero_dual(self) -> Handle: ...
    def dual_at(self, at: Any) -> Handle: ...
    def balanced_dual_at(self, at: Any) -> Handle:
        """The dual point with the best offsets, which need not be those of theta."""

    def column_sums(self, U: Handle) -> np.ndarray:
        """sum_i u_i (K)"""

    def dual(self, U: Handle, primal: float, combined: np.ndarray | None = None) -> float: ...
    def dual_from_primal(self, theta: np.ndarray, Z: Handle | None = None) -> Handle: ...
    def primal(self, theta: np.ndarray, Z: Handle | None = None) -> float: ...
    def penalty(self, theta: np.ndarray) -> float: ...
    def penalty_along(self, theta: np.ndarray, step: np.ndarray) -> tuple[float, float]: ...
    def gradient(self, theta: np.ndarray, data_part: np.ndarray) -> np.ndarray: ...
    def offset_bound(self, primal: float) -> float: ...
    def rounding(self, theta: np.ndarray, Z: Handle, U: Handle, combined: np.ndarray, primal: float) -> float: ...
