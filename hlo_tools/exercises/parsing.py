"""Exercises of the chapter on a first parser: words, shapes, brackets, formulas."""

from __future__ import annotations

import ast
import re
import warnings
from random import Random
from typing import TYPE_CHECKING, Any

from hlo.read.value_text import read
from hlo_tools.exercises.calls import ShownCall, compare_calls
from hlo_tools.exercises.exercise import Exercise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.types.shape import Shape
    from hlo_tools.exercises.exercise import SearchEffort, Submission
    from hlo_tools.exercises.finding import Mistake

WORD = re.compile(r"/\*.*?\*/|\s|(->|-?\d+|[A-Za-z_][\w.]*|[^\s\w])", re.DOTALL)


def own_words(text: str) -> list[str]:
    """The words of a text, without blanks and comments."""
    return [word for word in WORD.findall(text) if word]


PIECES = ("x", "add.1", "f32", "_y2", "7", "-12", "->", "(", ")", "[", "{", "}", ",", "=", "-")


def check_words(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Cut random texts, whose words have blanks or comments between them where they must."""
    texts = [
        "",
        "x=f32[2]",
        "a->b",
        "a -> -1",
        "/* a, b */ c",
        "x /* 1 */ /* 2 */ y",
        "- 1",
        "{-1,-2}",
    ]
    for seed in range(effort.examples):
        random = Random(seed)
        text = ""
        for word in random.choices(PIECES, k=random.randint(1, 6)):
            blank = random.choice((" ", "  ", "\n", " /* z */ ", "/**/"))
            apart = own_words(text + word) == [*own_words(text), word]
            text += word if apart and random.random() < 0.5 else blank + word
        texts.append(text)
    calls = [ShownCall((text,), f"words({text!r})") for text in texts]
    return compare_calls(answer, "words", own_words, calls, show=repr)


def own_read_shape(text: str) -> Any:
    """The shape that the grammar reads, as tuples."""
    return shape_tuples(read("shape", text, None))


def shape_tuples(shape: Shape) -> Any:
    """An array's type and dimensions, or a tuple of such."""
    if shape.is_tuple:
        return tuple(map(shape_tuples, shape.elements))
    return shape.element_type.name, *shape.dims


WRONG_SHAPES = (
    "f32[2,]", "(f32[2],)", "(f32[2] f32[2])", "f32", "f32[2", "((", "f32[2]]", "[2]", "(,f32[2])",
    "f32[a]", "f32[2;3]", "", "f32[2]f32[2]", "(f32[])x", ")", "(f32[]", "f32[2 3]", "2[f32]",
)  # fmt: skip


def shape_text(random: Random, depth: int) -> str:
    """A random shape, with blanks anywhere."""
    blank = random.choice(("", "", " "))
    if depth and random.random() < 0.6:
        parts = [shape_text(random, depth - 1) for _ in range(random.randint(0, 3))]
        return f"({blank}{f'{blank},'.join(parts)}{blank})"
    dims = [str(random.randint(0, 12)) for _ in range(random.randint(0, 3))]
    return f"{random.choice(('f32', 's8', 'pred'))}{blank}[{f', {blank}'.join(dims)}]"


def check_read_shape(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Read random shapes, and refuse what is none."""
    texts = [shape_text(Random(seed), 3) for seed in range(effort.examples)]
    calls = [ShownCall((text,), f"read_shape({text!r})") for text in (*WRONG_SHAPES, *texts)]
    return compare_calls(answer, "read_shape", own_read_shape, calls, show=repr, may_refuse=True)


CLOSING = {")": "(", "]": "[", "}": "{"}


def own_wrong_bracket(text: str) -> int | None:
    """The place of the first bracket that does not fit; None if all do."""
    opened: list[int] = []
    for at, sign in enumerate(text):
        if sign in CLOSING.values():
            opened.append(at)
        elif sign in CLOSING and (not opened or text[opened.pop()] != CLOSING[sign]):
            return at
    return opened[-1] if opened else None


def check_wrong_bracket(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Ask about texts whose brackets fit, and such in which one was changed."""
    texts = ["", "x", ")", "(", "([)]", "(]", "f32[2](", "([", "{(}", "{{1, 2}", "{1}}", "a(b)c"]
    for seed in range(effort.examples):
        random, text = Random(seed), ""
        for _ in range(random.randint(1, 4)):
            around = random.choice(("()", "[]", "{}"))
            text = random.choice((f"{around[0]}{text}{around[1]}", f"{text}{around}", f"x{text}"))
        at = random.randrange(len(text) + 1)
        texts.append(random.choice((text, text[:at] + random.choice("()[]{}") + text[at:])))
    calls = [ShownCall((text,), f"wrong_bracket({text!r})") for text in texts]
    return compare_calls(answer, "wrong_bracket", own_wrong_bracket, calls, show=repr)


NAMES = {"i": 5, "j": -2, "n": 100}


def own_value(text: str, names: Mapping[str, int]) -> int:
    """The value of a formula, whose structure Python itself finds.

    Raises
    ------
    ValueError
        if it is no formula of sums, differences and products.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise ValueError(f"no formula: {text}") from error
    return _value(tree, names)


def _value(tree: ast.expr, names: Mapping[str, int]) -> int:
    match tree:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name) if name in names:
            return names[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, names)
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as sign, right):
            x, y = _value(left, names), _value(right, names)
            return x * y if isinstance(sign, ast.Mult) else x + y * SIGNS[type(sign)]
        case _:
            raise ValueError("it is no formula of sums, differences and products")


SIGNS = {ast.Add: 1, ast.Sub: -1}


def formula(random: Random, depth: int) -> str:
    """A random formula."""
    if not depth or random.random() < 0.2:
        return random.choice((str(random.randint(1, 9)), *NAMES))
    x, y = formula(random, depth - 1), formula(random, depth - 1)
    sign, blank = random.choice("+-*"), random.choice(("", " "))
    return random.choice(
        (f"{x}{blank}{sign}{blank}{y}", f"({x}){sign}{y}", f"{x}{sign}({y})", f"-{x}")
    )


def check_value(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Compute random formulas, and refuse those that lack a part or have one too many."""
    texts = [
        "8 - 2 - 3",
        "1 + 2 * 3",
        "2 * 3 + 1",
        "-i * j",
        "-(1 + 2)",
        "",
        "()",
        "1 2",
        "k",
        "(1",
    ]
    for seed in range(effort.examples):
        random = Random(seed)
        text = formula(random, 3)
        at = random.randrange(len(text) + 1)
        texts += [text, *random.choices((text[:at] + text[at + 1 :], f"{text[:at]}){text[at:]}"))]
    calls = [ShownCall((text, NAMES), f"value({text!r}, {NAMES})") for text in texts]
    return compare_calls(answer, "value", own_value, calls, show=repr, may_refuse=True)


EXERCISES: Sequence[Exercise] = (
    Exercise(
        1, "cut a text into words", 0, "easy",
        {"words": lambda: own_words}, "hlo/read/hlo.lark:ATOM", check_words,
    ),
    Exercise(
        2, "read a shape, tuples too", 0, "medium",
        {"read_shape": lambda: own_read_shape}, "hlo/read/hlo.lark:tuple_shape", check_read_shape,
    ),
    Exercise(
        3, "find the bracket that is wrong", 0, "medium",
        {"wrong_bracket": lambda: own_wrong_bracket},
        "hlo/read/nesting.py:NestingLimit", check_wrong_bracket,
    ),
    Exercise(
        4, "read a formula, with products before sums", 0, "hard",
        {"value": lambda: own_value}, "codegen/printer.py:precedence", check_value,
    ),
)  # fmt: skip
