"""Writes every array with its dimensions in the order of memory, so that all are row-major.

    a = f32[2,3]{0,1} negate(p)                bitcast.1 = f32[3,2]{1,0} bitcast(p)
    b = f32[2,3]{1,0} copy(a)           =>     a = f32[3,2]{1,0} negate(bitcast.1)
                                               transpose.1 = f32[2,3]{1,0} transpose(a), {1,0}

What the layouts said is then said by the instructions: a bitcast where memory is only read in
another way, a transpose where it moves. Parameters, tuples, and what others read as they are
written (calls, custom calls, fusions) keep their layouts, after bitcasts. An opcode that does not
know how to compute on other dimensions computes on row-major arrays, between transposes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo import attributes as a
from hlo.attributes.annotations import Annotations
from hlo.opcode import CONTROL, FORWARDING, TUPLES, having
from hlo.walk import names_of
from interpreter.numbers.compare import BITS, ROUNDING, Promise
from optimizer.layout.assigner import AS_WRITTEN
from optimizer.layout.orders import order_of, reshaped, same_memory
from optimizer.layout.renumber import in_memory, renumbered
from optimizer.passes import register
from optimizer.reducers import never_rounds
from optimizer.rewriting.make import make
from optimizer.rewriting.sites import rebuild_unfused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from hlo.types.shape import Shape
    from optimizer.log import Log

# They hand on values in the layouts that they come in.
_STRUCTURE = TUPLES | CONTROL | FORWARDING | {"parameter"}


@register
@dataclass(frozen=True)
class LayoutNormalization:
    """Makes all arrays row-major, with transposed shapes and bitcasts in place of layouts.

    Attributes
    ----------
    strict : keep the order of sums, which rounds them; by default they go through memory as it is.
    """

    name = "layout-normalization"
    xla = "xla/service/layout_normalization.cc"
    strict: bool = False

    @property
    def promise(self) -> Promise:
        """Another order of the same additions rounds differently."""
        return BITS if self.strict else ROUNDING

    def run(self, module: Module, log: Log) -> Module:
        """The module whose computing instructions are all row-major."""
        if all(instr.shape.is_row_major for instr in module.instructions()):
            return module
        names, scheduled = names_of(module), module.header.is_scheduled
        # Views are made once for all that share them, and forgotten where the log refuses their
        # rewrites, so each computation is written anew instead of rewritten at sites.
        return rebuild_unfused(
            module, lambda c: Normalizer(c, names, log, self.strict, scheduled).run()
        )


@dataclass
class Normalizer:
    """Rewrites one computation.

    Attributes
    ----------
    scheduled : whether each array that is computed has its own place in memory already.
    done : the new instruction for each old one, of the old shape or, where the old one is not
        row-major and was rewritten, of the shape in memory.
    views : bitcasts and transposes made so far, by what they are made of and their kind.
    """

    computation: Computation
    names: NameSupply
    log: Log
    strict: bool = False
    scheduled: bool = False
    done: dict[Instruction, Instruction] = field(default_factory=dict["Instruction", "Instruction"])
    views: dict[tuple[Instruction, Shape], Instruction] = field(
        default_factory=dict[tuple["Instruction", "Shape"], "Instruction"]
    )
    order: dict[Instruction, None] = field(default_factory=dict["Instruction", None])

    def run(self) -> Computation:
        """The new computation; the old one where nothing changes."""
        for instr in self.computation.instructions:
            self.done[instr] = self.settled(instr)
        root = self.as_written(self.computation.root)
        if tuple(self.order) == self.computation.instructions and root is self.computation.root:
            return self.computation
        return replace(self.computation, instructions=tuple(self.order), root=root)

    def settled(self, instr: Instruction) -> Instruction:
        """The replacement of an instruction, put into the order."""
        if self.is_rewritten(instr):
            marks = len(self.order), len(self.views)
            new = self.rewritten(instr)
            if self.log.rewrite("normalize", instr, new):
                return self.put(new)
            self.forget(*marks)
        operands = tuple(map(self.as_written, instr.operands))
        before = tuple(self.done[p] for p in instr.control_predecessors)
        if (operands, before) == (instr.operands, instr.control_predecessors):
            return self.put(instr)
        return self.put(instr.with_(operands=operands, control_predecessors=before))

    def forget(self, placed: int, viewed: int) -> None:
        """Drop the last instructions and views, which belong to a rewrite that is not done."""
        while len(self.order) > placed:
            self.order.popitem()
        while len(self.views) > viewed:
            self.views.popitem()

    def is_rewritten(self, instr: Instruction) -> bool:
        """Whether an instruction computes on arrays that are not row-major."""
        if instr.opcode in _STRUCTURE or instr.opcode in AS_WRITTEN or instr.row.traits & _OUTSIDE:
            return False
        if not instr.shape.is_array and (instr.annotations.sharding or renumbered(instr) is None):
            return False
        return not all(i.shape.is_row_major for i in (instr, *instr.operands))

    # -------------------------------------------------------------- rewriting

    def rewritten(self, instr: Instruction) -> Instruction:
        """An instruction that yields the same bytes, row-major."""
        opcode = instr.opcode
        if opcode == "constant":
            if a.Constant.of(instr).literal.elided:
                # The numbers that are made up for it count in the order of its dimensions.
                return self.between_transposes(instr)
            before = tuple(self.done[p] for p in instr.control_predecessors)
            shape, attrs = in_memory(instr.shape), _in_memory(instr)
            return instr.with_(shape=shape, attrs=attrs, control_predecessors=before)
        operands = list(map(self.in_memory, instr.operands))
        if opcode in ("copy", "transpose"):
            return self.moved(instr, operands[0])
        if opcode == "reshape" and _is_bitcast(instr):
            # Another opcode needs another name.
            return self.fresh(instr, make("bitcast", operands[0], shape=in_memory(instr.shape)))
        keeps = instr.annotations.sharding or (self.strict and rounds_in_order(instr))
        attrs = None if keeps else renumbered(instr)
        starts = _STARTS.get(opcode)
        if attrs is None or (starts is not None and instr.operands[starts].shape.rank):
            return self.between_transposes(instr)
        if starts is not None:
            memory = instr.shape.memory_order
            operands[starts:] = [operands[starts + d] for d in memory]
        return self.like(instr, in_memory(instr.shape), operands, attrs)

    def moved(self, instr: Instruction, operand: Instruction) -> Instruction:
        """The transpose that a copy or transpose between layouts is in memory."""
        source = instr.operands[0].shape.memory_order
        target = instr.shape.memory_order
        if instr.opcode == "transpose":
            dimensions = a.Dimensions.of(instr).dimensions
            target = tuple(dimensions[d] for d in target)
        shape = in_memory(instr.shape)
        permutation = tuple(source.index(d) for d in target)
        if permutation != tuple(range(len(permutation))):
            transposed = make("transpose", operand, shape=shape, dimensions=permutation)
            return self.like(instr, shape, [operand], transposed.attrs, "transpose")
        if instr.opcode == "copy":
            return self.like(instr, shape, [operand], instr.attrs)
        if self.scheduled:
            return self.like(instr, shape, [operand], make("copy", operand).attrs, "copy")
        # No byte moves: the transposed array is there already.
        return self.view(instr, operand, shape)

    def between_transposes(self, instr: Instruction) -> Instruction:
        """The instruction on row-major arrays, then its result in the order of memory."""
        operands = list(map(self.row_major, instr.operands))
        computed = self.like(instr, instr.shape.with_default_layout(), operands, instr.attrs)
        if instr.shape.is_row_major:
            return computed
        memory = instr.shape.memory_order
        self.put(computed)
        transposed = make("transpose", computed, shape=in_memory(instr.shape), dimensions=memory)
        return self.fresh(instr, transposed)

    def like(
        self,
        instr: Instruction,
        shape: Shape,
        operands: list[Instruction],
        attrs: a.Attrs,
        opcode: str = "",
    ) -> Instruction:
        """An instruction in the place of another; it keeps the name if it keeps the opcode."""
        opcode = opcode or instr.opcode
        return instr.with_(
            name=instr.name if opcode == instr.opcode else self.names.unique(opcode),
            opcode=opcode,
            shape=shape,
            operands=tuple(operands),
            attrs=attrs,
            control_predecessors=tuple(self.done[p] for p in instr.control_predecessors),
        )

    def fresh(self, origin: Instruction, instr: Instruction) -> Instruction:
        """A new instruction with a name of its own, and the metadata of another."""
        annotations = Annotations(metadata=origin.annotations.metadata)
        name = self.names.unique(instr.opcode)
        return instr.with_(name=name, annotations=annotations, span=origin.span)

    def put(self, instr: Instruction) -> Instruction:
        """Append an instruction to the order, if it is not there yet."""
        self.order[instr] = None
        return instr

    # ------------------------------------------------------------------ views

    def as_written(self, instr: Instruction) -> Instruction:
        """The value of an old instruction in its old shape."""
        return self.view(instr, self.done[instr], instr.shape)

    def in_memory(self, instr: Instruction) -> Instruction:
        """The value of an old instruction, dimensions in the order of memory."""
        if not instr.shape.is_array:
            return self.as_written(instr)
        return self.view(instr, self.done[instr], in_memory(instr.shape))

    def row_major(self, instr: Instruction) -> Instruction:
        """The value of an old instruction, row-major in its old dimensions."""
        value = self.in_memory(instr)
        memory = instr.shape.memory_order
        if not instr.shape.is_array or memory == tuple(range(len(memory))):
            return value
        shape = instr.shape.with_default_layout()
        if (value, shape) not in self.views:
            permutation = tuple(memory.index(d) for d in range(len(memory)))
            transposed = make("transpose", value, shape=shape, dimensions=permutation)
            self.views[value, shape] = self.put(self.fresh(instr, transposed))
        return self.views[value, shape]

    def view(self, origin: Instruction, value: Instruction, shape: Shape) -> Instruction:
        """A value's memory read as another shape."""
        if value.shape == shape:
            return value
        if value.opcode == "bitcast" and value.operands[0].shape == shape:
            return value.operands[0]
        key = (value, shape)
        if key not in self.views:
            self.views[key] = self.put(self.fresh(origin, make("bitcast", value, shape=shape)))
        return self.views[key]


def rounds_in_order(instr: Instruction) -> bool:
    """Whether the order of an instruction's dimensions decides how its result is rounded."""
    return instr.opcode in _FOLDS and not never_rounds(instr.called[-1], instr.operands[0])


# They apply their last computation along dimensions.
_FOLDS = having("reduction") | {"select-and-scatter"}
# Other devices and the host agree on shapes with this one.
_OUTSIDE = frozenset({"collective", "async"})
# From which operand on there is an index for each dimension.
_STARTS = {"dynamic-slice": 1, "dynamic-update-slice": 2}


def _is_bitcast(reshape: Instruction) -> bool:
    source, dims = reshape.operands[0].shape, reshape.shape.dims
    order = reshaped(source.dims, order_of(source), dims)
    return order is not None and same_memory(dims, order, order_of(reshape.shape))


def _in_memory(constant: Instruction) -> a.Constant:
    """The literal of a constant, dimensions in the order of memory."""
    attrs = a.Constant.of(constant)
    held, shape = attrs.literal, in_memory(constant.shape)
    array = cast("NDArray[Any]", held.array).transpose(constant.shape.memory_order)
    moved = replace(held, shape=shape, array=np.ascontiguousarray(array))
    return replace(attrs, literal=moved)
