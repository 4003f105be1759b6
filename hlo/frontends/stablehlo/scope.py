"""Computations in the making: which instruction each value of a block has become."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from hlo.attributes import Constant
from hlo.attributes.annotations import NO_ANNOTATIONS, Annotations
from hlo.build import Builder, instruction
from hlo.errors.error import HloError
from hlo.frontends.stablehlo.operation import UNREADABLE
from hlo.frontends.stablehlo.origins import metadata_of
from hlo.frontends.stablehlo.shardings import (
    divided_root,
    frontend_attributes,
    own_sharding,
    sharding_of,
)
from hlo.frontends.stablehlo.types import refuse_foreign
from hlo.instruction import Instruction
from hlo.names import spelled
from hlo.types.element_type import OPAQUE
from hlo.types.shape import UNBOUNDED, tuple_of
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hlo.errors.error import Span
    from hlo.frontends.stablehlo.operation import (
        BlockArgument,
        MlirModule,
        Operation,
        Region,
    )
    from hlo.instruction import Computation
    from hlo.names import NameSupply
    from hlo.types.literal import Literal
    from hlo.types.shape import Shape

# Hints for a program that JAX has exported for sizes of all kinds, or for one with a bound.
UNKNOWN_SIZES = (
    "XLA compiles no module with such a size, either: refine the program to the arguments' sizes",
    "jax.jit(exported.call).lower(*arguments).compile().as_text() is HLO for the arguments' sizes",
    "`tensor<?x4xf32, #stablehlo.bounds<8, ?>>` has at most 8 rows",
)
RETURNS = ("stablehlo.return", "func.return", "return", "mhlo.return", "sdy.return")


class Whole(Protocol):
    """The translation of a whole program, as far as its scopes know it.

    Attributes
    ----------
    names, computation_names : supplies of names, for instructions and for computations.
    made_up : numbers made up so far, for elided constants.
    """

    made_up: int
    names: NameSupply
    computation_names: NameSupply
    program: MlirModule

    def computation(self, name: str, span: Span) -> Computation:
        """The computation of a function."""
        ...

    def translation_of(self, op: Operation) -> Callable[..., Instruction | Sequence[Instruction]]:
        """The translation of an operation."""
        ...


class RegionScope:
    """The instructions that a block becomes.

    Parameters
    ----------
    whole : the translation that it is a part of.
    name : of the computation.
    """

    def __init__(self, whole: Whole, name: str) -> None:
        self.whole = whole
        self.builder = Builder(whole.computation_names.unique(spelled(name)), whole.names)
        self.values: dict[str, Instruction] = {}
        self._op: Operation | None = None

    @property
    def _span(self) -> Span | None:
        """The source span of the operation that is translated."""
        return self._op.span if self._op else None

    def add(self, opcode: str, *operands: Instruction, **rest: Any) -> Instruction:
        """Append an instruction with the name and location of the operation that is translated."""
        op = self._op
        rest.setdefault("name", _name(op, opcode) if op else None)
        if op and "annotations" not in rest:
            said = self.annotations(op)
            if said.sharding:
                instr = instruction(opcode, operands, **rest)
                said = replace(said, sharding=own_sharding(said.sharding, op.result_shapes, instr))
            rest["annotations"] = said
        return self.builder.add(opcode, *operands, span=self._span, **rest)

    def literal(self, value: Literal) -> Instruction:
        """Append a constant; one that is elided is another one than all others that are."""
        own = value.counted_from(self.whole.made_up) if value.elided else value
        self.whole.made_up += value.words if value.elided else 0
        return self.add("constant", shape=value.shape, literal=own)

    def several(
        self, op: Operation, opcode: str, *operands: Instruction, **rest: Any
    ) -> list[Instruction]:
        """Append an instruction for an operation of any number of values; gives these."""
        count = len(op.result_shapes)
        if count != 1:
            rest.setdefault("shape", tuple_of(*op.result_shapes))
        return self.unpacked(self.add(opcode, *operands, **rest), count)

    def annotations(self, op: Operation, backend_config: str = "") -> Annotations:
        """The annotations of an operation."""
        program = self.whole.program
        metadata = metadata_of(op.location, program.aliases)
        sharding = sharding_of(op.attributes, op.result_shapes, program.meshes, op.span)
        others = frontend_attributes(op.attributes, program.meshes)
        if not (metadata or sharding or others or backend_config):
            return NO_ANNOTATIONS
        return Annotations(sharding, others, metadata=metadata, backend_config=backend_config)

    def elements(self, value: Instruction) -> list[Instruction]:
        """The elements of a tuple."""
        count = len(value.shape.elements)
        return [self.add("get-tuple-element", value, index=k) for k in range(count)]

    def packed(self, values: Sequence[Instruction]) -> Instruction:
        """One value of several: itself, or a tuple."""
        return values[0] if len(values) == 1 else self.add("tuple", *values)

    def unpacked(self, value: Instruction, count: int) -> list[Instruction]:
        """The values that `packed` has made one of."""
        return [value] if count == 1 else self.elements(value)

    def parameters(self, arguments: Iterable[BlockArgument]) -> None:
        """A parameter for each argument."""
        for number, argument in enumerate(arguments):
            refuse_foreign([argument.shape], argument.span)
            name = spelled(argument.name.lstrip("%")) or "arg"
            meshes = self.whole.program.meshes
            sharding = sharding_of(argument.attributes, [argument.shape], meshes, argument.span)
            others = frontend_attributes(argument.attributes, meshes)
            self.values[argument.name] = self.builder.add(
                "parameter", name=name, shape=argument.shape, number=number, span=argument.span,
                annotations=Annotations(sharding, others) if sharding else NO_ANNOTATIONS,
            )  # fmt: skip

    def packed_parameter(self, names: Sequence[str], shapes: Sequence[Shape]) -> None:
        """One parameter for all, a tuple if they are several."""
        shape = shapes[0] if len(shapes) == 1 else tuple_of(*shapes)
        parameter = self.builder.parameter(shape, "state")
        values = self.unpacked(parameter, len(shapes))
        self.values.update(zip(names, values, strict=True))

    def run(self, block: Region) -> list[Instruction]:
        """Translate the operations of a block; gives the values that it returns."""
        for op in block.operations:
            self._op = op
            refuse_foreign((*op.operand_shapes, *op.result_shapes), op.span)
            translate = None if op.name in RETURNS else self.whole.translation_of(op)
            operands = [self._value(name, op) for name in op.operands]
            if translate is None:
                return operands
            try:
                result = translate(self, op, operands)
            except HloError as error:
                raise error.at(op.span) from None
            except UNREADABLE as error:
                message = f"the attributes of {op.name} can't be read: {error}"
                raise HloError("HLO013", message, op.span) from None
            values = [result] if isinstance(result, Instruction) else list(result)
            self._check(op, values)
            if any(UNBOUNDED in leaf.dims for value in values for _, leaf in value.shape.leaves()):
                message = f"{op.name} gives a size without a bound: `?`"
                raise HloError("HLO042", message, op.span, UNKNOWN_SIZES)
            self.values.update(zip(op.results, values, strict=True))
        raise HloError("HLO012", "a block ends without `return`", self._span)

    def _value(self, name: str, op: Operation) -> Instruction:
        value = self.values.get(name)
        if value is None:
            raise HloError("HLO012", f"there is no value `{name}` here", op.span)
        return value

    def _check(self, op: Operation, values: Sequence[Instruction]) -> None:
        """Check that instructions have the types that the text says."""
        if not len(values) == len(op.result_shapes) == len(op.results):
            raise HloError("HLO012", f"{op.name} gives {counted(len(values), 'value')}", op.span)
        for value, shape in zip(values, op.result_shapes, strict=True):
            if not _alike(value.shape, shape):
                message = f"{op.name} gives {value.shape}, not {shape}"
                raise HloError("HLO013", message, op.span)

    def computation(
        self,
        name: str,
        block: Region,
        prepare: Callable[[RegionScope], None] | None = None,
        also: Sequence[str] = (),
    ) -> Computation:
        """The computation of a block that uses nothing from around it, but for constants.

        Parameters
        ----------
        prepare : makes the parameters; by default there is one for each argument.
        also : values that it returns after those that the block does.
        """
        inner = RegionScope(self.whole, name)
        if prepare:
            prepare(inner)
        else:
            inner.parameters(block.arguments)
        for free in free_names(block):
            if free not in inner.values:
                inner.values[free] = self._constant_in(inner, free)
        return inner.closed(block, also)

    def _constant_in(self, inner: RegionScope, name: str) -> Instruction:
        outside = self.values.get(name)
        if outside is None or outside.opcode != "constant":
            message = f"a computation can't use `{name}` from around it"
            raise HloError("HLO013", message, self._span)
        return inner.builder.constant(Constant.of(outside).literal, outside.name)

    def captured(self, blocks: Sequence[Region], known: Iterable[str]) -> list[str]:
        """The values from around that blocks use, but for constants, which they get themselves."""
        names = dict.fromkeys(name for block in blocks for name in free_names(block))
        own = set(known)
        return [
            name
            for name in names
            if name not in own
            and (name not in self.values or self.values[name].opcode != "constant")
        ]

    def closed(
        self,
        block: Region,
        also: Sequence[str] = (),
        divided: Sequence[dict[str, Any]] = (),
    ) -> Computation:
        """The computation, after its block has been translated; `also` as in `computation`.

        Parameters
        ----------
        divided : the attributes of each result, which may say how it is divided among devices.
        """
        values = [*self.run(block), *(self.values[name] for name in also)]
        root = divided_root(self.builder, values, divided, self.whole.program.meshes, self._span)
        if root is None:
            root = values[0] if len(values) == 1 else self.builder.add("tuple", *values)
        return self.builder.build(root)


def free_names(block: Region) -> list[str]:
    """The values that a block uses and does not define, in order."""
    names: dict[str, None] = {}
    defined = {argument.name for argument in block.arguments}
    for op in block.operations:
        used = list(op.operands)
        for region in op.regions:
            own = {*op.attributes.get("names", ())}
            used += [name for name in free_names(region) if name not in own]
        names.update(dict.fromkeys(name for name in used if name not in defined))
        defined.update(op.results)
    return list(names)


def _alike(own: Shape, declared: Shape) -> bool:
    """Whether a shape is the text's, which does not always tell sizes."""
    if own.is_array and declared.is_array and own.rank == declared.rank:
        pairs = zip(own.dims, declared.dims, strict=True)
        sizes = all(UNBOUNDED in pair or pair[0] == pair[1] for pair in pairs)
        return sizes and own.element_type == declared.element_type
    return declared.element_type is OPAQUE or own.compatible(declared)


def _name(op: Operation, opcode: str) -> str:
    """The value's own name if it has one that tells more than a number; else the opcode."""
    own = op.results[0].lstrip("%").partition("#")[0] if op.results else ""
    return spelled(own) if own and not own.isdigit() else opcode
