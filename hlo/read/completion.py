"""The facts that XLA's parser works out by itself, whatever the text says or leaves open.

A short text leaves out shapes that follow from the operands; and some facts XLA never reads from
the text at all, such as the shape of a send. Everything here is applied to an instruction as soon
as it is read, or to the module as a whole, so that it prints as XLA prints it.

Source: `xla/hlo/parser/hlo_parser.cc` and the constructors that it calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import AsyncStart, Compare, GetTupleElement, Map, Outfeed
from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.opcode import EXPLICIT_SHAPE
from hlo.types.element_type import U32
from hlo.types.shape import TOKEN_SHAPE, array, tuple_of
from hlo.types.sharding import Sharding
from hlo.types.values import ComputationLayout, FrontendAttributes
from hlo.walk import called_besides, rebuild, rebuild_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Header, Instruction, Module


def with_inferred_shape(instr: Instruction) -> Instruction:
    """An instruction that was written without its shape, with the shape that its operands imply.

    Raises
    ------
    HloError
        HLO009 if they imply none; what `infer` raises if they do not fit the opcode.
    """
    if instr.opcode in EXPLICIT_SHAPE:
        message = f"{instr.opcode} needs its shape: nothing else says it"
        raise HloError("HLO009", message, instr.span)
    return instr.with_(shape=infer(instr))


def complete(instr: Instruction) -> Instruction:
    """The instruction, completed by the attributes that XLA derives."""
    sharding = instr.annotations.sharding
    if sharding is not None and instr.shape.is_tuple and sharding.kind != "tuple":
        # An empty tuple has one, too.
        elements = tuple(sharding for _ in instr.shape.leaves() or (instr.shape,))
        spread = replace(instr.annotations, sharding=Sharding("tuple", elements=elements))
        instr = instr.with_(annotations=spread)
    rule = _COMPLETIONS.get(instr.opcode)
    return rule(instr) if rule else instr


# How numbers of a kind are compared unless the text says otherwise.
_COMPARE_TYPE = {"signed": "SIGNED", "unsigned": "UNSIGNED", "pred": "UNSIGNED"}


def _compare(instr: Instruction) -> Instruction:
    """A comparison that names the type which it has anyway does not print it."""
    attrs = Compare.of(instr)
    usual = _COMPARE_TYPE.get(instr.operands[0].shape.element_type.kind, "FLOAT")
    return instr.with_(attrs=replace(attrs, type="")) if attrs.type == usual else instr


def _map(instr: Instruction) -> Instruction:
    """A map works on all dimensions, in order, unless it names them."""
    attrs = Map.of(instr)
    if attrs.dimensions or not instr.operands:
        return instr
    return instr.with_(attrs=Map(dimensions=tuple(range(instr.operands[0].shape.rank))))


def _tuple_element(instr: Instruction) -> Instruction:
    """An element of a tuple that is made just before comes from where its operand comes from."""
    whole, index = instr.operands[0], GetTupleElement.of(instr).index
    if instr.annotations.origin or whole.opcode != "tuple" or not 0 <= index < len(whole.operands):
        return instr
    origin = whole.operands[index].annotations.origin
    return instr.with_(annotations=replace(instr.annotations, origin=origin)) if origin else instr


def _constant(instr: Instruction) -> Instruction:
    """A literal is stored unpacked, whatever its layout says of element bits."""
    layout = instr.shape.layout
    if layout is None or not layout.element_bits:
        return instr
    return instr.with_(shape=instr.shape.with_layout(replace(layout, element_bits=0)))


def _outfeed(instr: Instruction) -> Instruction:
    attrs = Outfeed.of(instr)
    if attrs.outfeed_shape is None:
        attrs = replace(attrs, outfeed_shape=instr.operands[0].shape)
    return instr.with_(attrs=attrs, shape=TOKEN_SHAPE)


def _send(instr: Instruction) -> Instruction:
    return instr.with_(shape=tuple_of(instr.operands[0].shape, array(U32), TOKEN_SHAPE))


def _send_done(instr: Instruction) -> Instruction:
    return instr.with_(shape=TOKEN_SHAPE)


def _recv(instr: Instruction) -> Instruction:
    if not instr.shape.elements:
        return instr
    return instr.with_(shape=tuple_of(instr.shape.elements[0], array(U32), TOKEN_SHAPE))


def _recv_done(instr: Instruction) -> Instruction:
    received = instr.operands[0].shape.elements
    return instr.with_(shape=tuple_of(received[0], TOKEN_SHAPE)) if received else instr


_COMPLETIONS: dict[str, Callable[[Instruction], Instruction]] = {
    "compare": _compare,
    "map": _map,
    "get-tuple-element": _tuple_element,
    "constant": _constant,
    "outfeed": _outfeed,
    "send": _send,
    "send-done": _send_done,
    "recv": _recv,
    "recv-done": _recv_done,
}


def with_entry_layout(header: Header, entry: Computation) -> Header:
    """The header with the layout of the entry filled in, where the text leaves it open."""
    if header.entry_computation_layout is not None:
        return header
    shapes = tuple(p.shape for p in entry.parameters)
    return replace(header, entry_computation_layout=ComputationLayout(shapes, entry.root.shape))


# A frontend attribute that joins the collectives which an async-start runs into one.
_GROUP = "_collectives_group"


def settle_async(module: Module) -> Module:
    """The module, in which async computations have the thread that their async-start names.

    It moves the computation, and all that this calls, to its thread; and the root gets the mark
    of a group of collectives that the async-start has.
    """
    starts = [i for i in module.instructions() if i.opcode == "async-start"]
    threads: dict[Computation, str] = {}
    groups: dict[str, str] = {}
    for start in reversed(starts):
        thread = AsyncStart.of(start).async_execution_thread
        # The outermost comes first; what it runs is all on its thread.
        threads.update(dict.fromkeys(called_besides(threads, *start.called), thread))
    for start in starts:
        if (group := _group(start)) is not None:
            groups[start.called[0].name] = group

    thread_of = {computation.name: thread for computation, thread in threads.items()}

    def change(computation: Computation) -> Computation:
        thread = thread_of.get(computation.name, computation.execution_thread)
        if thread != computation.execution_thread:
            computation = replace(computation, execution_thread=thread)
        group, root = groups.get(computation.name), computation.root
        if group is None or _group(root) == group:
            return computation
        return rebuild(computation, {root: _in_group(root, group)})

    return rebuild_module(module, change, prune=False) if starts else module


def _group(instr: Instruction) -> str | None:
    attributes = instr.annotations.frontend_attributes
    return dict(attributes.entries).get(_GROUP) if attributes else None


def _in_group(instr: Instruction, group: str) -> Instruction:
    attributes = instr.annotations.frontend_attributes or FrontendAttributes()
    entries = dict(attributes.entries) | {_GROUP: group}
    marked = FrontendAttributes(tuple(sorted(entries.items())))
    return instr.with_(annotations=replace(instr.annotations, frontend_attributes=marked))
