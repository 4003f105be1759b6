"""Wrong passes that keep the value of nearly every module; `hlo check` must find out all of them.

What they break is seldom there: an effect, an order that only tokens keep, a loop that exchanges
two values of one shape, dimension numbers that are not the usual ones, a size known at run time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hlo.attributes import DotDims, GetTupleElement
from hlo.instruction import Computation, Instruction
from hlo.types.values import InputOutputAlias
from hlo.walk import rebuild, rebuild_module
from interpreter.numbers.compare import ROUNDING
from optimizer.rewriting.make import constant
from optimizer.rewriting.pattern import (
    bitcast_convert,
    convert,
    dot,
    get_dimension_size,
    get_tuple_element,
    x,
    y,
)
from optimizer.rewriting.rule import rule


@dataclass(frozen=True)
class Changing:
    """A pass that changes each computation by a function."""

    name: str
    change: Callable

    def run(self, module, log):
        return rebuild_module(module, lambda computation: self.change(computation, log))


@dataclass(frozen=True)
class Heading:
    """A pass that changes the header of a module by a function."""

    name: str
    change: Callable

    def run(self, module, log):
        header = self.change(module)
        root = module.entry.root
        if header == module.header or not log.rewrite("header", root, root):
            return module
        return replace(module, header=header)


def replacing(name: str, new: Callable[[Instruction], Instruction | None]) -> Changing:
    """A pass that replaces instructions one by one."""

    def change(computation: Computation, log) -> Computation:
        plan = {i: made for i in computation.instructions if (made := new(i)) is not None}
        return rebuild(computation, {i: n for i, n in plan.items() if log.rewrite(name, i, n)})

    return Changing(name, change)


def without_unused(computation: Computation, log) -> Computation:
    """All that nobody uses is dead, whatever it does."""
    needed = {computation.root}
    for instr in reversed(computation.instructions):
        if instr in needed or instr.opcode == "parameter":
            needed.update((instr, *instr.operands, *instr.control_predecessors))
    unused = [i for i in reversed(computation.instructions) if i not in needed]
    gone = {i for i in unused if log.rewrite("dead", i)}
    kept = tuple(i for i in computation.instructions if i not in gone)
    return replace(computation, instructions=kept) if gone else computation


def one_token(instr: Instruction) -> Instruction | None:
    """It is enough to wait for the first."""
    if instr.opcode != "after-all" or len(instr.operands) < 2:
        return None
    return instr.with_(operands=instr.operands[:1])


def whole_tuple(instr: Instruction) -> Instruction | None:
    """A tuple of another one's elements is that one, in whichever order they come."""
    taken = instr.operands if instr.opcode == "tuple" else ()
    if not taken or any(t.opcode != "get-tuple-element" for t in taken):
        return None
    (whole, *others) = dict.fromkeys(t.operands[0] for t in taken)
    return None if others or whole.shape != instr.shape else whole


def passed_on(instr: Instruction) -> Instruction | None:
    """An element that a loop's body takes from its state and passes on does not change."""
    if instr.opcode != "get-tuple-element" or instr.operands[0].opcode != "while":
        return None
    loop, n = instr.operands[0], GetTupleElement.of(instr).index
    root = loop.called[1].root
    last = root.operands[n] if root.opcode == "tuple" else root
    if last.opcode != "get-tuple-element" or last.operands[0].opcode != "parameter":
        return None
    return get_tuple_element(loop.operands[0], n).with_(name=instr.name)


def same_body(computation: Computation, log) -> Computation:
    """Computations with the same instructions are one, whichever of these is the root."""
    first: dict = {}
    plan = {}
    for call in computation.instructions:
        if call.opcode != "call":
            continue
        callee = call.called[0]
        place = {instr: n for n, instr in enumerate(callee.instructions)}
        body = tuple(
            (i.opcode, i.attrs, i.shape, i.called, tuple(place[o] for o in i.operands))
            for i in callee.instructions
        )
        known = first.setdefault(body, callee)
        new = call.with_(called=(known,))
        if known is not callee and known.root.shape == callee.root.shape:
            plan |= {call: new} if log.rewrite("same body", call, new) else {}
    return rebuild(computation, plan)


def own_copies(module):
    """Nobody needs to share memory: a result may always lie somewhere else."""
    return replace(module.header, input_output_alias=())


def in_the_arguments(module):
    """The result is written over the first argument, though its owner may still need it."""
    entry, header = module.entry, module.header
    if not entry.parameters or entry.parameters[0].shape != entry.root.shape:
        return header
    if header.input_output_alias or not entry.root.shape.is_array:
        return header
    return replace(header, input_output_alias=(InputOutputAlias((), 0, ()),))


@rule(dot(x, y), promise=ROUNDING)
def rows_by_columns(x, y, root):
    """Rows of the left side by columns of the right one, wherever the shapes allow it."""
    if x.shape.rank != 2 or y.shape.rank != 2 or root.shape.rank != 2:
        return None
    usual = DotDims(lhs_contracting_dims=(1,), rhs_contracting_dims=(0,))
    sizes = (x.shape.dims[0], y.shape.dims[1])
    if DotDims.of(root) == usual or sizes != root.shape.dims or x.shape.dims[1] != y.shape.dims[0]:
        return None
    return dot(x, y, lhs_contracting_dims=(1,), rhs_contracting_dims=(0,))


@rule(get_dimension_size(x))
def largest_size(x, root):
    """The largest size that a dimension may have is taken for the size that it has."""
    return constant(np.array(x.shape.dims[root.attrs.dimensions[0]], np.int32))


@rule(bitcast_convert(bitcast_convert(x)))
def numbers_for_bits(x, root):
    """The same number in another type, where the same bits are asked for."""
    return convert(x, shape=root.shape) if root.shape.dims == x.shape.dims else None


PASSES = (
    Changing("without_unused", without_unused),
    replacing("one_token", one_token),
    replacing("whole_tuple", whole_tuple),
    replacing("passed_on", passed_on),
    Changing("same_body", same_body),
    Heading("own_copies", own_copies),
    Heading("in_the_arguments", in_the_arguments),
)
RULES = (rows_by_columns, largest_size, numbers_for_bits)
