"""The judge compares a claim in one way (`judge.compare`): no order comparison stands in a file of claims but those on a list."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from gapless import judge
from gapless.judge.arithmetic.compare import above, at_most, between, capped, equal, worst

ROOT = Path(judge.__file__).parent
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
CLOSE = ("isclose", "allclose", "less", "less_equal", "greater", "greater_equal", "assert_allclose")

#: Order comparisons in files of claims, by the reason why none of them decides a claim on floats.
ALLOWED: dict[str, dict[str, set[str]]] = {
    "whether a square is in the range of floats: the data's, and only which of two bounds on a length is taken": {
        "perceptron/__init__.py": {
            "0.0 < largest < np.inf",
            "squares < 1e+280",
            "squares > 1e-280",
        },
    },
    "which rows, classes, columns or entries count": {
        "boosting/__init__.py": {
            "answer < K",
            "errors > 0.0",
            "found.counts > 0",
            "self.weights > 0.0",
        },
        "bounds/claims.py": {
            "alpha > 0.0",
            "length > 0.0",
            "side >= 0",
            "sign > 0.0",
        },
        "bagging/__init__.py": {
            "errors < 0.5",
            "errors > 0.0",
        },
        "kernel/__init__.py": {
            "self.c > 0.0",
        },
        "least_squares/data.py": {
            "self.alpha > 0",
            "self.s > 0",
        },
        "least_squares/figures.py": {
            "below > 0",
            "case.alpha[:, None] > 0.0",
            "case.s > 0",
            "edge > 0",
            "length > 0",
            "unit > 0",
            "scale > constant * raw",
        },
        "linear/case.py": {
            "class_weight[self.index] > 0.0",
            "self.weights > 0.0",
        },
        "perceptron/__init__.py": {
            "self.c > 0.0",
            "updates > 0",
        },
        "gaussian/__init__.py": {
            "S > edge * least",
            "deviation <= least",
            "scale <= 10.0 * np.finfo(float).eps * largest",
            "self.weights > 0",
        },
        "sparse/__init__.py": {
            "self.c > 0",
        },
        "sparse/statement.py": {
            "scale > 0.0",
            "total > 0.0",
        },
        "separation/case.py": {
            "np.bincount(self.index[self.keep], minlength=self.K) > 0",
            "self.weights > 0",
        },
        "tree/data.py": {
            "p > 0",
            "self.weights > 0",
        },
        "tree/splits.py": {
            "S > 0",
            "S > 1e-11 * total_S",
            "case.Y[case.held[t]] > 0",
            "total_S - S > 1e-11 * total_S",
        },
        "bounds/case.py": {
            "alpha < (1.0 - near) * c",
            "alpha > near * c",
        },
        "case.py": {
            "c > 0",
        },
    },
    "a count, a size or a place in an array: whole numbers": {
        "boosting/__init__.py": {
            "last < values.size - 1",
            "last >= 0",
            "len(kept) * n >= 20000000",
            "self.T < claimed",
            "self.own.size <= EXACT_ROWS",
            "self.own.size > 0",
            "values.size < self.own.size",
        },
        "bounds/__init__.py": {
            "len(classes['values']) < 2",
        },
        "bounds/claims.py": {
            "0 <= k <= n",
            "k > n",
            "m <= n",
            "m > 1",
            "m >= 10",
            "min(k, n - k) > 20000000",
            "n <= 2",
            "n <= binomial.EXACT",
            "rows.shape[0] > 0",
            "support <= k",
        },
        "bounds/leave_one_out.py": {
            "n == case.n <= most_rows",
        },
        "bounds/votes.py": {
            "both.min() < 1",
            "each.min() < 1",
            "few < len(learners)",
        },
        "bagging/__init__.py": {
            "first < 2 ** 32",
        },
        "likelihood/case.py": {
            "self.K > 2",
        },
        "kernel/__init__.py": {
            "0 < keep.size <= 8000",
            "self.kernel['degree'] > 0",
        },
        "least_squares/figures.py": {
            "case.d <= case.most_columns",
        },
        "perceptron/__init__.py": {
            "max(numbers) >= n",
        },
        "gaussian/__init__.py": {
            "K > 2",
            "count > 1",
            "d > 1",
            "len(ranks) > 1",
            "rank < d",
        },
        "separation/case.py": {
            "case.place.max() < 1",
            "len(alpha) > 0",
            "rival >= 0",
            "rivals < case.place.size",
            "rows < n",
        },
        "tree/data.py": {
            "b > a",
            "most < bins",
            "n <= 200000",
            "problem['max_features'] >= self.d",
        },
        "tree/splits.py": {
            "(~none).sum() > 1",
            "W.size < 2",
            "bad < 0",
            "bad >= 0",
            "case.depth[node] >= deepest",
            "n - nl >= least",
            "n < least",
            "nl >= least",
            "rows.size - n < least",
            "rows.size < 2 * least",
            "rows.size < case.problem['min_split']",
            "work > most_exact",
        },
        "linear/statement.py": {
            "case.K > 2",
        },
        "case.py": {
            "len(parts) > 1",
            "len(self.parts) > 1",
        },
    },
    "how the model itself sends or answers a row": {
        "boosting/__init__.py": {
            "j < 0",
            "self.columns.whole(j) > self.arrays['threshold'][t]",
        },
        "bounds/votes.py": {
            "X[:, j].astype(np.float32) > t",
            "j < 0",
            "j >= 0",
        },
        "tree/data.py": {
            "x <= arrays['threshold'][node]",
        },
        "tree/splits.py": {
            "values[:-1] < values[1:]",
        },
    },
    "signs and ends of enclosures: what is open is counted as open": {
        "boosting/__init__.py": {
            "behind > tie",
            "behind >= -tie",
        },
        "bounds/claims.py": {
            "below > 0.0",
            "d_low < 0.5",
            "high >= 0.0",
            "low + high > 0.0",
            "low <= 0.0",
            "np.abs(low + high) < 1e-09",
        },
        "bounds/leave_one_out.py": {
            "over >= -room",
            "over >= room",
        },
        "perceptron/__init__.py": {
            "float(off.max(initial=0.0)) < min(1.0, _step(values)) * _step(theta)",
            "low > 0.0",
            "margin + room <= 0.0",
            "margin - room <= 0.0",
            "margin < 0.0",
            "margin[unsure] > 0.0",
            "np.abs(margin) > off",
            "np.abs(z) > off",
        },
        "separation/case.py": {
            "1e-150 < length < 1e+150",
            "distance > margin * (1.0 + 1e-09)",
        },
    },
    "which formula applies; what follows from either is compared": {
        "boosting/__init__.py": {
            "edge > 0.0",
            "wanted < 2.0 ** 52",
        },
        "bounds/claims.py": {
            "0.0 < mu < 100000000.0",
            "g_up < 0.5",
            "number(w) > 0.0",
        },
        "bagging/__init__.py": {
            "errors[-1] < 0.5",
        },
        "likelihood/case.py": {
            "reach < 1.0",
        },
        "kernel/__init__.py": {
            "number(self.kernel['coef0']) < 0.0",
            "shift <= none",
            "value > 0.0",
            "wanted > 0.0",
        },
        "gaussian/__init__.py": {
            "beta > 0",
            "plain[0] > 0",
            "view.values > max(0.25 * visible * top, (1.0 - self.near) * tol * tol)",
            "view.values > max(4.0 * noise * top, (1.0 + self.near) * tol * tol)",
            "view.values[-1] > 0",
            "views[0].scale > 8.0 * self.unit * largest",
        },
        "tree/__init__.py": {
            "number(self.parameters.get('ccp_alpha') or 0.0) > 0",
        },
        "tree/splits.py": {
            "W > 0",
            "W >= light",
            "best > behind",
            "case.weight[node] <= 2.0 * number(case.problem['min_weight']) * (1.0 + 1e-09)",
            "case.weights[rows].min() <= gamma(4 * rows.size + 64) * case.weight[node]",
            "fewest > 0.0",
            "found > room",
            "light > 0",
            "light > W",
            "light > total_W - W",
            "price > 0.0",
            "total_W - W >= light",
            "total_W > W",
            "value > best",
        },
    },
    "an array of the model against a bound that holds for no NaN": {
        "boosting/__init__.py": {
            "self.arrays['stage_weights'] > 0.0",
        },
        "perceptron/__init__.py": {
            "self.arrays['updates'] >= 0",
            "votes > 0",
        },
        "tree/data.py": {
            "counts[self.left[node]] > counts[self.right[node]]",
            "left < 0",
        },
    },
    "integers and fractions: exact": {
        "bounds/__init__.py": {
            "expected <= {'leave-one-out'}",
            "total <= Fraction(delta)",
        },
        "bounds/claims.py": {
            "set(orders) <= plain",
            "total.bit_length() > 4 * n + 100000",
        },
        "perceptron/__init__.py": {
            "B2 + (K + 1) * wide <= M * M",
            "m <= 0",
            "mu > 0",
            "reach * reach >= T2 * (B2 + K * wide)",
            "reach >= 0",
            "score * int(y[block.start + i]) <= 0",
        },
        "separation/case.py": {
            "Fraction(upper) ** 2 >= square",
            "above > 0",
            "sign < 0",
            "sign > 0",
            "sign[chosen] <= 0",
            "v * v < m2 * square",
            "v > 0",
        },
        "tree/splits.py": {
            "best - own > Fraction(_room(case, rows))",
        },
    },
    "infinity is meant: nothing is claimed": {
        "likelihood/case.py": {
            "reach >= 1.0",
        },
    },
}

BAD = [float("nan"), float("inf"), -float("inf")]


def comparisons(text: str) -> list[str]:
    """Order comparisons and calls that compare by a room of their own, as they stand in a file."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and any(isinstance(op, ORDER) for op in node.ops):
            found.append(ast.unparse(node))
        name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        if name in CLOSE:
            found.append(ast.unparse(node))
    return found


