"""The axis-expression grammar: how a derived axis follows from others. Nothing else is ever evaluated.

    sum     = product { ("+" | "-") product }
    product = operand { ("*" | "//" | "%") operand }
    operand = whole number | axis name | "(" sum ")"

Numbers are decimal digits, names are lowercase (`[a-z][a-z0-9_]*`), spaces may stand between. There is no unary
minus, no power and no call. Operators of one rank group from the left; `//` and `%` round down, as in Python.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

_MAX_CHARACTERS: Final = 1_000
_LIMIT: Final = 2**63  # magnitudes stay below it, so a row of factors cannot grow without bound

_TOKEN: Final = re.compile(
    r"(?P<number>[0-9]+)|(?P<name>[a-z][a-z0-9_]*)|(?P<sign>//|[-+*%])|(?P<open>\()|(?P<close>\))"
    r"|[ \t]+|(?P<foreign>[^ \t])"
)
_GRAMMAR: Final = "it may hold whole numbers, lowercase axis names, + - * // % and ( )"
_RANK: Final = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
_APPLY: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


class AxisError(ValueError):
    """An expression that is not in the grammar, or that has no value."""


class UnboundAxisError(AxisError):
    """An expression that needs an axis which has no value; `name` is that axis."""

    def __init__(self, name: str, expression: str | None = None) -> None:
        super().__init__(name, expression)
        self.name = name
        self.expression = expression

    def __str__(self) -> str:
        where = "" if self.expression is None else f"axis expression {self.expression!r}: "
        return f"{where}axis {self.name!r} has no value here"


def evaluate(expression: str, bindings: Mapping[str, int]) -> int:
    """Return the value of an expression with the given axis values.

    Raises UnboundAxisError for an axis that is not in `bindings`, and AxisError for a text outside the grammar, for a
    division by zero, and for a number of 2^63 or more in magnitude, at the end or on the way.
    """
    stack: list[int] = []
    for step in _postfix(expression):
        if isinstance(step, int):
            value = step
        elif step in _APPLY:
            right, left = stack.pop(), stack.pop()
            if right == 0 and step in ("//", "%"):
                raise AxisError(f"axis expression {expression!r}: division by zero, {left} {step} 0")
            value = _APPLY[step](left, right)
        elif step in bindings:
            value = bindings[step]
        else:
            raise UnboundAxisError(step, expression)
        if abs(value) >= _LIMIT:
            raise AxisError(f"axis expression {expression!r}: reaches 2^63 in magnitude, no axis is that long")
        stack.append(value)
    return stack.pop()


def names(expression: str) -> frozenset[str]:
    """Return the axis names an expression needs. Raises AxisError for a text outside the grammar."""
    return frozenset(step for step in _postfix(expression) if isinstance(step, str) and step not in _APPLY)


@lru_cache(maxsize=1024)  # one expression is evaluated for every workload entry of its kernel
def _postfix(expression: str) -> tuple[int | str, ...]:
    """Put an expression in postfix order: numbers, axis names and operators, by Dijkstra's shunting-yard.

    It keeps its own stack, so nesting costs memory in proportion to the text and no recursion.
    """
    steps: list[int | str] = []
    waiting: list[str] = []  # operators and parentheses whose right side is not read yet
    operand_next = True
    for kind, token in _tokens(expression):
        if operand_next and kind in ("number", "name"):
            steps.append(int(token) if kind == "number" else token)
            operand_next = False
        elif operand_next and kind == "open":
            waiting.append(token)
        elif not operand_next and kind == "sign":
            while waiting and _RANK.get(waiting[-1], 0) >= _RANK[token]:
                steps.append(waiting.pop())
            waiting.append(token)
            operand_next = True
        elif not operand_next and kind == "close" and "(" in waiting:
            while (sign := waiting.pop()) != "(":
                steps.append(sign)
        else:
            raise AxisError(f"axis expression {expression!r}: unexpected {token!r}; {_GRAMMAR}")
    if operand_next or "(" in waiting:
        raise AxisError(f"axis expression {expression!r}: ends too early; {_GRAMMAR}")
    return (*steps, *reversed(waiting))


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    if len(expression) > _MAX_CHARACTERS:
        raise AxisError(f"axis expression {expression[:40]!r}…: longer than {_MAX_CHARACTERS} characters")
    for found in _TOKEN.finditer(expression):
        if found.lastgroup:
            yield found.lastgroup, found[0]
