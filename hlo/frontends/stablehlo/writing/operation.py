"""Operations to write, as data, and their text.

An operation whose value has the type of its operands is written in its custom form, `stablehlo.add
%0, %1 : tensor<4xf32>`; all others are written in MLIR's generic form, which is the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from hlo.frontends.stablehlo.writing.types import dictionary
from hlo.opcode import ELEMENTWISE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_INDENT = "  "
_CUSTOM = frozenset(f"stablehlo.{name.replace('-', '_')}" for name in ELEMENTWISE) - {
    *("stablehlo.clamp", "stablehlo.select", "stablehlo.compare", "stablehlo.convert"),
    *("stablehlo.complex", "stablehlo.real", "stablehlo.imag"),
}


@dataclass(frozen=True, eq=False, slots=True)
class MlirValue:
    """A value of MLIR; compared by identity.

    Attributes
    ----------
    name : without `%`; of the second of several values of one operation `add#1`.
    """

    name: str
    type: str


@dataclass(slots=True)
class MlirBlock:
    """The form of a computation in MLIR: arguments, operations, and values that it returns."""

    arguments: tuple[MlirValue, ...]
    operations: list[MlirOp] = field(default_factory=list["MlirOp"])
    results: tuple[MlirValue, ...] = ()


class MlirRegion(NamedTuple):
    """A block inside of an operation.

    Attributes
    ----------
    given : values from around the block in place of its arguments; None if it has arguments.
    """

    block: MlirBlock
    given: tuple[MlirValue, ...] | None = None


@dataclass(frozen=True, slots=True)
class MlirOp:
    """One operation.

    Attributes
    ----------
    name : with its dialect.
    attributes : that it cannot do without, by name, as text; "" for one without a value.
    others : attributes of other dialects, such as shardings.
    location : its line of the user's program, as text; "" if unknown.
    """

    name: str
    results: tuple[MlirValue, ...]
    operands: tuple[MlirValue, ...]
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    regions: tuple[MlirRegion, ...] = ()
    location: str = ""

    @property
    def is_custom(self) -> bool:
        """Whether it is written in its custom form."""
        kinds = {value.type for value in (*self.results, *self.operands)}
        more = self.attributes or self.others or self.regions
        return self.name in _CUSTOM and len(kinds) == 1 and not more


class _OpenBlock(NamedTuple):
    """A block that is being written.

    Attributes
    ----------
    rest : its operations that are not yet written.
    regions : of the operation around it, those that follow.
    end : the text after the last of them.
    """

    block: MlirBlock
    rest: Iterator[MlirOp]
    regions: list[MlirRegion]
    end: str
    returns: str


class BlockPrinter:
    """Writes blocks, however deep they are nested."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[MlirValue, str] = {}

    def function(self, head: str, block: MlirBlock) -> None:
        """Write a function."""
        self.lines.append(f"{_INDENT}{head} {{")
        self._names.clear()
        stack = [_OpenBlock(block, iter(block.operations), [], "}", "return")]
        while stack:
            frame = stack[-1]
            op = next(frame.rest, None)
            if op is None:
                stack.pop()
                self._return(frame, len(stack) + 2)
                if frame.regions:
                    self.lines.append(f"{_INDENT * (len(stack) + 1)}}}, {{")
                    stack.append(self._opened(frame.regions, frame.end, len(stack) + 1))
                else:
                    self.lines.append(f"{_INDENT * (len(stack) + 1)}{frame.end}")
            elif op.regions:
                self.lines.append(_INDENT * (len(stack) + 1) + self._head(op) + " ({")
                regions = list(op.regions)
                stack.append(self._opened(regions, f"}}){self._tail(op)}", len(stack) + 1))
            else:
                self.lines.append(_INDENT * (len(stack) + 1) + self._line(op))

    def _opened(self, regions: Sequence[MlirRegion], end: str, depth: int) -> _OpenBlock:
        """Begin the first of some regions."""
        (block, arguments), *others = regions
        if arguments is not None:
            names = [self._name(value) for value in arguments]
            self._names.update(zip(block.arguments, names, strict=True))
        elif block.arguments:
            inside = ", ".join(f"%{value.name}: {value.type}" for value in block.arguments)
            self.lines.append(f"{_INDENT * depth}^bb0({inside}):")
        return _OpenBlock(block, iter(block.operations), others, end, "stablehlo.return")

    def _name(self, value: MlirValue) -> str:
        return self._names.get(value) or f"%{value.name}"

    def _return(self, frame: _OpenBlock, depth: int) -> None:
        values = frame.block.results
        names = ", ".join(map(self._name, values))
        types = ", ".join(value.type for value in values)
        returned = f" {names} : {types}" if values else ""
        self.lines.append(f"{_INDENT * depth}{frame.returns}{returned}")

    def _line(self, op: MlirOp) -> str:
        if op.name == "stablehlo.constant" and not op.others:
            return f"{_results(op)}{op.name} {op.attributes['value']}{op.location}"
        if not op.is_custom:
            return self._head(op) + self._tail(op)
        return (
            f"{_results(op)}{op.name} {', '.join(map(self._name, op.operands))} : "
            f"{op.results[0].type}{op.location}"
        )

    def _head(self, op: MlirOp) -> str:
        attributes = f" <{dictionary({**op.attributes})}>" if op.attributes else ""
        operands = ", ".join(map(self._name, op.operands))
        return f'{_results(op)}"{op.name}"({operands}){attributes}'

    def _tail(self, op: MlirOp) -> str:
        others = f" {dictionary({**op.others})}" if op.others else ""
        return f"{others} : {signature(op.operands, op.results)}{op.location}"


def _results(op: MlirOp) -> str:
    if not op.results:
        return ""
    own = op.results[0].name.partition("#")[0]
    many = f":{len(op.results)}" if len(op.results) > 1 else ""
    return f"%{own}{many} = "


def signature(operands: Sequence[Any], results: Sequence[Any]) -> str:
    """The type of an operation: `(tensor<f32>, tensor<f32>) -> tensor<f32>`."""
    types = ", ".join(value.type for value in results)
    types = types if len(results) == 1 else f"({types})"
    return f"({', '.join(value.type for value in operands)}) -> {types}"
