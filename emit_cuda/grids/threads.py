"""A walk of all threads of a launch through a kernel, side by side.

The value of an integer expression is known for each thread where it depends on no data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.evaluation import evaluated
from codegen.expressions import Cast, Group, LaunchIndex, Level, Name, as_expr
from codegen.kinds import Vector, base_of, element_of
from codegen.statements import Assign, For, Forever, If, Let, LocalVariable
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from codegen.callees import Callee
    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.program.steps import Dim3
    from codegen.statements import Statement

    Lanes = NDArray[np.int64]
    Mask = NDArray[np.bool_]

WORD = 4


class Threads(ABC):
    """Threads of a launch; a subclass says which accesses count, and which iterations.

    Parameters
    ----------
    numbers : of the threads, in the launch.

    Attributes
    ----------
    values : the integers that names stand for, where no data decide that.
    functions : of the prelude that expressions may apply.
    """

    functions: Mapping[Callee, Callable[..., Lanes]] = {}

    def __init__(self, numbers: Lanes, grid: Dim3, block: Dim3) -> None:
        self.numbers = numbers
        self.values: dict[str, Lanes] = {}
        inside, outside = numbers % prod(block), numbers // prod(block)
        for axis, across, along in zip("xyz", block, grid, strict=True):
            thread, block_number = LaunchIndex(Level.THREAD, axis), LaunchIndex(Level.BLOCK, axis)
            self.values[str(thread)], inside = inside % across, inside // across
            self.values[str(block_number)], outside = outside % along, outside // along
            self.values[str(LaunchIndex(Level.BLOCKS, axis))] = np.full_like(numbers, along)

    @abstractmethod
    def visit(self, statement: Statement, mask: Mask) -> None:
        """Look at a statement, before those inside of it."""

    @abstractmethod
    def loop(self, loop: For | Forever, mask: Mask) -> None:
        """Go through a loop."""

    def assign(self, name: str, _value: Expr) -> None:
        """Forget a variable that gets another value, as not all threads need come here."""
        self.values.pop(name, None)

    def declare(self, _kind: Kind, name: str, value: Expr | None) -> None:
        """Declare a variable or a constant, with its value."""
        self.values.pop(name, None)
        if value is not None and (known := self.value(value)) is not None:
            self.values[name] = known

    def statements(self, statements: Sequence[Statement], mask: Mask) -> None:
        """Go through statements, in the threads of a mask; of unknown ones, both blocks."""
        for statement in statements if mask.any() else ():
            self.visit(statement, mask)
            match statement:
                case Let(kind, name, value) | LocalVariable(kind, name, value):
                    self.declare(kind, name, value)
                case Assign(Name(name), value):
                    self.assign(name, value)
                case If(condition, then, otherwise):
                    holds = self.value(condition)
                    self.statements(then, mask if holds is None else mask & (holds != 0))
                    self.statements(otherwise, mask if holds is None else mask & (holds == 0))
                case For() | Forever():
                    self.loop(statement, mask)
                case _:
                    pass

    def value(self, expr: Expr | int) -> Lanes | None:
        """The integer that each thread computes; None where data decide it."""
        try:
            value = evaluated(as_expr(expr), self.values, self.functions)
        except LookupError:
            return None
        return np.broadcast_to(value, self.numbers.shape)


def pointed(pointer: Expr) -> tuple[Expr, Kind | None]:
    """The pointer that was converted, and the type of elements that it was converted to."""
    match pointer:
        case Cast(kind, inside):
            return pointed(inside)[0], kind
        case Group(inside):
            return pointed(inside)
        case _:
            return pointer, None


def size_of(kind: Kind) -> int:
    """The bytes of an element of a type, or of a pointer's: f32, or a vector as f32x4."""
    of = element_of(kind)
    word, count = (of.of, of.count) if isinstance(of, Vector) else (base_of(of), 1)
    element = ELEMENT_TYPES.get(word)
    return element.bytes * count if element else WORD
