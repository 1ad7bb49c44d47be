"""A tree as text: one line a node, indented by its depth."""

from __future__ import annotations

from typing import Any

import numpy as np


def tree_text(model: Any, feature_names: Any, decimals: int, max_depth: int) -> str:
    tree = model._tree
    names = feature_names_of(model, feature_names)
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, rule = stack.pop()
        if rule:
            lines.append("|   " * (depth - 1) + "|--- " + rule)
        if tree.left[node] < 0:
            lines.append("|   " * depth + "|--- " + _leaf(model, node, decimals))
            continue
        if depth >= max_depth:
            lines.append("|   " * depth + f"|--- ... ({_below(tree, node)} nodes below)")
            continue
        left, right = rules(model, node, names, decimals)
        stack += [(int(tree.right[node]), depth + 1, right), (int(tree.left[node]), depth + 1, left)]
    return "\n".join(lines) + "\n"


def feature_names_of(model: Any, given: Any) -> Any:
    """The names of the columns: those given, those of the frame, or feature_0, feature_1 ..."""
    names = given if given is not None else getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"feature_{j}" for j in range(model.n_features_in_)]
    if len(names) != model.n_features_in_:
        raise ValueError(f"feature_names must contain {model.n_features_in_} elements, got {len(names)}")
    return names


def rules(model: Any, node: int, feature_names: Any, decimals: int) -> tuple[str, str]:
    """What sends a row of this node to its left child, and what to its right one."""
    tree, names = model._tree, feature_names_of(model, feature_names)
    j = int(tree.feature[node])
    missing = " or missing" if j in model.certificate_.statement["problem"]["missing"] else ""
    to_left, to_right = (missing, "") if tree.missing_left[node] else ("", missing)
    if np.isnan(tree.threshold[node]):
        known = model._levels[j]
        bits = [bool(tree.categories[node, c // 32] >> np.uint32(c % 32) & 1) for c in range(known.size)]
        left = f"{names[j]} in {_set(known, bits)}{to_left}"
        return left, f"{names[j]} in {_set(known, [not b for b in bits])}{to_right}"
    at = f"{tree.threshold[node]:.{decimals}f}"
    return f"{names[j]} <= {at}{to_left}", f"{names[j]} >  {at}{to_right}"


def _set(known: np.ndarray, bits: list[bool]) -> str:
    return "{" + ", ".join(f"{value:g}" for value, bit in zip(known.tolist(), bits) if bit) + "}"


def _leaf(model: Any, node: int, decimals: int) -> str:
    tree, parts = model._tree, model._parts()
    shares = [tree.value[node, parts[o] : parts[o + 1]] for o in range(parts.size - 1)]
    if hasattr(model, "classes_"):
        classes = [model.classes_] if model.n_outputs_ == 1 else model.classes_
        return "class: " + ", ".join(str(known[int(share.argmax())]) for known, share in zip(classes, shares))
    return "value: [" + ", ".join(f"{float(share[0]):.{decimals}f}" for share in shares) + "]"


def _below(tree: Any, node: int) -> int:
    count, stack = 0, [node]
    while stack:
        at = stack.pop()
        if tree.left[at] >= 0:
            count += 2
            stack += [int(tree.left[at]), int(tree.right[at])]
    return count
