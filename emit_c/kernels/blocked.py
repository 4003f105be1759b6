"""Folds of a whole array in blocks, so that several threads may each fold some of them.

    total = initial; for every i: total = total + x[i]

becomes

    for every block: part = -0; for every i of the block: part = part + x[i]; parts[block] = part
    total = initial; for every block: total = total + parts[block]

The blocks depend on the size of the array alone, so that the result is the same on any number of
threads. Sums in blocks are also more precise: rounding errors grow with the number of additions
that a number goes through.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from emit_c.code.loops import Assign, For, If, Let, Statement, Variable
from emit_c.kernels.parallel import LEAST_WORK, turns, work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.kernels.body import Body

MOST_BLOCKS = 512
_INTEGER = re.compile(r"[su](8|16|32|64)$")


def in_blocks(body: Body, statements: Sequence[Statement]) -> list[Statement]:
    """A kernel's statements, with large folds into scalars done in blocks."""
    found: list[Statement] = []
    variables: dict[str, Variable] = {}
    for statement in statements:
        if isinstance(statement, Variable) and statement.size is None:
            variables[statement.name] = statement
        folds = _folds(statement)
        neutral = {n: _neutral(op, variables[n].kind) for op, n in folds if n in variables}
        if isinstance(statement, For) and len(folds) == len(neutral) > 0 and all(neutral.values()):
            kinds = {name: variables[name].kind for _, name in folds}
            found += _blocked(body, statement, folds, kinds, neutral)
        else:
            found.append(statement)
    return found


def _folds(statement: Statement) -> tuple[tuple[str, str], ...]:
    """What a loop folds, if it is large enough and does nothing else."""
    if not isinstance(statement, For) or work([statement]) < 2 * LEAST_WORK:
        return ()
    plain = isinstance(statement.stop, int) and (statement.start, statement.step) == (0, 1)
    inner = statement
    while not inner.reductions and len(inner.body) == 1 and isinstance(inner.body[0], For):
        inner = inner.body[0]
    return inner.reductions if plain and not statement.parallel else ()


def _blocked(
    body: Body, loop: For, folds: Sequence[tuple[str, str]], kinds: dict[str, str],
    neutral: dict[str, str],
) -> list[Statement]:  # fmt: skip
    n = turns(loop)
    count = min(MOST_BLOCKS, work([loop]) // LEAST_WORK, n)
    size = -(-n // count)
    count = -(-n // size)
    names = {name: body.name("part") for _, name in folds}
    parts = {name: body.name("parts") for _, name in folds}
    block, first, last, again = map(body.name, ("block", "first", "last", "block"))
    inner = _renamed(replace(loop, start=first, stop=last, turns=size), names)
    turn = (
        Let("s64", first, f"{block} * {size}"),
        Let("s64", last, f"{first} + {size} < {n} ? {first} + {size} : {n}"),
        *(Variable(kinds[name], names[name], neutral[name]) for _, name in folds),
        inner,
        *(Assign(f"{parts[name]}[{block}]", names[name]) for _, name in folds),
    )
    joined = (Assign(name, _joined(op, name, f"{parts[name]}[{again}]")) for op, name in folds)
    return [
        *(Variable(kinds[name], parts[name], size=count) for _, name in folds),
        For(block, count, turn, parallel=True),
        For(again, count, tuple(joined)),
    ]


def _neutral(operation: str, kind: str) -> str:
    """What an operation leaves any number as it is with; empty where there is no such number."""
    integer = _INTEGER.match(kind)
    if operation == "+":
        # -0 + -0 is -0, and 0 + -0 is 0.
        return "0" if integer else {"f32": "-0.0f", "f64": "-0.0"}.get(kind, "")
    if operation == "*":
        return "1" if integer or kind in ("f32", "f64") else ""
    if not integer:
        return ""
    if operation in ("|", "^"):
        return "0"
    if operation == "&":
        return f"({kind})-1"
    return _extreme(kind, int(integer[1]), largest=operation == "min")


def _extreme(kind: str, bits: int, *, largest: bool) -> str:
    """The largest or the least integer of a type."""
    if kind[0] == "u":
        return f"({kind})-1" if largest else "0"
    most = f"({kind}){(1 << bits - 1) - 1:#x}"
    return most if largest else f"(-{most} - 1)"


def _joined(operation: str, x: str, y: str) -> str:
    if operation in ("max", "min"):
        return f"{y} {'>' if operation == 'max' else '<'} {x} ? {y} : {x}"
    return f"{x} {operation} {y}"


def _renamed(statement: For, names: dict[str, str]) -> For:
    """A loop that folds into other variables."""

    def word(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), text)

    def each(s: Statement) -> Statement:
        match s:
            case For():
                folds = tuple((op, names.get(name, name)) for op, name in s.reductions)
                return replace(s, body=tuple(map(each, s.body)), reductions=folds)
            case If():
                inside, other = tuple(map(each, s.then)), tuple(map(each, s.otherwise))
                return replace(s, condition=word(s.condition), then=inside, otherwise=other)
            case Let() | Variable():
                return replace(s, value=word(s.value))
            case Assign():
                return Assign(word(s.target), word(s.value))
            case _:
                return s

    made = each(statement)
    assert isinstance(made, For)
    return made
