"""Loads and stores of several neighbours at once, where the index map proves that they are.

    for v < 4: y[4 * i + v] = x[4 * i + v] + 1    =>    f32x4 x_all = ((f32x4 *)x)[i], y_all;
                                                        for v < 4: y_all[v] = x_all[v] + 1
                                                        ((f32x4 *)y)[i] = y_all

Of the loads in a loop over neighbours, those whose numbers go up with the loop, and begin at a
multiple of its width whatever else they depend on, are one load in front of it, and stores one
after it. All arrays begin at multiples of 64 bytes (`optimizer.memory.heap`).

References
----------
XLA, `xla/backends/gpu/codegen/emitters/transforms/vectorize_loads_stores.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Cast, Index, Load, Name, binary, item
from codegen.kinds import Pointer, Vector, base_of, number_of
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import SameValue, granted, is_heard
from codegen.schedule.trace import applied
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    base,
    blocks,
    live,
    names_in,
    nested,
    straight,
)
from emit_cuda.loops.unroll_and_jam import jammed
from optimizer.analysis.indexing import Counter, Sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Kernel
    from codegen.expressions import Expr
    from codegen.statements import Statement

# A guard against long compilations: statements of all elements of a vector, up to which each has
# code of its own.
MOST_STATEMENTS = 512


def packed(kernel: Kernel, loop: For) -> list[Statement]:
    """A loop over neighbours, with loads and stores of all of them at once before and after it.

    Raises
    ------
    IllegalError
        if nothing that is loaded or stored is known to be one vector.
    """
    assert isinstance(loop.stop, int)
    writer = Pack(kernel, loop.name, loop.stop)
    pack = writer.loop(loop.body)
    if pack is None:
        raise IllegalError(f"no elements of the loop over {loop.name} are one vector in memory")
    for number in writer.numbers if is_heard() else ():
        # The elements of all iterations are side by side, and in one vector.
        own = frozenset({*number.names} - {loop.name})
        vector = binary(">>", Index(number), loop.stop.bit_length() - 1)
        alike = Index(number) - Name(loop.name), vector
        granted(*(SameValue(LoopView(loop), each, own) for each in alike))
    applied(f"pack {loop.stop}", "the index map proves that they are neighbours", loop, pack)
    return pack


class Pack:
    """Writes a loop over neighbours, and loads and stores of several at once around it.

    Attributes
    ----------
    before, after : statements around the loop over the elements.
    numbers : of elements that are loaded or stored at once.
    """

    def __init__(
        self,
        kernel: Kernel,
        iteration: str,
        width: int,
        numbers: dict[Sum, None] | None = None,
    ) -> None:
        self.kernel, self.iteration, self.width = kernel, iteration, width
        self.numbers = {} if numbers is None else numbers
        self.before: list[Statement] = []
        self.after: list[Statement] = []
        self._packs: dict[tuple[Expr, Sum], Name] = {}

    def loop(self, statements: Sequence[Statement]) -> list[Statement] | None:
        """A loop over neighbours in vectors, or several; None where nothing can be one."""
        body = live(statements)
        if any(map(blocks, body)) and sum(1 for _ in nested(body)) <= MOST_STATEMENTS:
            pack = jammed(body, self.iteration, self.width, self._loop_of)
            if pack is not None:
                return pack
        loop = self.around(body)
        return loop if self._packs else None

    def _loop_of(self, statements: Sequence[Statement]) -> tuple[list[Statement], bool]:
        """A loop over neighbours, and whether something in it is loaded or stored at once."""
        pack = Pack(self.kernel, self.iteration, self.width, self.numbers)
        return pack.around(statements), bool(pack._packs)

    def around(self, statements: Sequence[Statement]) -> list[Statement]:
        """A loop over neighbours, and loads and stores of several before and after it.

        Of a single element, the statements themselves.
        """
        body = live(statements)
        if self.width == 1:
            return list(body)
        short = straight(body) and len(body) * self.width <= MOST_STATEMENTS
        if short:
            body = tuple(statement for s in self._varying(body) for statement in self._changed(s))
        return [*self.before, For(self.iteration, self.width, body, unroll=short), *self.after]

    def source(self, statements: Sequence[Statement], value: Expr) -> Load | None:
        """The vector in memory of which a value is one element as it is; None for other values."""
        loads = {s.name: s for s in statements if isinstance(s, Let)}
        load = loads.get(value.name) if isinstance(value, Name) else None
        match load:
            case Let(kind, _, Load(Name() as pointer, Index(number))):
                first = self._aligned(number)
                if first is not None:
                    return self._vector(number_of(kind), pointer, first, const=True)
            case _:
                pass
        return None

    def _varying(self, statements: Sequence[Statement]) -> list[Statement]:
        """The statements that differ between iterations; loads may need the others before."""
        changed = (base(s.target) for s in nested(statements) if isinstance(s, Assign))
        varying = {self.iteration, *changed}
        needed: list[Statement] = []
        for statement in statements:
            if isinstance(statement, Let) and varying.isdisjoint(names_in([statement])):
                self.before.append(statement)
                continue
            needed.append(statement)
            if isinstance(statement, Let | LocalVariable):
                varying.add(statement.name)
        return needed

    def _changed(self, statement: Statement) -> list[Statement]:
        match statement:
            case Let(kind, name, Load(Name() as pointer, Index(number))):
                first = self._aligned(number)
                if first is not None:
                    loaded = item(
                        self._loaded(number_of(kind), pointer, first), Name(self.iteration)
                    )
                    return [Let(kind, name, loaded)]
            case Assign():
                return [self._stored(statement) or statement]
            case _:
                pass
        return [statement]

    def _kind(self, pointer: Name) -> str | None:
        """The element type of an array that the kernel writes."""
        for argument in self.kernel.arguments.values():
            if argument.name == pointer.name:
                return base_of(argument.kind)
        return None

    def _aligned(self, number: Sum) -> Sum | None:
        """The number of the vector that an element is in; None where it may be in two."""
        factors = {a: f for a, f in number.terms if isinstance(a, Counter)}
        iteration = next((a for a in factors if a.name == self.iteration), None)
        if iteration is None or factors[iteration] != 1 or number.names.count(self.iteration) != 1:
            return None
        rest = tuple((a, f) for a, f in number.terms if a is not iteration)
        if any(f % self.width for f in (number.constant, *(f for _, f in rest))):
            return None
        self.numbers[number] = None
        divided = tuple((a, f // self.width) for a, f in rest)
        return Sum(number.constant // self.width, divided)

    def _vector(self, kind: str, pointer: Name, first: Sum, *, const: bool) -> Load:
        return item(Cast(Pointer(Vector(kind, self.width), const), pointer), first)

    def _loaded(self, kind: str, pointer: Name, first: Sum) -> Name:
        if (pointer, first) not in self._packs:
            name = self._packs[pointer, first] = Name(self.kernel.body.name(f"{pointer.name}_all"))
            value = self._vector(kind, pointer, first, const=True)
            self.before.append(Let(Vector(kind, self.width), name.name, value))
        return self._packs[pointer, first]

    def _stored(self, statement: Assign) -> Assign | None:
        """An assignment to an element of a vector that is stored after the loop."""
        match statement.target:
            case Load(Name() as pointer, Index(number)):
                first, kind = self._aligned(number), self._kind(pointer)
            case _:
                return None
        if first is None or kind is None:
            return None
        name = self._packs[pointer, first] = Name(self.kernel.body.name(f"{pointer.name}_all"))
        self.before.append(LocalVariable(Vector(kind, self.width), name.name))
        self.after.append(Assign(self._vector(kind, pointer, first, const=False), name))
        return Assign(item(name, Name(self.iteration)), statement.value)
