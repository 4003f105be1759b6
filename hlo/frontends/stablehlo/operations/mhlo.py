"""Operations that MHLO has beside those of StableHLO, all of them opcodes of HLO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.frontends.stablehlo.numbers import integer_of
from hlo.frontends.stablehlo.table import given, translates, word

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]


@translates("mhlo.copy", "mhlo.add_dependency", "mhlo.bitcast", "mhlo.stochastic_convert")
def with_shape(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """An opcode that is told nothing but its result's shape."""
    opcode = op.name.partition(".")[2].replace("_", "-")
    return scope.add(opcode, *operands, shape=op.result_shapes[0])


@translates("mhlo.domain")
def domain(_scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """The operand; the border between two shardings only helps XLA's partitioner."""
    return operands[0]


@translates("mhlo.trace")
def trace(_scope: RegionScope, _op: Operation, _operands: Operands) -> Operands:
    """Nothing, as XLA takes it: the value was to be logged."""
    return []


@translates("mhlo.xla.rng_get_and_update_state")
def random_state(scope: RegionScope, op: Operation, _operands: Operands) -> Instruction:
    """The state of the device's random numbers, which moves on."""
    delta = integer_of(given(op, "delta"))
    return scope.add("rng-get-and-update-state", shape=op.result_shapes[0], delta=delta)


@translates("mhlo.fusion")
def fusion(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Operations that are to become one kernel."""
    called = scope.computation("fused", op.regions[0])
    kind = word(given(op, "fusion_kind", default="kLoop"))
    return scope.several(op, "fusion", *operands, called=(called,), kind=kind)


@translates("mhlo.async_start")
def async_start(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """The start of a function that runs beside the next operations."""
    name = str(given(op, "called_computation"))
    thread: dict[str, Any] = {}
    if own := given(op, "execution_thread", default=""):
        thread["async_execution_thread"] = str(own)
    called = scope.whole.computation(name, op.span)
    return scope.add("async-start", *operands, called=(called,), **thread)


@translates("mhlo.async_update")
def async_update(scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """The same function, still running."""
    return scope.add("async-update", *operands, called=operands[0].called)
