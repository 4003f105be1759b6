"""A computation as operations: which values each instruction has become."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.writing.operation import MlirBlock, MlirOp, MlirRegion, MlirValue
from hlo.frontends.stablehlo.writing.table import unsayable, writer_of
from hlo.frontends.stablehlo.writing.trees import leaves, packed
from hlo.frontends.stablehlo.writing.types import dictionary, string, symbol, type_text
from hlo.infer import infer
from hlo.names import sanitize
from hlo.opcode import EXPLICIT_SHAPE, STARTS
from hlo.read.quoting import unquote
from hlo.write.sharding_print import print_sharding

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from hlo.attributes.annotations import Annotations
    from hlo.instruction import Computation, Header, Instruction
    from hlo.names import NameSupply
    from hlo.types.shape import Shape
    from hlo.types.sharding import Sharding
    from hlo.types.values import FrontendAttributes

_UNFINISHED = STARTS | {"async-update"}
_NAME = re.compile(r"\d+|[A-Za-z_$.-][\w$.-]*", re.ASCII)


class ComputationScope:
    """The operations that a computation becomes.

    Parameters
    ----------
    header : of the module.
    names : a supply of names for values; those of instructions are taken.
    blocks : of the computations before it, which it may call.
    functions : names of the computations that become functions.
    """

    def __init__(
        self,
        header: Header,
        names: NameSupply,
        blocks: Mapping[Computation, MlirBlock],
        functions: Mapping[Computation, str],
    ) -> None:
        self.header = header
        self._names, self._blocks, self._functions = names, blocks, functions
        self._trees: dict[Instruction, Any] = {}
        self._instr: Instruction | None = None
        self._is_named = True
        self._block = MlirBlock(())

    def translated(self, computation: Computation) -> MlirBlock:
        """The block of a computation, whose arguments and results are the leaves of tuples."""
        arguments: list[MlirValue] = []
        for parameter in computation.parameters:
            shapes = [shape for _, shape in parameter.shape.leaves()]
            name = self._own(parameter.name)
            with _located(parameter):
                types = [type_text(shape) for shape in shapes]
            single = not parameter.shape.is_tuple
            values = [
                MlirValue(name if single else self._names.unique(name), type_) for type_ in types
            ]
            arguments += values
            self._trees[parameter] = packed(values, parameter.shape)
        self._block = MlirBlock(tuple(arguments))
        for instr in computation.instructions:
            if instr.opcode != "parameter":
                self._instr, self._is_named = instr, False
                with _located(instr):
                    _refuse_mixed_precision(instr)
                    self._trees[instr] = writer_of(instr)(self, instr)
        if computation.root.opcode in _UNFINISHED:
            raise unsayable(computation.root, "value for what is not yet finished")
        self._block.results = tuple(leaves(self._trees[computation.root]))
        return self._block

    def _own(self, name: str) -> str:
        """The name of an instruction, as MLIR can spell it."""
        return name if _NAME.fullmatch(name) else self._names.unique(sanitize(name))

    def fresh(self, name: str, type_: str) -> MlirValue:
        """A value with a name of its own."""
        return MlirValue(self._names.unique(name), type_)

    @contextmanager
    def inside(self, block: MlirBlock) -> Generator[None]:
        """Append to another block, for a while."""
        outside, self._block = self._block, block
        yield
        self._block = outside

    def op(
        self,
        name: str,
        operands: Sequence[MlirValue],
        shapes: Sequence[Shape],
        attributes: dict[str, str] | None = None,
        regions: Sequence[MlirRegion] = (),
    ) -> list[MlirValue]:
        """Append an operation with the location of the instruction; gives its values."""
        types = [type_text(shape) for shape in shapes]
        own = self._own(self._instr.name) if self._instr else "value"
        stem = self._names.unique(own) if self._is_named else own
        self._is_named = True
        count = len(types)
        results = [
            MlirValue(stem if count == 1 else f"{stem}#{k}", type_) for k, type_ in enumerate(types)
        ]
        others = self._others(shapes)
        location = location_text(self._instr.annotations) if self._instr else ""
        operation = MlirOp(
            name,
            tuple(results),
            tuple(operands),
            attributes or {},
            others,
            tuple(regions),
            location,
        )
        self._block.operations.append(operation)
        return results

    def _others(self, shapes: Sequence[Shape]) -> dict[str, str]:
        """The annotations of the instruction, on the operation that has its values."""
        if self._instr is None:
            return {}
        own = [leaf.without_layout for _, leaf in self._instr.shape.leaves()]
        if own != [leaf.without_layout for shape in shapes for _, leaf in shape.leaves()]:
            return {}
        said = self._instr.annotations
        sharding = said.sharding
        if sharding and sharding.kind == "tuple" and len(shapes) == 1 and shapes[0].is_array:
            sharding = sharding.elements[0]
        return annotated(sharding, said.frontend_attributes)

    def tree(self, instr: Instruction) -> Any:
        """The value of an instruction."""
        return self._trees[instr]

    def value(self, instr: Instruction) -> MlirValue:
        """The value of an instruction that is an array or a token."""
        return self._joined(self._trees[instr])

    whole = value

    def _joined(self, tree: Any) -> MlirValue:
        """One value for a tree: a tuple of MLIR, if it is one."""
        if not isinstance(tree, tuple):
            return tree
        parts = [self._joined(part) for part in tree]  # pyright: ignore[reportUnknownVariableType]
        type_ = f"tuple<{', '.join(part.type for part in parts)}>"
        name = self._instr.name if self._instr else "tuple"
        value = self.fresh(self._own(name), type_)
        self._block.operations.append(MlirOp("stablehlo.tuple", (value,), tuple(parts)))
        return value

    def apart(self, value: MlirValue, shape: Shape) -> Any:
        """The tree of a value that is a tuple of MLIR; an array as it is."""
        if not shape.is_tuple:
            return value
        parts: list[Any] = []
        for k, element in enumerate(shape.elements):
            part = self.fresh(value.name.partition("#")[0], type_text(element))
            at = {"index": f"{k} : i32"}
            self._block.operations.append(
                MlirOp("stablehlo.get_tuple_element", (part,), (value,), at)
            )
            parts.append(self.apart(part, element))
        return tuple(parts)

    def region(
        self, computation: Computation, arguments: Sequence[MlirValue] | None = None
    ) -> MlirRegion:
        """A computation as a region: its block, or a call if it has become a function."""
        block = self._blocks[computation]
        if computation in self._functions:
            block = self._calling(computation, block)
        return MlirRegion(block, None if arguments is None else tuple(arguments))

    def _calling(self, computation: Computation, block: MlirBlock) -> MlirBlock:
        arguments = tuple(self.fresh(value.name, value.type) for value in block.arguments)
        name = self._names.unique("call")
        many = len(block.results) > 1
        results = tuple(
            MlirValue(f"{name}#{k}" if many else name, value.type)
            for k, value in enumerate(block.results)
        )
        callee = {"callee": symbol(self.function(computation))}
        return MlirBlock(arguments, [MlirOp("func.call", results, arguments, callee)], results)

    def function(self, computation: Computation) -> str:
        """The name of the function that a computation becomes."""
        return self._functions[computation]


def _refuse_mixed_precision(instr: Instruction) -> None:
    """Refuse a value of another type than the operands': HLO computes and converts in one."""
    if instr.opcode in EXPLICIT_SHAPE or "contraction" in instr.row.traits:
        return
    kinds = [[leaf.element_type for _, leaf in s.leaves()] for s in (infer(instr), instr.shape)]
    if kinds[0] != kinds[1]:
        note = "`hlo opt FILE --passes explicit-precision` writes conversions of their own"
        raise unsayable(instr, f"{instr.opcode} that gives {instr.shape} of such operands", note)


@contextmanager
def _located(instr: Instruction) -> Generator[None]:
    """Let errors point at an instruction."""
    try:
        yield
    except HloError as error:
        raise error.at(instr.span) from None


def annotated(sharding: Sharding | None, attributes: FrontendAttributes | None) -> dict[str, str]:
    """A sharding, and strings that are carried along, as attributes."""
    words: dict[str, str] = {}
    if sharding:
        words["mhlo.sharding"] = string(print_sharding(sharding))
    if attributes and attributes.entries:
        entries = {
            key: string(unquote(value) if value.startswith('"') else value)
            for key, value in attributes.entries
        }
        words["mhlo.frontend_attributes"] = dictionary(entries)
    return words


def location_text(annotations: Annotations) -> str:
    """The line of the user's program: ` loc("jit(f)/add"("model.py":3:0))`."""
    metadata = annotations.metadata
    if metadata is None:
        return ""
    name, file = metadata.op_name, metadata.source_file
    place = f"{string(file)}:{metadata.source_line}:0" if file else ""
    if not name:
        return f" loc({place})" if place else ""
    return f" loc({string(name)}{f'({place})' if place else ''})"
