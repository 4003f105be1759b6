"""Wrong passes about indices out of range, ties, random numbers, zeros and dimensions in any order.

And right ones, which say what XLA does where an index is out of range.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from strategies.subtle import Changing, Heading, replacing

from hlo.types.element_type import S32
from hlo.walk import names_of, rebuild, rebuild_module
from optimizer.rewriting.make import make, splat, value_of


@dataclass(frozen=True)
class Remaking:
    """A pass that replaces instructions one by one, by several new ones each."""

    name: str
    new: Callable

    def run(self, module, log):
        names = names_of(module)

        def change(computation):
            plan = {}
            for instr in computation.instructions:
                made = self.new(instr)
                if made is not None and log.rewrite(self.name, instr, made):
                    plan[instr] = named({*computation.instructions}, made, names)
            return rebuild(computation, plan)

        return rebuild_module(module, change)


def named(old, instr, names):
    """The instruction, with names of their own for it and what is new below it."""
    if instr in old:
        return instr
    operands = tuple(named(old, each, names) for each in instr.operands)
    return instr.with_(operands=operands, name=names.unique(instr.name))


def with_operand(instr, position, made):
    """The instruction with another operand, and its own sharding and layout."""
    operands = list(instr.operands)
    operands[position] = made
    return instr.with_(operands=tuple(operands))


def is_signed(instr):
    return instr.shape.element_type.kind == "signed"


def unwaiting_for_one(instr):
    """Those that wait for several still do."""
    alone = len(instr.control_predecessors) == 1
    return instr.with_(control_predecessors=()) if alone else None


def unwaiting_async(instr):
    """What runs beside others has its own reasons to wait."""
    waits = instr.control_predecessors and instr.opcode.endswith(("-start", "-done"))
    return instr.with_(control_predecessors=()) if waits else None


def product_with_zeros(instr):
    """A product with zeros is NaN where the other side has an infinity or NaN."""
    if instr.opcode != "dot" or not instr.shape.element_type.is_floating:
        return None
    known = [value_of(o) for o in instr.operands]
    zeros = any(v is not None and not np.any(np.asarray(v, np.float64)) for v in known)
    return splat(0, instr.shape).with_(annotations=instr.annotations) if zeros else None


def broadcast_in_order(instr):
    """Dimensions of one size may change places."""
    if instr.opcode != "broadcast":
        return None
    ordered = tuple(sorted(instr.attrs.dimensions))
    fits = tuple(instr.shape.dims[d] for d in ordered) == instr.operands[0].shape.dims
    if not fits or ordered == instr.attrs.dimensions:
        return None
    return instr.with_(attrs=replace(instr.attrs, dimensions=ordered))


def without_ties(*opcodes):
    """Of equal elements, the other one is taken."""

    def change(computation, log):
        plan = {}
        for instr in computation.instructions:
            if instr.opcode not in opcodes:
                continue
            inner = instr.called[0]
            strict = {
                i: i.with_(attrs=replace(i.attrs, direction=i.attrs.direction.replace("E", "T")))
                for i in inner.instructions
                if i.opcode == "compare" and i.attrs.direction in ("GE", "LE")
            }
            new = instr.with_(called=(rebuild(inner, strict), *instr.called[1:]))
            if strict and log.rewrite("ties", instr, new):
                plan[instr] = new
        return rebuild(computation, plan)

    return change


def wrapped_starts(instr):
    """A start that is too large is clamped, not counted anew from 0."""
    if instr.opcode != "dynamic-slice":
        return None
    starts, dims = instr.operands[1:], instr.operands[0].shape.dims
    if not starts or 0 in dims or any(not is_signed(s) or s.opcode == "remainder" for s in starts):
        return None
    new = [
        make("remainder", s, splat(min(n, 100), s.shape)) for s, n in zip(starts, dims, strict=True)
    ]
    return instr.with_(operands=(instr.operands[0], *new))


def scattered_inside(instr):
    """An update that lies outside is dropped, not moved inside."""
    if instr.opcode != "scatter" or len(instr.operands) != 3:
        return None
    indices = instr.operands[1]
    if not is_signed(indices) or indices.opcode == "maximum":
        return None
    return with_operand(instr, 1, make("maximum", indices, 0))


def gathered_from_the_end(instr):
    """A negative index is clamped, it does not count from the end."""
    if instr.opcode != "gather" or len(instr.attrs.start_index_map) != 1:
        return None
    indices = instr.operands[1]
    size = instr.operands[0].shape.dims[instr.attrs.start_index_map[0]]
    if not is_signed(indices) or indices.opcode == "select" or size > 100:
        return None
    negative = make("compare", indices, 0, direction="LT")
    return with_operand(instr, 1, make("select", negative, make("add", indices, size), indices))


def first_branch_below_zero(instr):
    """An index out of range takes the last branch, also one below 0."""
    if instr.opcode != "conditional" or instr.operands[0].shape.element_type is not S32:
        return None
    index = instr.operands[0]
    return None if index.opcode == "maximum" else with_operand(instr, 0, make("maximum", index, 0))


def low_padding_above(instr):
    """Negative padding takes elements away on its own side."""
    if instr.opcode != "pad":
        return None
    moved = tuple(
        replace(d, low=0, high=d.low + d.high) if d.low < 0 else d for d in instr.attrs.padding
    )
    if moved == instr.attrs.padding:
        return None
    return instr.with_(attrs=replace(instr.attrs, padding=moved))


def shared_numbers(computation, log):
    """Random numbers of one distribution are drawn once."""
    first, plan = {}, {}
    for instr in computation.instructions:
        if instr.opcode == "rng":
            same = first.setdefault((instr.attrs, instr.operands, str(instr.shape)), instr)
            if same is not instr and log.rewrite("shared", instr, same):
                plan[instr] = same
    return rebuild(computation, plan)


def old_state(instr):
    """The state after random bits were made is another one."""
    source = instr.operands[0] if instr.opcode == "get-tuple-element" else instr
    if source.opcode != "rng-bit-generator" or instr is source or instr.attrs.index:
        return None
    return source.operands[0]


def another_result(module):
    """Another result of the same shape lies in the memory of an argument."""
    header, root = module.header, module.entry.root
    if not header.input_output_alias or not root.shape.is_tuple:
        return header
    first, *rest = header.input_output_alias
    shapes = {tuple(index): shape for index, shape in root.shape.leaves()}
    taken = {a.output_index for a in header.input_output_alias}
    wanted = shapes.get(tuple(first.output_index))
    others = [index for index, shape in shapes.items() if shape == wanted and index not in taken]
    if not others:
        return header
    return replace(header, input_output_alias=(replace(first, output_index=others[0]), *rest))


def clamped_starts(instr):
    """A start below 0 is one of 0."""
    starts = instr.operands[1:] if instr.opcode == "dynamic-slice" else ()
    if not starts or any(not is_signed(s) or s.opcode == "maximum" for s in starts):
        return None
    return instr.with_(operands=(instr.operands[0], *(make("maximum", s, 0) for s in starts)))


def last_branch_out_of_range(instr):
    """An index out of range takes the last branch."""
    if instr.opcode != "conditional" or instr.operands[0].shape.element_type is not S32:
        return None
    index, last = instr.operands[0], len(instr.called) - 1
    if index.opcode == "select":
        return None
    below, above = (make("compare", index, n, direction=d) for n, d in ((0, "LT"), (last, "GT")))
    return with_operand(instr, 0, make("select", make("or", below, above), last, index))


PASSES = (
    replacing("unwaiting_for_one", unwaiting_for_one),
    replacing("unwaiting_async", unwaiting_async),
    Remaking("product_with_zeros", product_with_zeros),
    replacing("broadcast_in_order", broadcast_in_order),
    Changing("ties_of_folds", without_ties("reduce", "reduce-window")),
    Changing("ties_of_select_and_scatter", without_ties("select-and-scatter")),
    Remaking("wrapped_starts", wrapped_starts),
    Remaking("scattered_inside", scattered_inside),
    Remaking("gathered_from_the_end", gathered_from_the_end),
    Remaking("first_branch_below_zero", first_branch_below_zero),
    replacing("low_padding_above", low_padding_above),
    Changing("shared_numbers", shared_numbers),
    replacing("old_state", old_state),
    Heading("another_result", another_result),
)
RIGHT = (
    Remaking("clamped_starts", clamped_starts),
    Remaking("last_branch_out_of_range", last_branch_out_of_range),
)
