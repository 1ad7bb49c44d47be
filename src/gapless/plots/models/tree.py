"""TreeDisplay: a decision tree as a picture: what is asked, how many rows go where, and what a leaf says."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import counted
from gapless.estimators.shared.tree_text import rules
from gapless.plots.style import COLOURS, GREY, INK, PALE, Display, plain, say, short

__all__ = ["TreeDisplay"]


@result
@dataclass(frozen=True)
class Node:
    """One node of the picture. ``hidden`` counts the nodes below that are not drawn.

    Attributes
    ----------
    number : its number in the tree
    depth : levels below the root
    x : where it stands, from left to right
    parent : number of its parent, None for the root
    left : whether it is the left child
    rule : the question of its split, empty for a leaf
    shares : share of each class, or where the value lies between the leaves
    says : the prediction as text
    n : training rows that reach it
    impurity : its impurity
    hidden : nodes below it that are not drawn
    """

    number: int
    depth: int
    x: float
    parent: int | None
    left: bool
    rule: str
    shares: np.ndarray
    says: str
    n: int
    impurity: float
    hidden: int

    def __str__(self) -> str:
        return f"node {self.number}: {self.rule or 'leaf'}, {self.n:,} rows, says {self.says}"


@dataclass(eq=False, repr=False)
class TreeDisplay(Display):
    """The left child is where the answer is yes. A bar shows the shares of the classes (or, of a regression, where the value
    lies in the range of the leaves); lines are as thick as the rows are many.

    Attributes
    ----------
    nodes : number -> `Node`, of those that are drawn
    labels : classes; none of a regression
    name : name of the estimator
    depth : levels below the root
    n_leaves : leaves of the whole tree
    boxes_, texts_, edges_ : dictionaries node number -> artist; bars_ : node number -> list of bars
    """

    nodes: dict[int, Node]
    labels: tuple[str, ...]
    name: str
    depth: int
    n_leaves: int
    _half_width, _half_height = 0.45, 0.31  # of a box; leaves stand 1 apart, and so do levels

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Any = None, max_depth: int = 4, decimals: int = 3
    ) -> TreeDisplay:
        """Of a fitted DecisionTreeClassifier or DecisionTreeRegressor of one output, down to ``max_depth``.

        ``estimator`` is fitted; ``feature_names`` names its columns; ``decimals`` are those of thresholds and
        values.
        """
        tree = getattr(estimator, "_tree", None)
        if tree is None:
            raise ValueError(f"{type(estimator).__name__} is no fitted tree of gapless")
        if getattr(estimator, "n_outputs_", 1) != 1:
            raise ValueError(f"this picture is of one output; the tree has {estimator.n_outputs_}")
        classifies = hasattr(estimator, "classes_")
        labels = tuple(short(c, 16) for c in np.asarray(estimator.classes_).tolist()) if classifies else ()
        lowest, highest = float(tree.value[:, 0].min()), float(tree.value[:, 0].max())
        order = _order(tree, int(max_depth))
        nodes: dict[int, Node] = {}
        for number, (depth, x, parent, left, below) in order.items():
            value = tree.value[number]
            if classifies:
                shares = np.asarray(value / value.sum() if value.sum() else value, dtype=np.float64)
                says = f"{labels[int(value.argmax())]}: {100 * shares.max():.0f} %"
            else:
                shares = np.array([(float(value[0]) - lowest) / ((highest - lowest) or 1.0)])
                says = f"value {float(value[0]):.{decimals}g}"
            leaf = tree.left[number] < 0
            rule = "" if leaf else plain(rules(estimator, number, feature_names, decimals)[0])
            nodes[number] = Node(
                number, depth, x, parent, left, rule, shares, says, int(tree.n_samples[number]), float(tree.impurity[number]),
                below,
            )  # fmt: skip
        return cls(nodes, labels, type(estimator).__name__, int(tree.depth), int((tree.left < 0).sum()))

    @property
    def shown(self) -> int:
        """Levels below the root that are drawn."""
        return max(node.depth for node in self.nodes.values())

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        hidden = sum(node.hidden for node in self.nodes.values())
        said = f"{self.name}: {counted(self.n_leaves, 'leaf', 'leaves')}, depth {self.depth}, {self.nodes[0].n:,} rows"
        return said + (f" ({counted(hidden, 'node')} below depth {self.shown} not drawn)" if hidden else "")

    def _width_of(self) -> float:
        return 1.0 + max(node.x for node in self.nodes.values())

    @property
    def _widths(self) -> tuple[float, ...]:
        return (max(4.6, 1.32 * self._width_of()),)

    @property
    def _height(self) -> float:
        return 0.8 + 1.15 * (self.shown + 1)

    def _draw(self) -> None:
        from matplotlib.patches import Patch, Rectangle

        ax = self.ax_
        ax.set_axis_off()
        ax.set(xlim=(-0.55, self._width_of() - 0.45), ylim=(-self.shown - 0.45, 0.5))
        self.boxes_, self.texts_, self.edges_, self.bars_ = {}, {}, {}, {}
        most, wide, high = self.nodes[0].n, 2 * self._half_width, 2 * self._half_height
        for node in self.nodes.values():
            if node.parent is not None:
                up = self.nodes[node.parent]
                (self.edges_[node.number],) = ax.plot(
                    [up.x, node.x], [-up.depth - self._half_height, -node.depth + self._half_height], color=GREY, zorder=1,
                    linewidth=0.6 + 4.0 * node.n / most, solid_capstyle="round",
                )  # fmt: skip
                if node.parent == 0:
                    at = (0.55 * up.x + 0.45 * node.x, -up.depth - self._half_height - 0.2)
                    ax.text(
                        *at, "yes" if node.left else "no", fontsize=7.5, ha="right" if node.left else "left", color=INK,
                        zorder=1.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                    )  # fmt: skip
            box = Rectangle(
                (node.x - self._half_width, -node.depth - self._half_height), wide, high, facecolor="white",
                edgecolor=INK, linewidth=1.3 if not node.rule else 0.8, zorder=2,
            )  # fmt: skip
            self.boxes_[node.number] = ax.add_patch(box)
            self.bars_[node.number] = self._bar(ax, node)
            lines = [*_folded(node.rule), node.says] if node.rule else [node.says]
            lines.append(counted(node.n, "row") + (f", {node.hidden} below" if node.hidden else ""))
            look = {"ha": "center", "va": "center", "fontsize": 7.5, "color": INK, "zorder": 4}
            self.texts_[node.number] = ax.text(node.x, -node.depth + 0.07, "\n".join(lines), **look)
        if self.labels:
            looks = [Patch(label=label, **_look(k)) for k, label in enumerate(self.labels)]
            ax.legend(handles=looks, loc="upper right", fontsize=8.0, frameon=False)
        say(ax, self.title)

    def _bar(self, ax: Any, node: Node) -> list[Any]:
        from matplotlib.patches import Rectangle

        bottom, left = -node.depth - self._half_height, node.x - self._half_width
        height, whole = 0.13, 2 * self._half_width
        found = []
        if not self.labels:
            look: dict[str, Any] = {"facecolor": "white", "edgecolor": PALE, "linewidth": 0.6}
            ax.add_patch(Rectangle((left, bottom), whole, height, zorder=3, **look))
        for k, share in enumerate(node.shares):
            width = whole * float(share)
            found.append(ax.add_patch(Rectangle((left, bottom), width, height, zorder=3, **_look(k))))
            left += width
        return found


def _folded(rule: str) -> list[str]:
    """A rule in lines that fit into a box."""
    # Letters of a line in it.
    line_letters = 21
    rule = rule.replace(" <= ", " ≤ ")
    if len(rule) <= line_letters:
        return [rule]
    lines = textwrap.wrap(rule.replace("≤ ", "≤\N{NO-BREAK SPACE}"), line_letters, max_lines=2, placeholder=" …")
    return lines


def _look(k: int) -> dict[str, Any]:
    fills = (COLOURS[0], "white", PALE, COLOURS[1], "white", COLOURS[2])
    return {
        "facecolor": fills[k % 6],
        "edgecolor": INK,
        "linewidth": 0.6,
        "hatch": ("", "////", "", "....", "xxxx", "")[k % 6],
    }


def _order(tree: Any, max_depth: int) -> dict[int, tuple[int, float, int | None, bool, int]]:
    """Number -> (depth, x, parent, whether it is the left child, nodes hidden below): leaves side by side, parents between."""
    places: dict[int, tuple[int, float, int | None, bool, int]] = {}
    column = 0

    def visit(number: int, depth: int, parent: int | None, left: bool) -> float:
        nonlocal column
        hidden = 0
        if tree.left[number] >= 0 and depth < max_depth:
            first = visit(int(tree.left[number]), depth + 1, number, True)
            second = visit(int(tree.right[number]), depth + 1, number, False)
            x = 0.5 * (first + second)
        else:
            x, hidden = float(column), _below(tree, number)
            column += 1
        places[number] = (depth, x, parent, left, hidden)
        return x

    visit(0, 0, None, False)
    return dict(sorted(places.items()))


def _below(tree: Any, number: int) -> int:
    total, stack = 0, [number]
    while stack:
        at = stack.pop()
        if tree.left[at] >= 0:
            total += 2
            stack += [int(tree.left[at]), int(tree.right[at])]
    return total
