"""The body of a kernel in the making: asks for elements, and collects the statements.

`element(instr, index)` gives the name of a C variable that holds one element of an instruction's
value. If the value is in memory it is loaded; else it is computed on the spot from elements of the
operands, through their indexing maps: that is all there is to fusion. What was computed in a block
is remembered while the block is open.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from codegen.callees import FUNCTIONS
from codegen.elements.constants import literal_of
from codegen.elements.memory import pointer_into
from codegen.elements.table import BetweenKernels, Element, Scalar
from codegen.elements.trace import AccessTrace
from codegen.elements.types import computed_in_bits, load, store, stored_narrowed
from codegen.elements.writer import Environment
from codegen.expressions import Apply, Choose, Expr, Literal, Name, as_expr, condition_of, item
from codegen.kinds import Pointer, is_narrow, wide
from codegen.statements import Assign, Call, For, If, Let, LocalVariable, Statement, vectorized
from hlo.attributes import GetTupleElement
from hlo.errors.error import HloError
from optimizer.analysis.indexing import counter, linear
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from codegen.callees import Named
    from codegen.elements.writer import Values, Writer
    from codegen.functions import Function
    from codegen.kinds import Kind, Record
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.literal import Literal as Constant
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Index, Sum, Within


class Body:
    """The target of an element function: a writer, and the computation it is in."""

    def __init__(self, writer: Writer, environment: Environment) -> None:
        self.writer = writer
        self.environment = environment

    # -------------------------------------------------------------- statements

    def add(self, *statements: Statement) -> None:
        """Append statements to the open block."""
        self.writer.blocks[-1] += statements

    def let(self, kind: Kind, name: str, value: Expr) -> Name:
        """Name a value; gives the name. The result of a fold may be known as it is stored."""
        known = self.writer.raw.get(value) if isinstance(value, Apply) else None
        if known is not None:
            bits = self.let(known[0].name, f"{name}_bits", known[1])
            return self.widened(known[0], bits, name)
        unique = self.writer.names.unique(name)
        self.add(Let(kind, unique, value))
        return Name(unique)

    def counted(self, name: str, value: Expr, size: int) -> Sum:
        """Name a number below a size; gives it for index arithmetic."""
        return counter(self.let("s64", name, value).name, size)

    def variable(
        self,
        kind: Kind,
        name: str,
        value: Expr | int | None = None,
        size: int | None = None,
        *,
        work: int = 0,
    ) -> Name:
        """Declare a variable; gives its name. What the arguments mean: see `LocalVariable`."""
        unique = self.writer.names.unique(name)
        begin = None if value is None else as_expr(value)
        self.add(LocalVariable(kind, unique, begin, size, work))
        return Name(unique)

    def assign(self, target: Expr, value: Expr | int) -> None:
        """Assign to a variable or an element."""
        self.add(Assign(target, as_expr(value)))

    def call(self, function: Named, *arguments: Expr | int, work: int = 0) -> None:
        """Call a function for its effect; `work` is as in `Call`."""
        self.add(Call(function, tuple(map(as_expr, arguments)), work))

    def function(self, wanted: str, define: Callable[[str], Function]) -> Name:
        """The name of a function made as `define(name)`, or of an equal one that is there."""
        function = define(self.name(wanted))
        known = self.writer.functions
        name = next((n for n in known if replace(function, name=n) == known[n]), function.name)
        known.setdefault(name, function)
        return Name(name)

    def name(self, wanted: str) -> str:
        """A fresh name."""
        return self.writer.names.unique(wanted)

    def own(self, kind: str | Record, name: str, size: int, bytes_each: int) -> Name:
        """An array of each thread's own, for use inside of parallel loops; gives the pointer.

        It may be declared inside of the loop, or before it; its contents do not outlive an
        iteration.
        """
        begin = self.writer.own_bytes
        # Not even an empty one is nothing: the kernel must have the pointer.
        self.writer.own_bytes += aligned(max(size, 1) * bytes_each)
        return self.variable(Pointer(kind), name, pointer_into(Name("own"), begin, kind))

    @contextmanager
    def watched(self) -> Generator[AccessTrace]:
        """Trace the reads and the questions of index in the block."""
        before, trace = self.writer.trace, AccessTrace()
        self.writer.trace = trace
        try:
            yield trace
        finally:
            self.writer.trace = before

    @contextmanager
    def block(self) -> Generator[list[Statement]]:
        """Collect statements apart; values computed in the block are forgotten after it."""
        statements: list[Statement] = []
        self.writer.blocks.append(statements)
        self.writer.fresh.append([])
        try:
            yield statements
        finally:
            self.writer.blocks.pop()
            for key in self.writer.fresh.pop():
                del self.writer.known[key]

    @contextmanager
    def when(self, condition: Expr | None) -> Generator[None]:
        """Run a block if a condition holds; always, if there is none."""
        with self.block() as statements:
            yield
        if condition is not None:
            self.add(If(condition, tuple(statements)))
        else:
            self.add(*statements)

    @contextmanager
    def loop(
        self,
        name: str,
        stop: int | Expr,
        start: int | Expr = 0,
        step: int | Expr = 1,
        *,
        parallel: bool = False,
        unroll: bool = False,
        kind: str = "s64",
    ) -> Generator[Name]:
        """Run a block for each number from `start` below `stop`, unless it does nothing.

        For the options see `For`.
        """
        counted = self.name(name)
        with self.block() as statements:
            yield Name(counted)
        if statements:
            loop = For(counted, stop, tuple(statements), start, step, kind=kind)
            self.add(replace(loop, parallel=parallel, unroll=unroll))

    @contextmanager
    def loops(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        *,
        parallel: bool = False,
        unroll: bool = False,
    ) -> Generator[Index]:
        """Run a block for every index of an array of the given sizes; sizes of 1 need no loop.

        Parameters
        ----------
        parallel, unroll : as in `For`, which says what they ask of the block.
        """
        counters = [self.name(n) if s != 1 else "" for n, s in zip(names, sizes, strict=True)]
        with self.block() as statements:
            yield tuple(counter(c, s) for c, s in zip(counters, sizes, strict=True))
        inner = tuple(statements)
        for name, size in reversed(list(zip(counters, sizes, strict=True))):
            if size != 1 and inner:
                inner = (For(name, size, inner, parallel=parallel, unroll=unroll),)
        self.add(*inner)

    @contextmanager
    def lanes(
        self, names: Sequence[str], sizes: Sequence[int], *, parallel: bool = False
    ) -> Generator[Index]:
        """Loops of which the innermost runs in vector lanes, where it is straight code.

        No element that an iteration of it writes is touched by another iteration.
        """
        with self.block() as statements, self.loops(names, sizes, parallel=parallel) as index:
            yield index
        self.add(*vectorized(statements))

    def holds(self, parts: Iterable[Within]) -> Expr | None:
        """A condition that decides how an element is computed: see `condition_of`."""
        known = tuple(parts)
        # A part that never holds decides the whole condition: the others are no reason to cut.
        if self.writer.trace and not any(part.is_impossible for part in known):
            self.writer.trace.conditions += known
        return condition_of(known)

    # ---------------------------------------------------------------- elements

    def element(self, instr: Instruction, index: Index) -> Expr:
        """One element of an array."""
        return self.elements(instr, index)[0]

    def elements(self, instr: Instruction, index: Index) -> Values:
        """The elements at one index of all arrays of an instruction's value.

        Chains of elementwise operations may be thousands long, so they are followed by a stack.
        """
        values = self._find(instr, index)
        stack = [(instr, index)] if values is None else []
        while stack:
            current, at = stack[-1]
            pending = [pair for pair in self._needs(current, at) if self._find(*pair) is None]
            if pending:
                stack += reversed(pending)
                continue
            stack.pop()
            # Several may have needed it.
            values = self._find(current, at)
            if values is None:
                values = self._make(current, at)
                key = self.environment, current, at
                self.writer.known[key] = values
                self.writer.fresh[-1].append(key)
        assert values is not None
        return values

    def _find(self, instr: Instruction, index: Index) -> Values | None:
        values = self.environment.scalars.get(instr)
        if values is None:
            values = self.writer.known.get((self.environment, instr, index))
        return values

    def _needs(self, instr: Instruction, index: Index) -> list[tuple[Instruction, Index]]:
        """The operands of an elementwise operation, which must be known before it."""
        if instr in self.environment.pointers or not isinstance(
            self.writer.table.get(instr.opcode), Scalar
        ):
            return []
        return [(operand, _at(operand, instr, index)) for operand in instr.operands]

    def _make(self, instr: Instruction, index: Index) -> Values:
        environment = self.environment
        if instr in environment.pointers:
            return self.loaded(instr.shape, environment.pointers[instr], index, instr.name)
        if instr in environment.aliases:
            outer, source = environment.aliases[instr]
            return Body(self.writer, outer).elements(source, index)
        if instr.opcode == "get-tuple-element":
            return self._tuple_element(instr, index)
        entry = self.writer.table.get(instr.opcode)
        if isinstance(entry, Scalar):
            values = [self.element(o, _at(o, instr, index)) for o in instr.operands]
            self.writer.computed[instr] = None
            result, kind = entry.write(instr, *values), instr.shape.element_type
            name = self.let(wide(kind), instr.name, result)
            if (bits := self._in_bits(instr, result, values)) is not None:
                bits = self.let(kind.name, f"{instr.name}_bits", bits)
                self.writer.raw[name] = (kind, bits)
            elif (stored := stored_narrowed(kind, result)) is not None:
                self.writer.raw[name] = (kind, stored)
            return (name,)
        if isinstance(entry, Element | BetweenKernels) and entry.write is not None:
            value: Expr | Values = entry.write(self, instr, index)
            self.writer.computed[instr] = None
            return value if isinstance(value, tuple) else (value,)
        raise HloError("HLO181", f"{instr.opcode} can't be computed inside a loop", instr.span)

    def loaded(self, shape: Shape, pointers: object, index: Index, name: str) -> Values:
        """The elements at one index of the arrays that pointers lead to."""
        if isinstance(pointers, tuple):
            pairs = zip(shape.elements, cast("tuple[object, ...]", pointers), strict=True)
            return tuple(v for s, t in pairs for v in self.loaded(s, t, index, name))
        if pointers is None or shape.size == 0:
            # A token; or an array without elements, which a clamped index may still ask for one.
            return (Literal(0),)
        number = linear(index, shape.dims)
        if self.writer.trace:
            self.writer.trace.loads.append(number)
        return (self.loaded_from(shape.element_type, item(cast("Expr", pointers), number), name),)

    def loaded_from(self, kind: ElementType, element: Expr, name: str) -> Expr:
        """The value of an element of an array."""
        if not is_narrow(kind):
            return self.let(wide(kind), name, element)
        return self.widened(kind, self.let(kind.name, f"{name}_bits", element), name)

    def widened(self, kind: ElementType, bits: Expr, name: str) -> Name:
        """A stored value in its wide type, of which the very bits are stored again."""
        value = self.let(wide(kind), name, load(kind, bits))
        self.writer.raw[value] = (kind, bits)
        return value

    def _in_bits(self, instr: Instruction, result: Expr, values: Sequence[Expr]) -> Expr | None:
        """The stored form of a small float that is one of others, or that but for its sign."""
        kind = instr.shape.element_type
        if isinstance(result, Choose):
            values = result.then, result.otherwise
        elif not kind.is_floating or self.writer.has_extremes:
            return None
        if not all(self.has_bits(kind, value) for value in values):
            return None
        bits = [self.stored(kind, value) for value in values]
        if isinstance(result, Choose):
            return Choose(result.condition, *bits)
        return computed_in_bits(instr.opcode, kind, *bits)

    def has_bits(self, element_type: ElementType, value: Expr) -> bool:
        """Whether a wide value was loaded, or is a constant: nothing is converted to store it."""
        stored = self.stored(element_type, value)
        converted = (
            isinstance(stored, Apply) and stored.function is FUNCTIONS["store", element_type]
        )
        loaded = value in self.writer.raw and not converted
        return is_narrow(element_type) and (loaded or isinstance(value, Literal))

    def stored(self, element_type: ElementType, value: Expr) -> Expr:
        """The stored form of a wide value: of a loaded one, the very bits."""
        kind, bits = self.writer.raw.get(value, (None, value))
        return bits if kind is element_type else store(element_type, value)

    def _tuple_element(self, instr: Instruction, index: Index) -> Values:
        attrs = GetTupleElement.of(instr)
        operand, number = instr.operands[0], attrs.index
        pointers = self.pointers_of(operand)
        if isinstance(pointers, tuple):
            leaves = cast("tuple[object, ...]", pointers)
            return self.loaded(instr.shape, leaves[number], index, instr.name)
        if operand.opcode == "tuple":
            return self.elements(operand.operands[number], index)
        before = sum(len(list(s.leaves())) for s in operand.shape.elements[:number])
        count = len(list(instr.shape.leaves()))
        return self.elements(operand, index)[before : before + count]

    def pointers_of(self, instr: Instruction) -> object:
        """The pointers of an instruction's value, if it is in memory; else None."""
        environment = self.environment
        while instr in environment.aliases:
            environment, instr = environment.aliases[instr]
        if instr in environment.pointers:
            return environment.pointers[instr]
        if instr.opcode == "get-tuple-element":
            pointers = Body(self.writer, environment).pointers_of(instr.operands[0])
            if isinstance(pointers, tuple):
                attrs = GetTupleElement.of(instr)
                return cast("tuple[object, ...]", pointers)[attrs.index]
        return None

    def literal(self, instr: Instruction) -> Constant | None:
        """The value of a constant; None for other instructions."""
        environment = self.environment
        while instr in environment.aliases:
            environment, instr = environment.aliases[instr]
        return literal_of(instr) if instr.opcode == "constant" else None

    def constant(self, literal: Constant, name: str) -> Name:
        """The C pointer to a constant array, which the kernel is given: so others may share it."""
        pointer = self.writer.constants.pointer(literal, name)
        kind = Pointer(literal.shape.element_type.name, const=True, restrict=True)
        return self.writer.argument(kind, pointer, name, literal.shape.size)

    def pointer(self, instr: Instruction) -> Name:
        """The C pointer to an array that is in memory."""
        pointer = self.pointers_of(instr)
        assert isinstance(pointer, Name), instr
        return pointer

    def scalar(self, instr: Instruction) -> Expr:
        """The one element of an array of rank 0."""
        return self.element(instr, ())

    def apply(self, computation: Computation, *values: Expr) -> Values:
        """Inline a computation of scalars: from its arguments' leaves to its result's."""
        environment = Environment()
        remaining = list(values)
        for parameter in computation.parameters:
            count = len(list(parameter.shape.leaves()))
            environment.scalars[parameter] = tuple(remaining[:count])
            del remaining[:count]
        return Body(self.writer, environment).elements(computation.root, ())


def _at(operand: Instruction, instr: Instruction, index: Index) -> Index:
    """The operand's index: scalars go with arrays in select and clamp."""
    return index if operand.shape.rank == instr.shape.rank else ()
