"""Loads and stores of several neighbours at once: 128 bits, where the index map proves it.

A thread that computes four neighbours of f32 asks memory once for each operand instead of four
times. Its work is a loop over the four; of the loads in it, those whose numbers go up with
the loop, and begin at a multiple of four whatever else they depend on, are one load in front of it,
and stores one after it. All arrays begin at multiples of 64 bytes (`optimizer.memory.heap`).

References
----------
XLA, `xla/service/gpu/gpu_fusible.cc` (`ComputeLoopFusionConfig`) and
`xla/backends/gpu/codegen/emitters/transforms/vectorize_loads_stores.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Cast, Index, Load, Name, binary, item
from codegen.kinds import Pointer, base_of, number_of
from codegen.loops.unroll_and_jam import jammed
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    base,
    blocks,
    live,
    names_in,
    nested,
    straight,
)
from optimizer.analysis.indexing import Counter, Sum, counter, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from codegen.elements.kernel import Kernel
    from codegen.expressions import Expr
    from codegen.statements import Statement
    from hlo.instruction import Instruction

# Bytes of the widest load, and elements that a thread computes at most.
BYTES, MOST = 16, 8
# Elements from which on there is work for all threads of a GPU: 132 multiprocessors of an H100.
FILLS = 132 * 2048
# Statements of all elements of a vector, up to which each has code of its own.
MOST_STATEMENTS = 512


def width_for(instructions: Iterable[Instruction]) -> int:
    """The number of elements in a thread's vector: as many of the widest type as one load takes."""
    leaves = [s.element_type for i in instructions for _, s in i.shape.leaves() if s.is_array]
    return max(1, min(BYTES // max((t.bytes for t in leaves), default=1), MOST))


def width_of_rows(instructions: Iterable[Instruction], size: int, threads: int) -> int:
    """The same for threads that share rows of a size: rows are whole vectors, one a thread."""
    width = width_for(instructions)
    while width > 1 and (size % width or threads * width > size):
        width //= 2
    return width


def in_vectors(
    kernel: Kernel,
    thread: str,
    count: int,
    arrays: Iterable[Instruction],
    write: Callable[[Sum], Sequence[Statement]],
) -> tuple[int, Sequence[Statement], int]:
    """The number of threads for some elements, the statements of one, and how many it computes.

    Of enough elements each thread computes neighbours, if loads and stores can be joined. Elements
    after the last whole vector have a thread of their own.

    Parameters
    ----------
    thread : the name of a thread's number.
    count : elements of all threads.
    arrays : that are read and written.
    write : gives the statements for the element of a number.
    """
    width = width_for(arrays) if count >= FILLS else 1
    if width > 1:
        iteration, vectors = kernel.body.name("v"), count // width
        number = counter(thread, vectors) * width + counter(iteration, width)
        loop = Pack(kernel, iteration, width).loop(write(number))
        if loop and count % width == 0:
            return vectors, loop, width
        if loop:
            one = kernel.body.name("i")
            rest = write(unknown(one, vectors * width, count - 1))
            tail = For(one, count, tuple(rest), start=vectors * width)
            is_whole = binary("<", Name(thread), vectors)
            return vectors + 1, [If(is_whole, tuple(loop), (tail,))], width
    return count, write(counter(thread, count)), 1


class Pack:
    """Writes a loop over neighbours, and loads and stores of several at once around it.

    Attributes
    ----------
    before, after : statements around the loop over the elements.
    """

    def __init__(self, kernel: Kernel, iteration: str, width: int) -> None:
        self.kernel, self.iteration, self.width = kernel, iteration, width
        self.before: list[Statement] = []
        self.after: list[Statement] = []
        self._packs: dict[tuple[Expr, Sum], Name] = {}

    def loop(self, statements: Sequence[Statement]) -> list[Statement] | None:
        """A loop over neighbours in vectors, or several; None where nothing can be one."""
        kept = live(statements)
        if any(map(blocks, kept)) and sum(1 for _ in nested(kept)) <= MOST_STATEMENTS:
            made = jammed(kept, self.iteration, self.width, self._loop_of)
            if made is not None:
                return made
        loop = self.around(kept)
        return loop if self._packs else None

    def _loop_of(self, statements: Sequence[Statement]) -> tuple[list[Statement], bool]:
        """A loop over neighbours, and whether something in it is loaded or stored at once."""
        pack = Pack(self.kernel, self.iteration, self.width)
        return pack.around(statements), bool(pack._packs)

    def around(self, statements: Sequence[Statement]) -> list[Statement]:
        """A loop over neighbours, and loads and stores of several before and after it.

        Of a single element, the statements themselves.
        """
        kept = live(statements)
        if self.width == 1:
            return list(kept)
        short = straight(kept) and len(kept) * self.width <= MOST_STATEMENTS
        if short:
            kept = tuple(each for s in self._varying(kept) for each in self._changed(s))
        return [*self.before, For(self.iteration, self.width, kept, unroll=short), *self.after]

    def source(self, statements: Sequence[Statement], value: Expr) -> Load | None:
        """The vector in memory of which a value is one element as it is; None for other values."""
        loads = {s.name: s for s in statements if isinstance(s, Let)}
        found = loads.get(value.name) if isinstance(value, Name) else None
        match found:
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
        kept: list[Statement] = []
        for statement in statements:
            if isinstance(statement, Let) and varying.isdisjoint(names_in([statement])):
                self.before.append(statement)
                continue
            kept.append(statement)
            if isinstance(statement, Let | LocalVariable):
                varying.add(statement.name)
        return kept

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
                stores = self._stored(statement, self.after)
                return [stores or statement]
            case If(condition, then, ()):
                # All that a thread does not own it computes in vain, but does not store.
                after: list[Statement] = []
                stores = [self._stored(s, after) if isinstance(s, Assign) else None for s in then]
                if all(stores):
                    self.after.append(If(condition, tuple(after)))
                    return [m for m in stores if m]
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
        divided = tuple((a, f // self.width) for a, f in rest)
        return Sum(number.constant // self.width, divided)

    def _vector(self, kind: str, pointer: Name, first: Sum, *, const: bool) -> Load:
        return item(Cast(Pointer(f"{kind}x{self.width}", const), pointer), first)

    def _loaded(self, kind: str, pointer: Name, first: Sum) -> Name:
        if (pointer, first) not in self._packs:
            name = self._packs[pointer, first] = Name(self.kernel.body.name(f"{pointer.name}_all"))
            value = self._vector(kind, pointer, first, const=True)
            self.before.append(Let(f"{kind}x{self.width}", name.name, value))
        return self._packs[pointer, first]

    def _stored(self, statement: Assign, after: list[Statement]) -> Assign | None:
        """An assignment to an element of a vector that is stored after the loop."""
        match statement.target:
            case Load(Name() as pointer, Index(number)):
                first, kind = self._aligned(number), self._kind(pointer)
            case _:
                return None
        if first is None or kind is None:
            return None
        name = self._packs[pointer, first] = Name(self.kernel.body.name(f"{pointer.name}_all"))
        self.before.append(LocalVariable(f"{kind}x{self.width}", name.name))
        after.append(Assign(self._vector(kind, pointer, first, const=False), name))
        return Assign(item(name, Name(self.iteration)), statement.value)
