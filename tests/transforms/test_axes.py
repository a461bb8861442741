"""The axis grammar against expression trees and against Python's own operators."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.axes import AxisError, UnboundAxisError, evaluate, names

BINDINGS = {"m": 7, "seq_len": 4096, "heads": 32, "kv_heads2": 8, "zero": 0, "below": -5}
LEAVES = st.integers(0, 10**6) | st.sampled_from(sorted(BINDINGS))
TREES = st.recursive(LEAVES, lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "//", "%"]), inner, inner))
SPACES = st.sampled_from(["", " ", "  ", "\t"])

Tree = Any  # a number, a name, or (operator, tree, tree)


def value_of(tree: Tree) -> int | None:
    """Compute a tree's value; None where the grammar's has none: a division by zero, or 2^63 reached on the way."""
    if not isinstance(tree, tuple):
        return BINDINGS[tree] if isinstance(tree, str) else int(tree)
    operator, left, right = tree[0], value_of(tree[1]), value_of(tree[2])
    if left is None or right is None or (right == 0 and operator in ("//", "%")):
        return None
    quotient = 0 if operator in "+-*" else divmod(left, right)
    value = {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}.get(
        operator, lambda: quotient[0] if operator == "//" else quotient[1]
    )()
    return value if abs(value) < 2**63 else None


def names_of(tree: Tree) -> set[str]:
    if isinstance(tree, tuple):
        return names_of(tree[1]) | names_of(tree[2])
    return {tree} if isinstance(tree, str) else set()


def written(tree: Tree, space: str) -> str:
    """Write a tree with parentheses round every operation."""
    if not isinstance(tree, tuple):
        return str(tree)
    return f"({space}{written(tree[1], space)}{space}{tree[0]}{space}{written(tree[2], space)}{space})"


@settings(max_examples=400, deadline=None)
@given(TREES, SPACES)
def test_a_written_tree_has_the_value_of_the_tree(tree: Tree, space: str) -> None:
    text, value = written(tree, space), value_of(tree)
    if len(text) > 1_000:
        return
    if value is None:
        with pytest.raises(AxisError):
            evaluate(text, BINDINGS)
    else:
        assert evaluate(text, BINDINGS) == value
    assert names(text) == names_of(tree)


ROW = st.lists(
    st.tuples(st.sampled_from(["+", "-", "*", "//", "%"]), st.integers(1, 9) | st.sampled_from(["m", "heads"]))
)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 9), ROW, st.integers(0, 5), st.integers(0, 5))
def test_rank_and_grouping_are_those_of_python(first: int, row: list[tuple[str, Any]], start: int, length: int) -> None:
    """A row of operands, one stretch of it in parentheses, against Python's parser as the outside word."""
    operands = [str(first), *(str(operand) for _, operand in row)]
    if start + length < len(operands):
        operands[start] = "(" + operands[start]
        operands[start + length] += ")"
    text = operands[0] + "".join(f" {sign} {right}" for (sign, _), right in zip(row, operands[1:], strict=True))
    try:
        value = eval(text, {"__builtins__": {}}, BINDINGS)
    except ZeroDivisionError:
        with pytest.raises(AxisError, match="division by zero"):
            evaluate(text, BINDINGS)
        return
    if len(row) < 15:  # below 2^63 on the way, then, whatever the signs
        assert evaluate(text, BINDINGS) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("007", 7),
        ("seq_len", 4096),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 3 - 2", 5),
        ("100 // 7 // 2", 7),
        ("100 // (7 // 2)", 33),
        ("7 * 7 % 4", 1),
        ("7 % 4 * 7", 21),
        ("2 + 7 // 2", 5),
        ("0 - 7 // 2", -3),
        ("(0 - 7) // 2", -4),
        ("(0 - 7) % 3", 2),
        ("7 % (0 - 3)", -2),
        ("below // 2", -3),
        ("seq_len*heads//kv_heads2", 16384),
        ("  m\t+ 1 ", 8),
        ("((((((((m))))))))", 7),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_values(text: str, value: int) -> None:
    assert evaluate(text, BINDINGS) == value


