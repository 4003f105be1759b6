"""Derivatives of collectives: the transpose sends cotangents back the way that values came.

    all-reduce (sum)     all-reduce (sum)           all-gather       reduce-scatter
    reduce-scatter       all-gather                 all-to-all       all-to-all
    collective-permute   collective-permute from each target to its source

The loss is the sum of those of all devices, as in JAX's `pmap`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from optimizer.derivative.table import (
    Leaves,
    adder,
    again,
    differentiates,
    filled,
    leaf_shapes,
    refusal,
    transposes,
)
from optimizer.expanders.op_expander import element
from optimizer.reducers import operation_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from optimizer.derivative.movement import Cotangents


@differentiates(
    *("all-gather", "all-reduce", "all-to-all", "reduce-scatter"),
    *("collective-broadcast", "collective-permute"),
)
def collective(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The same exchange of the tangents; zeros are sent too, for all devices run one program."""
    if instr.called and operation_of(instr.called[0], instr.operands[0]) != "add":
        raise refusal(instr, "its computation does not add")
    if isinstance(instr.attrs, a.CollectivePermute) and instr.attrs.slice_sizes:
        raise refusal(instr, "it writes into a part of its operand")
    if any(o.shape.is_tuple for o in instr.operands):
        raise refusal(instr, "an operand is a tuple")
    pairs = zip(tangents, instr.operands, strict=True)
    collected = again(instr, *(filled(t, o.shape) for (t,), o in pairs))
    if not instr.shape.is_tuple:
        return (collected,)
    return tuple(element(collected, k) for k in range(len(instr.shape.elements)))


def every(instr: Instruction, cotangents: Leaves) -> list[Instruction]:
    """The cotangents of all results, zeros for None."""
    pairs = zip(cotangents, leaf_shapes(instr.shape), strict=True)
    return [filled(ct, shape) for ct, shape in pairs]


def parts(result: Instruction) -> Cotangents:
    """The results of an instruction, one or several."""
    if not result.shape.is_tuple:
        return [result]
    return [element(result, k) for k in range(len(result.shape.elements))]


@transposes("all-reduce", "all-to-all")
def exchange_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The same exchange."""
    return parts(again(instr, *every(instr, cotangents)))


@transposes("collective-permute")
def permute_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """From each target to its source."""
    pairs = a.CollectivePermute.of(instr).source_target_pairs
    back = tuple((target, source) for source, target in pairs)
    return parts(again(instr, *every(instr, cotangents), source_target_pairs=back))


@transposes("all-gather")
def gather_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The sum over the devices, of which each keeps its piece."""
    attrs, results = a.AllGather.of(instr), every(instr, cotangents)
    kinds = [ct.shape.element_type for ct in results]
    if len(set(kinds)) > 1:
        raise refusal(instr, "its operands have several element types")
    return _back("reduce-scatter", instr, results, attrs, called=(adder(kinds[0]),))


@transposes("reduce-scatter")
def reduce_scatter_back(
    instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> Cotangents:
    """The pieces of all devices."""
    return _back("all-gather", instr, every(instr, cotangents), a.ReduceScatter.of(instr))


def _back(
    opcode: str,
    instr: Instruction,
    results: Sequence[Instruction],
    attrs: a.AllGather | a.ReduceScatter,
    **more: object,
) -> Cotangents:
    cotangents = [
        make(
            opcode,
            ct,
            shape=operand.shape.with_dims(operand.shape.dims),
            channel_id=attrs.channel_id,
            replica_groups=attrs.replica_groups,
            constrain_layout=False,
            use_global_device_ids=attrs.use_global_device_ids,
            mode=attrs.mode,
            dimensions=attrs.dimensions,
            **more,  # type: ignore[arg-type]
        )
        for ct, operand in zip(results, instr.operands, strict=True)
    ]
    return list(cotangents)
