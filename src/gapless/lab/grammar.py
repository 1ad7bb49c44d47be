"""A formula of one letter, parsed: numbers, x, + − * / ^, brackets and a few named functions. Nothing is ever evaluated as code.

sum     = product (("+" | "-") product)*
product = sign (("*" | "/") sign)*
sign    = "-" sign | power
power   = atom ("^" sign)?
atom    = number | "x" | "pi" | "e" | name "(" sum ("," sum)* ")" | "(" sum ")" | "|" sum "|"
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gapless._runtime.written import written

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Formula:
    """A function of an array, and its text in Python. Where it is not defined, as log at −1, its value is not a number."""

    function: Function
    python: str  #: an expression in x and np

    def __call__(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            value = np.asarray(self.function(np.asarray(x, dtype=float)), dtype=float)
        return np.broadcast_to(value, np.shape(x)).copy()


FUNCTIONS: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "exp": (1, np.exp),
    "log": (1, np.log),
    "sqrt": (1, np.sqrt),
    "abs": (1, np.abs),
    "sin": (1, np.sin),
    "cos": (1, np.cos),
    "tanh": (1, np.tanh),
    "max": (2, np.maximum),
    "min": (2, np.minimum),
}


class FormulaError(ValueError):
    """A text that is not a formula; the message says where."""


def parse(text: str) -> Formula:
    """The function that a formula is."""
    reader = _Reader(_tokens(text.replace("−", "-").replace("**", "^").lower()))
    formula = reader.sum()
    if reader.at < len(reader.tokens):
        raise FormulaError(f"{written(reader.tokens[reader.at])} was not expected there")
    return formula


def _tokens(text: str) -> list[str]:
    token = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([a-z]+)|([-+*/^(),|]))")
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = token.match(text, at)
        if match is None:
            raise FormulaError(f"{written(text[at])} is not part of a formula")
        found.append(match.group(0).strip())
        at = match.end()
    if not found:
        raise FormulaError("the formula is empty")
    return found


class _Reader:
    most_depth = 30  #: brackets within brackets

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.next()
        if not token or (wanted and token != wanted):
            raise FormulaError(
                f"{written(wanted or 'a number or x')} is missing {'before ' + repr(token) if token else 'at the end'}"
            )
        self.at += 1
        return token

    def sum(self) -> Formula:
        self.depth += 1
        if self.depth > self.most_depth:
            raise FormulaError(f"brackets go deeper than {self.most_depth}")
        left = self.product()
        while self.next() in ("+", "-"):
            left = _both(self.take(), left, self.product())
        self.depth -= 1
        return left

    def product(self) -> Formula:
        left = self.sign()
        while self.next() in ("*", "/"):
            left = _both(self.take(), left, self.sign())
        return left

    def sign(self) -> Formula:
        minus = False
        while self.next() in ("-", "+"):
            minus ^= self.take() == "-"
        inner = self.power()
        return Formula(lambda x: -inner.function(x), f"(-{inner.python})") if minus else inner

    def power(self) -> Formula:
        base = self.atom()
        if self.next() != "^":
            return base
        sign = self.take()
        self.depth += 1
        if self.depth > self.most_depth:
            raise FormulaError(f"powers go deeper than {self.most_depth}")
        raised = _both(sign, base, self.sign())
        self.depth -= 1
        return raised

    def atom(self) -> Formula:
        token = self.take()
        if token[0].isdigit() or token[0] == ".":
            return _constant(float(token))
        if token == "x":
            return Formula(lambda x: x, "x")
        if token in ("pi", "e"):
            return _constant(math.pi if token == "pi" else math.e)
        if token in FUNCTIONS:
            return self.call(token)
        if token in ("(", "|"):
            inner = self.sum()
            self.take(")" if token == "(" else "|")
            return inner if token == "(" else Formula(lambda x: np.abs(inner.function(x)), f"np.abs({inner.python})")
        known = ", ".join(FUNCTIONS)
        raise FormulaError(f"{written(token)} is not known; there are x, pi, e, numbers, + - * / ^ and {known}")

    def call(self, name: str) -> Formula:
        wanted, function = FUNCTIONS[name]
        self.take("(")
        given = [self.sum()]
        while self.next() == ",":
            self.take()
            given.append(self.sum())
        self.take(")")
        if len(given) != wanted:
            raise FormulaError(f"{name} takes {wanted} values; it got {len(given)}")
        python = f"np.{function.__name__}({', '.join(part.python for part in given)})"
        return Formula(lambda x: function(*(part.function(x) for part in given)), python)


def _constant(value: float) -> Formula:
    return Formula(lambda x: np.full(np.shape(x), value), repr(value))


def _both(sign: str, left: Formula, right: Formula) -> Formula:
    operation = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power}[sign]
    python = f"np.power({left.python}, {right.python})" if sign == "^" else f"({left.python} {sign} {right.python})"
    return Formula(lambda x: operation(left.function(x), right.function(x)), python)
