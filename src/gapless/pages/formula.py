"""Formulas: the plain notation of `objective_` into MathML, which browsers typeset without a script and without a font of ours.

    atom      number, letter, Greek name, function (max, min, ln, exp, tanh), word; (…), […], |…|, <…, …>
              sqrt(…), binom(n, k), sum_i, sum_(j = 0)^k
    postfix   atom_atom, atom^atom                       a subscript or exponent of several signs stands in parentheses
    fraction  atom/atom
    formula   atoms and + - * , = <= >= in a row; * is a product

The tags of a tree of `Node` are words of this file, and the template escapes its text, so that no text of a user becomes markup.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

__all__ = ["Formula", "Node", "typeset"]


@dataclass(frozen=True)
class Node:
    """An element of MathML: with children, or with text."""

    tag: str
    children: tuple[Node, ...] = ()
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Formula:
    """The parts between which a line may end, and the same in plain text for who cannot see them."""

    parts: tuple[Node, ...]
    plain: str


def typeset(text: str) -> Formula | None:
    """The formula as MathML; None where the notation is not kept, and the text stands for itself."""
    most_signs = 1000
    plain = " ".join(text.split())
    if not plain or len(plain) > most_signs:
        return None
    try:
        reader = _Reader(plain)
        nodes = [_spaced(node) for node in reader.row(end=None)]
    except _Unreadable:
        return None
    return Formula(tuple(_parts(nodes)), plain)


def _parts(nodes: list[Node]) -> list[Node]:
    """Cut before each sign of a sum and after each comma of the whole: there a narrow page ends its lines."""
    parts: list[list[Node]] = [[]]
    for node in nodes:
        starts = node.tag == "mo" and node.text in ("+", "−", "≤", "≥", "=") and parts[-1]
        if starts or (parts[-1] and parts[-1][-1].tag == "mo" and parts[-1][-1].text in (",", ";")):
            parts.append([])
        if starts:  # at the front of a part it would be set as the sign of a number
            node = replace(node, attributes=(("form", "infix"),))
        parts[-1].append(node)
    return [_row(part) for part in parts if part]


class _Unreadable(ValueError):
    """The text is not in the notation."""


class _Reader:
    """Recursive descent over the signs of a formula."""

    token = re.compile(r"\s*(?:(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|([A-Za-zα-ωΑ-Ω∑]+)|(<=|>=|[-+*/=,;:_^()\[\]|<>]))")
    #: An opening bracket -> its end, and how the pair is shown.
    brackets: ClassVar = {"(": (")", "(", ")"), "[": ("]", "[", "]"), "<": (">", "⟨", "⟩"), "|": ("|", "|", "|")}

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def peek(self) -> str:
        found = self.token.match(self.text, self.at)
        if found is None:
            if self.text[self.at :].strip():
                raise _Unreadable(self.text[self.at :])
            return ""
        return found.group().strip()

    def next(self) -> str:
        token = self.peek()
        found = self.token.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return token

    def row(self, end: str | None) -> list[Node]:
        """Until the bracket ``end``, which is read too; None: until the text ends."""
        signs = {"-": "−", "*": "·", "<=": "≤", ">=": "≥"}
        nodes: list[Node] = []
        while True:
            token = self.peek()
            if token == "" or token == end:
                if token != (end or ""):
                    raise _Unreadable("a bracket is not closed")
                self.next()
                return nodes
            if token in (")", "]", ">"):
                raise _Unreadable("a bracket is not opened")
            if token in signs or token in ("+", "=", ",", ";", ":"):
                self.next()
                nodes.append(Node("mo", text=signs.get(token, token)))
                continue
            nodes.append(self.factor())
            if nodes[-1].tag == "mtext" and len(nodes) > 1 and nodes[-2].tag == "mtext":
                nodes[-2:] = [Node("mtext", text=f"{nodes[-2].text} {nodes[-1].text}")]

    def factor(self) -> Node:
        """An atom with its subscript, exponent and denominator."""
        token = self.peek()
        node = self.atom()
        big = token == "sum"
        low = high = None
        while self.peek() in ("_", "^"):
            if self.next() == "_":
                low = _bare(self.atom())
            else:
                high = _bare(self.atom())
        if low is not None or high is not None:
            tags = ("munder", "munderover", "munderover") if big else ("msub", "msup", "msubsup")
            kept = tuple(part for part in (low, high) if part is not None)
            node = Node(tags[2] if len(kept) == 2 else tags[0] if low is not None else tags[1], (node, *kept))
        if self.peek() == "/":
            self.next()
            node = Node("mfrac", (_bare(node), _bare(self.factor())))
        return node

    def atom(self) -> Node:
        token = self.next()
        if not token:
            raise _Unreadable("the text ends too early")
        if token[0].isdigit():
            return _number(token)
        if token in self.brackets:
            return self.bracket(token)
        if not token.isalpha() and token != "∑":
            raise _Unreadable(token)
        if token in ("sqrt", "binom") and self.peek() == "(":
            self.next()
            inside = self.row(end=")")
            return Node("msqrt", (_row(inside),)) if token == "sqrt" else _binomial(inside)
        return _word(token)

    def bracket(self, token: str) -> Node:
        end, left, right = self.brackets[token]
        # Bars around w or x - z, which are vectors, are a norm, others an absolute value.
        if token == "|" and re.compile(r"\s*(w|x - z)").match(self.text, self.at) is not None:
            left = right = "‖"
        inside = self.row(end)
        fence = (("fence", "true"), ("stretchy", "true"))
        ends = (("form", "prefix"), *fence), (("form", "postfix"), *fence)
        first, last = (Node("mo", text=sign, attributes=of) for sign, of in zip((left, right), ends))
        return Node("mrow", (first, _row(inside), last))


def _number(token: str) -> Node:
    """1.0 is 1, and 1e-05 is 10 to the power of -5."""
    value = float(token)
    shown = f"{value:.12g}"
    if "e" not in shown:
        return Node("mn", text=shown)
    head, power = shown.split("e")
    tens = Node("msup", (Node("mn", text="10"), Node("mn", text=str(int(power)).replace("-", "−"))))
    return tens if head == "1" else Node("mrow", (Node("mn", text=head), Node("mo", text="·"), tens))


def _word(token: str) -> Node:
    if token in ("sum", "∑"):
        return Node("mo", text="∑", attributes=(("movablelimits", "false"),))
    greek = {
        "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "mu": "μ", "phi": "φ", "rho": "ρ", "xi": "ξ",
        "Phi": "Φ", "Omega": "Ω",
    }  # fmt: skip
    if token in greek:
        return Node("mi", text=greek[token])
    if len(token) == 1 or token in ("max", "min", "ln", "exp", "tanh", "kl"):
        return Node("mi", text=token)
    return Node("mtext", text=token)


def _spaced(node: Node) -> Node:
    """Words stand apart from the signs beside them, but not from their own subscript."""
    if node.tag == "mtext":
        return replace(node, text=f"\u00a0{node.text}\u00a0")
    return (
        node if node.tag in ("msub", "msup", "msubsup") else replace(node, children=tuple(map(_spaced, node.children)))
    )


def _binomial(inside: list[Node]) -> Node:
    comma = next((k for k, node in enumerate(inside) if node.text == ","), None)
    if comma is None:
        raise _Unreadable("binom has two places")
    pair = Node("mfrac", (_row(inside[:comma]), _row(inside[comma + 1 :])), attributes=(("linethickness", "0"),))
    return Node("mrow", (Node("mo", text="("), pair, Node("mo", text=")")))


def _row(nodes: list[Node]) -> Node:
    if not nodes:
        raise _Unreadable("an empty place")
    return nodes[0] if len(nodes) == 1 else Node("mrow", tuple(nodes))


def _bare(node: Node) -> Node:
    """Without the parentheses that hold a subscript, an exponent or a part of a fraction together."""
    children = node.children
    held = node.tag == "mrow" and len(children) == 3 and children[0].text == "(" and children[-1].text == ")"
    return children[1] if held else node
