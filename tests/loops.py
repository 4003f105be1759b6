"""Loops as text: C, with a line above a loop for each promise that C has no word for.

#pragma parallel              its iterations do not depend on each other
#pragma trips 100             about so many iterations, where the bounds do not say it
#pragma fold + : total        folds, but not in lanes
#pragma omp simd reduction(+ : total)
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from reading import read

from codegen.elements.kernel import Argument
from codegen.expressions import Group, Index, Literal, Load, Name, Op, indexed
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.statements import (
    Assign,
    Break,
    Call,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
)
from codegen.walk import rebuilt
from optimizer.analysis.indexing import Sum, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from codegen.expressions import Expr

_FOR = re.compile(r"for \((\w+) (\w+) = (.+?); \2 < (.+); \2(?:\+\+| \+= (.+))\) \{")
_DECLARED = re.compile(r"(const )?(\w+) (\w+)(?:\[(\d+)\])?(?: = (.+))?;")
_FOLD = re.compile(r"(?:\(|fold )(\S+) : (\w+)")
_MOST = 1 << 40


# ------------------------------------------------------------------------------------------- print


def shown(statements: Sequence[Statement]) -> str:
    """The text of statements."""
    return "".join(line + "\n" for s in statements for line in _lines(s))


def _lines(statement: Statement) -> Iterator[str]:
    match statement:
        case For(body=body):
            yield from _promises(statement)
            *before, _ = text([statement.with_body(())], 0).splitlines()
            yield from (*before, *_inside(body), "}")
        case Forever(body):
            yield from ("for (;;) {", *_inside(body), "}")
        case If(_, then, otherwise):
            yield text([If(statement.condition, ())], 0).splitlines()[0]
            yield from _inside(then)
            yield from ("} else {", *_inside(otherwise)) if otherwise else ()
            yield "}"
        case Call(work=work) | LocalVariable(work=work) if work:
            yield text([statement], 0).rstrip() + f"  // work {work}"
        case _:
            yield text([statement], 0).rstrip()


def _inside(statements: Sequence[Statement]) -> Iterator[str]:
    return ("  " + line for s in statements for line in _lines(s))


def _promises(loop: For) -> Iterator[str]:
    if loop.parallel:
        yield "#pragma parallel"
    if loop.trip_count is not None:
        yield f"#pragma trips {loop.trip_count}"
    if not loop.simd:
        yield from (f"#pragma fold {op} : {name}" for op, name in loop.reductions)


# -------------------------------------------------------------------------------------------- read


def loops(source: str) -> tuple[Statement, ...]:
    """The statements of a text. Numbers in indices are sums of counters, as in a kernel."""
    return reader_of(source)[0]


def reader_of(source: str) -> tuple[tuple[Statement, ...], Callable[[str], Expr]]:
    """The statements of a text, and what reads an expression of their counters."""
    reader = _Loops([line.strip() for line in source.splitlines() if line.strip()])
    made = tuple(reader.block())
    assert not reader.lines, reader.lines
    return made, reader.tree


class _Loops:
    """Reads lines, and knows the bounds of the integers that are declared so far."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.bounds: dict[str, Sum] = {}

    def block(self) -> Iterator[Statement]:
        """The statements up to the end of a block, or of the text."""
        while self.lines and self.lines[0][0] != "}":
            yield self._statement()

    def _statement(self) -> Statement:
        promises: list[str] = []
        while self.lines[0].startswith("#pragma"):
            promises.append(self.lines.pop(0).removeprefix("#pragma "))
        line, _, remark = self.lines.pop(0).partition("  // work ")
        work = int(remark or 0)
        if found := _FOR.fullmatch(line):
            return self._loop(promises, *found.groups())
        if line.startswith(("if", "for")):
            return self._block_or_break(line)
        if found := _DECLARED.fullmatch(line):
            return self._declaration(*found.groups(), work)
        return self._effect(line.removesuffix(";"), work)

    def _declaration(
        self,
        const: str | None,
        kind: str,
        name: str,
        size: str | None,
        value: str | None,
        work: int,
    ) -> Let | LocalVariable:
        tree = self.tree(value) if value else None
        if const:
            if kind[0] in "su":
                self.bounds[name] = unknown(name, 0, _MOST)
            assert tree is not None
            return Let(kind, name, tree)
        return LocalVariable(kind, name, tree, int(size) if size else None, work)

    def _effect(self, line: str, work: int) -> Assign | Call:
        target, equals, value = line.partition(" = ")
        if equals:
            return Assign(self.tree(target), self.tree(value))
        called = read(target)
        function, arguments = called.function, called.args  # type: ignore[union-attr]
        return Call(function, tuple(map(self._indices, arguments)), work)

    def _block_or_break(self, line: str) -> If | Forever | Break:
        if line == "for (;;) {":
            return Forever(self._body())
        if line.endswith("{"):
            return If(self.tree(line[4:-3]), self._body(last=False), self._otherwise())
        return Break(self.tree(line[4:-8]))

    def _body(self, *, last: bool = True) -> tuple[Statement, ...]:
        made = tuple(self.block())
        if last:
            assert self.lines.pop(0) == "}"
        return made

    def _otherwise(self) -> tuple[Statement, ...]:
        return self._body() if self.lines.pop(0) == "} else {" else ()

    def _loop(
        self, promises: Sequence[str], kind: str, name: str, start: str, stop: str, step: str | None
    ) -> For:
        first, end, by = (_number(self.tree(each or "1")) for each in (start, stop, step))
        low, most = (n if isinstance(n, int) else None for n in (first, end))
        # Blocks begin before the end of the loop, each a step after the one before.
        self.bounds[name] = unknown(name, low or 0, (most if most is not None else _MOST) - 1)
        folds = [f for p in promises if "fold" in p or "reduction" in p for f in _FOLD.findall(p)]
        trips = next((int(p.split()[1]) for p in promises if p.startswith("trips")), None)
        return For(
            name, end, self._body(), first, by, simd=any(p.startswith("omp") for p in promises),
            reductions=tuple(folds), parallel="parallel" in promises, trip_count=trips,
            unroll="unroll" in promises, kind=kind,
        )  # fmt: skip

    def tree(self, source: str) -> Expr:
        """An expression of the counters and values that are declared."""
        return self._indices(read(source))

    def _indices(self, tree: Expr) -> Expr:
        """A tree whose numbers of elements, and whose other sums of counters, are such sums."""
        match tree:
            # So it is asked whether a number is a multiple of another one.
            case Op(
                "==", (Op("%", (Group() | Op() as number, Literal() as by)), Literal() as left)
            ):
                inside = number.inside if isinstance(number, Group) else number
                return Op("==", (Group(self._indices(inside)) % by, left))
            case _:
                pass
        if not isinstance(tree, Name | Literal):
            with suppress(LookupError):
                number = self._sum(tree)
                if number.terms:
                    return indexed(number)
        made = rebuilt(tree, self._indices)
        if isinstance(made, Load):
            with suppress(LookupError):
                return Load(made.pointer, indexed(self._sum(made.index)))
        return made

    def _sum(self, tree: Expr) -> Sum:
        """A sum of products of counters; raises LookupError for other trees."""
        match tree:
            case Literal(int(value), ""):
                return Sum(value)
            case Index(total):
                return total
            case Name(name):
                return self.bounds[name]
            case Group(inside):
                return self._sum(inside)
            case Op("+" | "-" | "*" | "/" | "%" as op, (x, y)):
                one, other = self._sum(x), self._sum(y)
            case _:
                raise LookupError
        if op == "*" and not one.terms:
            one, other = other, one
        if op in "+-":
            return one + other * (1 if op == "+" else -1)
        if other.terms:
            raise LookupError
        by = other.constant
        return one * by if op == "*" else one // by if op == "/" else one % by


def _number(tree: Expr) -> int | Expr:
    return tree.value if isinstance(tree, Literal) and isinstance(tree.value, int) else tree


def arguments(source: str) -> dict[str, Argument]:
    """Arguments from declarations: `const f32 x[64], f32 y[], s64 n, u64 z[9] from c64`."""
    made: dict[str, Argument] = {}
    for each in filter(None, source.split(", ")):
        const, kind, name, array, size, origin = re.fullmatch(
            r"(const )?(\w+) (\w+)(\[(\d*)\])?(?: from (\w+))?", each
        ).groups()  # type: ignore[union-attr]
        pointer = Pointer(kind, bool(const), restrict=True) if array else kind
        given = Pointer(origin, bool(const), restrict=True) if origin else None
        made[name] = Argument(pointer, name, name, int(size or 0), given)
    return made