def claim_files() -> list[Path]:
    """Files that make claims; `verdict` only shows them."""
    makes = re.compile(r"[Cc]laims?\(")
    return [path for path in sorted(ROOT.rglob("*.py")) if makes.search(path.read_text()) and path.name != "verdict.py"]


def allowed(name: str) -> set[str]:
    return {text for files in ALLOWED.values() for text in files.get(name, ())}


@pytest.mark.parametrize("path", claim_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_claims_are_compared_in_one_way(path):
    name = str(path.relative_to(ROOT))
    found = set(comparisons(path.read_text()))
    assert found - allowed(name) == set(), "compare claims with judge.compare, or give the reason in ALLOWED"
    assert allowed(name) - found == set(), "these are gone: take them off the list"


def test_a_planted_comparison_is_found():
    for planted in ("claimed - found <= room", "not off > room", "np.isclose(a, b)", "math.isclose(a, b)", "0 < x < y"):
        assert comparisons(f"holds = {planted}\n") != []
    path = ROOT / "gaussian" / "__init__.py"
    text = path.read_text() + "\n\ndef _bad(claimed, found, room):\n    return not abs(claimed - found) > room\n"
    assert set(comparisons(text)) - allowed("gaussian/__init__.py") == {"abs(claimed - found) > room"}


@pytest.mark.parametrize("bad", BAD)
def test_nothing_holds_of_what_is_not_finite(bad):
    for a, b, room in ((bad, 1.0, 2.0), (1.0, bad, 2.0), (1.0, 1.0, bad), (bad, bad, 2.0), (bad, bad, bad)):
        assert not equal(a, b, room)
        assert not at_most(a, b, room)
        assert not between(a, b, 2.0, room)
        assert not between(a, 0.0, b, room)
    assert not above(bad, 0.0)
    assert not above(1.0, bad)
    assert not equal([1.0, bad], [1.0, 1.0], 2.0)
    assert not equal([1.0, 1.0], [1.0, 1.0], [0.0, bad])
    assert worst([1.0, bad], 1.0, 1.0) == np.inf
    assert capped(bad, 2.0, 0.5) <= 1.0


def test_a_room_is_not_negative_and_has_a_cap():
    assert equal(1.0, 1.0)
    assert not equal(1.0, 1.0, -1e-300)
    assert not at_most(0.0, 1.0, -1.0)
    assert equal(1.0, 1.5, 0.5)
    assert not equal(1.0, 1.5, 0.49)
    assert capped(1e300, 2.0, 0.01) == 0.02
    assert not equal(-1e308, 1e308, 1e308)  # the difference overflows
    assert above(2.0, 1.0)
    assert not above(1.0, 1.0)
