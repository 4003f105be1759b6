"""Operations in bytecode: values have numbers, and a region's come after all those around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, Source, Span
from hlo.frontends.stablehlo.bytecode.codes import OTHER_PROPERTIES, PROPERTIES
from hlo.frontends.stablehlo.bytecode.container import (
    HAS_OPTIONAL_LOCATIONS,
    HAS_ORDERS_OF_USES,
    HAS_SECTIONS_OF_FUNCTIONS,
    OPERATIONS,
    found,
)
from hlo.frontends.stablehlo.bytecode.entries import shape_of
from hlo.frontends.stablehlo.operation import BlockArgument, Operation, Region
from hlo.frontends.stablehlo.origins import place_of
from hlo.frontends.stablehlo.versions import DIALECT, plain_operation
from hlo.read.nesting import MAX_NESTING
from hlo.read.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.bytecode.container import Container
    from hlo.frontends.stablehlo.bytecode.cursor import Cursor
    from hlo.frontends.stablehlo.bytecode.entries import Entries
    from hlo.types.shape import Shape

    _Values = dict[int, BlockArgument]

# What an operation has is told by these bits.
_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _ORDERS, _PROPERTIES = (
    1 << bit for bit in range(7)
)


def read_operations(container: Container, entries: Entries, name: str) -> tuple[Operation, ...]:
    """The operations of a file; the span of each is a line that shows it."""
    reader = _OperationReader(container, entries, name)
    at = container.operations
    count, _ = at.flagged()
    return tuple(reader.operation(at, {}, 0, 0, 0)[0] for _ in range(count))


class _OperationReader:
    """Reads operations. Values are arguments by their numbers: `(name, type)`."""

    def __init__(self, container: Container, entries: Entries, name: str) -> None:
        self._container, self._entries, self._file = container, entries, name
        self._version = container.version

    def operation(
        self, at: Cursor, values: _Values, next_: int, inside: int, depth: int
    ) -> tuple[Operation, int]:
        """An operation, and the number of the next value.

        Parameters
        ----------
        values : those that it may use.
        next_, inside : the numbers of its first result, and of the first value in its regions.
        """
        name, is_registered = found(self._container.names, at.number(), at)
        has = at.byte()
        location = self._location(at)
        attributes = self._dictionary(at) if has & _ATTRIBUTES else {}
        is_known = True
        if has & _PROPERTIES and is_registered:
            part = self._container.properties(at)
            known = OTHER_PROPERTIES.get(name) or PROPERTIES.get(name.removeprefix(DIALECT), "")
            # Of another version, which may not be called, but must not be taken for this one.
            is_known = bool(known) or part.is_at_end
            if not is_known and not name.startswith(DIALECT):
                notes = ["`jax.export` and `stablehlo-translate --serialize` write such ones"]
                message = f"bytecode of `{name}` is not promised to stay readable, as VHLO's is"
                raise HloError("HLO013", message, notes=notes)
            attributes |= self._properties(part, known)
        elif has & _PROPERTIES:
            attributes |= self._dictionary(at)
        results = [self._entries.value_type(at) for _ in range(at.count() if has & _RESULTS else 0)]
        operands = [self._value(at, values) for _ in range(at.count() if has & _OPERANDS else 0)]
        for _ in range(at.count() if has & _SUCCESSORS else 0):
            at.number()
        if has & _ORDERS:
            self._skip_orders(at, len(results))
        arguments = [BlockArgument(f"%{next_ + k}", kind) for k, kind in enumerate(results)]
        after = next_ + len(arguments)
        values.update(zip(range(next_, after), arguments, strict=True))
        regions = self._regions(at, values, inside, depth) if has & _REGIONS else ()
        names, shapes = _names_and_shapes(arguments)
        used, used_shapes = _names_and_shapes(operands)
        line = _line(name, names, used, location)
        span = Span(Source(line, self._file), 0, len(line))
        read = Operation(
            name, names, used, attributes, regions, used_shapes, shapes, span, location
        )
        return plain_operation(read) if is_known and name.startswith(DIALECT) else read, after

    @staticmethod
    def _value(at: Cursor, values: _Values) -> BlockArgument:
        number = at.number()
        if number not in values:
            raise at.broken(f"the value {number} is used before it is defined")
        return values[number]

    def _location(self, at: Cursor) -> Any:
        """A place in the user's program: a name around another place, a file and line, or None."""
        place = location = self._entries.attribute(at)
        for _ in range(MAX_NESTING):
            match place:
                case None | ("file", str(), int()):
                    return location
                case ("named", str(), inside):
                    place = inside
                case _:
                    break
        raise at.broken("a location is none")

    def _dictionary(self, at: Cursor) -> dict[str, Any]:
        dictionary = self._entries.attribute(at)
        if not isinstance(dictionary, dict):
            raise at.broken("the attributes of an operation are no dictionary")
        return {**dictionary}

    def _properties(self, at: Cursor, names: str) -> dict[str, Any]:
        """The attributes that an operation always has, in the order of their names."""
        properties: dict[str, Any] = {}
        for key in names.split():
            is_optional = key.endswith("?")
            read = self._entries.optional_attribute if is_optional else self._entries.attribute
            value = read(at)
            if value is not None or not is_optional:
                properties[key.rstrip("?")] = value
        return properties

    def _regions(self, at: Cursor, values: _Values, next_: int, depth: int) -> tuple[Region, ...]:
        if depth > MAX_NESTING:
            raise at.broken(f"regions are nested more than {MAX_NESTING} deep")
        count, is_isolated = at.flagged()
        if is_isolated:
            values, next_ = {}, 0
            if count and self._version >= HAS_SECTIONS_OF_FUNCTIONS:
                kind, at = at.section()
                if kind != OPERATIONS:
                    raise at.broken("a region is expected")
        return tuple(self._region(at, values, next_, depth + 1) for _ in range(count))

    def _region(self, at: Cursor, values: _Values, next_: int, depth: int) -> Region:
        """A region, of which operations of StableHLO have one block."""
        blocks: list[Region] = []
        count = at.count()
        inside = next_ + (at.number() if count else 0)
        for _ in range(count):
            length, has_arguments = at.flagged()
            arguments = self._arguments(at, next_) if has_arguments else ()
            values.update(enumerate(arguments, next_))
            next_ += len(arguments)
            operations: list[Operation] = []
            for _ in range(length):
                operation, next_ = self.operation(at, values, next_, inside, depth)
                operations.append(operation)
            blocks.append(Region(arguments, tuple(operations)))
        return blocks[0] if blocks else Region((), ())

    def _arguments(self, at: Cursor, next_: int) -> tuple[BlockArgument, ...]:
        arguments: list[BlockArgument] = []
        for place in range(at.count()):
            has_location = True
            if self._version >= HAS_OPTIONAL_LOCATIONS:
                kind, has_location = at.flagged()
                shape = shape_of(self._entries.numbered_type(at, kind), at)
            else:
                shape = self._entries.value_type(at)
            if has_location:
                self._location(at)
            arguments.append(BlockArgument(f"%arg{next_ + place}", shape))
        if self._version >= HAS_ORDERS_OF_USES and at.byte():
            self._skip_orders(at, len(arguments))
        return tuple(arguments)

    @staticmethod
    def _skip_orders(at: Cursor, values: int) -> None:
        """Skip the orders in which values are used, which mean nothing here."""
        for _ in range(at.count() if values > 1 else 1):
            if values > 1:
                at.number()
            count, _ = at.flagged()
            for _ in range(count):
                at.number()


def _names_and_shapes(
    values: Sequence[BlockArgument],
) -> tuple[tuple[str, ...], tuple[Shape, ...]]:
    return tuple(value.name for value in values), tuple(value.shape for value in values)


def _line(operation: str, results: Sequence[str], operands: Sequence[str], location: Any) -> str:
    """A line that shows an operation, with its place in the user's program."""
    prefix = f"{', '.join(results)} = " if results else ""
    name, file, line = place_of(location, {})
    place = f"{quote(file)}:{line}:0" if file else ""
    named = f"{quote(name)}({place})" if name and place else place
    return f"{prefix}{operation}({', '.join(operands)}){f' loc({named})' if named else ''}"
