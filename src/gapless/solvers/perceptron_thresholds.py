"""The perceptron: how much work a pass, a look at the pocket and a proof are, counted in values of rows that are read."""

from __future__ import annotations

import math
from typing import NamedTuple


class PerceptronThresholds(NamedTuple):
    """Each field: its unit, and the reason for its value. Counts and not seconds decide, so that equal fits go equal ways."""

    #: A proof that was not asked for is added where the fit did at least so many times its work: a fifth of the fit.
    proof_share: float = 5.0
    #: What a visit costs besides the values of its row, in values: some 10 ns, where one value of a long dense row is 0.15 ns.
    visit_values: float = 60.0
    #: What the brief proof of `solvers/separation/decide.py` costs in such values: at least (two linear programs, 10 to 20 ms);
    #: for each square of the number of columns (0.06 to 0.2 s at 50, 1.3 to 6 s at 200); for each stored value.
    proof_values: float = 1e8
    proof_values_per_column_squared: float = 1e6
    proof_reads: float = 100.0
    #: Values read after which a fit that waits for a proof asks whether the rows can be separated, and the passes between
    #: which that lies: some 10 to 50 ms, about what the answer costs.
    ask_values: float = 5e7
    ask_least: int = 10
    ask_most: int = 100
    #: Values read in passes that fill the pocket after a proof, and the passes between which that lies: some 20 ms.
    pocket_values: float = 2e7
    pocket_least: int = 5
    pocket_most: int = 100
    #: Values up to which these passes may look at all weights: looking at one reads all rows, which grows like n squared.
    pocket_looks: float = 5e7
    #: Values, of all classes together, up to which dense rows are visited in one order of sums, by numpy or by a kernel: without
    #: numba breast cancer (569 x 30) takes 4 ms, random labels on its rows 20, and compiling a second.
    in_order_values: int = 50_000
    #: Mistakes that numpy makes in a process before it asks for numba: some 40 ms, and a kernel is ten times as fast.
    mistakes_by_numpy: int = 5000

    def proof_work(self, n_stored: int, n_features: int) -> float:
        """Values that a proof costs on rows of so many stored values and columns: an estimate from the shape alone."""
        columns = self.proof_values_per_column_squared * n_features**2
        return self.proof_values + columns + self.proof_reads * n_stored

    def pass_work(self, n_stored: int, n_rows: int) -> float:
        """Values that a pass costs."""
        return n_stored + self.visit_values * n_rows

    def passes_to_ask(self, n_stored: int) -> int:
        """Passes with mistakes after which the question of separability is asked."""
        return math.ceil(min(self.ask_most, max(self.ask_least, self.ask_values / max(1, n_stored))))

    def passes_of_pocket(self, n_stored: int) -> int:
        """Passes that fill the pocket after a proof."""
        return int(min(self.pocket_most, max(self.pocket_least, self.pocket_values / max(1, n_stored))))


PERCEPTRON_THRESHOLDS = PerceptronThresholds()