NOT_IN_THE_GRAMMAR = [
    "",
    " ",
    "()",
    "(",
    ")",
    "(1",
    "1)",
    "1))",
    ")1(",
    "1 2",
    "m m",
    "2m",
    "m(2)",
    "(m)(m)",
    "1 +",
    "+ 1",
    "-1",
    "-m",
    "1 * -1",
    "(-1)",
    "1 + + 1",
    "1 - - 1",
    "2 ** 3",
    "6 / 2",
    "6 /// 2",
    "6 / / 2",
    "1.5",
    "1e3",
    "0x10",
    "1_000",
    "M",
    "seqLen",
    "_m",
    "m.real",
    "m[0]",
    "m if m else m",
    "m and m",
    "m == m",
    "m := 1",
    "~m",
    "m << 2",
    "m & 1",
    "m,m",
    "m;m",
    "m\n",
    "m\n+1",
    "m\u00a0+1",
    "\u0661",
    "\u00e9",
    "m\u0660",
    "__import__('os')",
    "lambda: 1",
    "'a'",
    "#",
]


@pytest.mark.parametrize("text", NOT_IN_THE_GRAMMAR)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(AxisError):
        evaluate(text, BINDINGS)
    with pytest.raises(AxisError):
        names(text)


@settings(max_examples=400, deadline=None)
@given(st.text("0123456789 abmz_+-*/%()", max_size=30))
def test_any_text_has_a_value_or_an_error_and_python_agrees(text: str) -> None:
    bindings = dict.fromkeys(names_or_none(text) or (), 3)
    try:
        value = evaluate(text, bindings)
    except AxisError:
        return
    try:
        assert eval(text.strip(), {"__builtins__": {}}, bindings) == value
    except SyntaxError:
        assert "0" in text  # Python alone refuses 007


def names_or_none(text: str) -> frozenset[str] | None:
    try:
        return names(text)
    except AxisError:
        return None


@pytest.mark.parametrize("text", ["1 // 0", "1 % 0", "1 // zero", "m % (m - 7)"])
def test_division_by_zero_is_an_error_of_the_expression(text: str) -> None:
    with pytest.raises(AxisError, match="division by zero") as caught:
        evaluate(text, BINDINGS)
    assert text in str(caught.value)


def test_an_axis_without_a_value_is_named() -> None:
    with pytest.raises(UnboundAxisError, match="'batch'") as caught:
        evaluate("m * batch", BINDINGS)
    assert caught.value.name == "batch"
    assert "m * batch" in str(caught.value)


def test_an_unbound_axis_keeps_its_name_between_processes() -> None:
    error = pickle.loads(pickle.dumps(UnboundAxisError("batch", "m * batch")))
    assert (error.name, str(error)) == ("batch", str(UnboundAxisError("batch", "m * batch")))


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775808",
        "9" * 400,
        "*".join(["9"] * 30),
        "seq_len" + "*seq_len" * 10,
        "0 - " + "9*" * 25 + "9",
        "(9223372036854775807 + 1) // 2",  # on the way
    ],
    ids=lambda text: text[:20],
)
def test_numbers_do_not_grow_without_bound(text: str) -> None:
    with pytest.raises(AxisError, match="2\\^63"):
        evaluate(text, BINDINGS)


def test_a_bound_value_beyond_the_limit_is_refused_too() -> None:
    with pytest.raises(AxisError, match="2\\^63"):
        evaluate("m", {"m": 2**63})


@pytest.mark.parametrize(
    "text",
    ["(" * 100_000, "(" * 100_000 + "1" + ")" * 100_000, "1" + "+1" * 100_000, "1" * 1_000_000, " " * 1_000_000],
    ids=["open", "nested", "row", "digits", "spaces"],
)
def test_long_texts_are_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(AxisError, match="longer than") as caught:
        evaluate(text, BINDINGS)
    assert time.perf_counter() - start < 2
    assert len(str(caught.value)) < 200


def test_nesting_as_deep_as_the_text_allows_is_read() -> None:
    assert evaluate("(" * 499 + "1" + ")" * 499, {}) == 1
