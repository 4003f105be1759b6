"""Operations of Shardy, which say how values are divided among devices, as XLA imports them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes.annotations import Annotations
from hlo.frontends.stablehlo.operation import Tagged
from hlo.frontends.stablehlo.origins import metadata_of
from hlo.frontends.stablehlo.shardings import (
    frontend_attributes,
    per_value,
    sharding_of,
    shardy_text,
)
from hlo.frontends.stablehlo.table import given, translates
from hlo.sharded import MANUAL_AXES
from hlo.types.shape import tuple_of
from hlo.types.shardy import devices_of, shardings_of

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]


@translates("sdy.sharding_constraint", "sdy.reshard")
def constraint(scope: RegionScope, op: Operation, operands: Operands) -> Instruction:
    """A wish where parts of a value are to be; on a mesh of one device they are all there."""
    meshes = scope.whole.program.meshes
    sharding: Any = given(op, "sharding", "words")
    if not isinstance(sharding, Tagged):
        (sharding,) = sharding
    (named,) = shardings_of(shardy_text(sharding), meshes)
    if devices_of(named.mesh) == 1:
        return operands[0]
    own = sharding_of({"sdy.sharding": sharding}, op.result_shapes, meshes, op.span)
    location = metadata_of(op.location, scope.whole.program.aliases)
    return scope.add(
        "custom-call", *operands, shape=operands[0].shape, custom_call_target="Sharding",
        annotations=Annotations(own, per_value(shardy_text(sharding)), metadata=location),
    )  # fmt: skip


@translates("sdy.propagation_barrier", "sdy.data_flow_edge", "sdy.func_data_flow_edge",
            "sdy.all_gather", "sdy.all_slice", "sdy.all_to_all", "sdy.collective_permute",
            "sdy.all_reduce", "sdy.reduce_scatter", "sdy.sharded_to_unreduced",
            "sdy.replicated_to_unreduced")  # fmt: skip
def whole(_scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """The value itself: only its division among the devices changes.

    A value of which each device has a summand is the sum already, for whom it is one array.
    """
    return operands[0]


@translates("sdy.sharding_group")
def group(_scope: RegionScope, _op: Operation, _operands: Operands) -> list[Instruction]:
    """Nothing: values of a group are to be divided alike."""
    return []


@translates("sdy.named_computation")
def named(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """A call of a block."""
    called = scope.computation("named_computation", op.regions[0])
    return scope.several(op, "call", *operands, called=(called,))


@translates("sdy.manual_computation")
def manual(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """A block that each device runs on its parts of the operands, which calls around it make."""
    arguments = op.regions[0].arguments
    locals_ = _resharded(
        scope, op, operands, "GlobalToLocal", "in_shardings", [a.shape for a in arguments]
    )
    called = scope.computation("xla.sdy.manual_computation_body", op.regions[0])
    inline = {"inlineable": "false"}
    call = scope.add(
        "call", *locals_, called=(called,), annotations=_annotations(scope, op, inline)
    )
    if not op.result_shapes:
        return []
    parts = scope.unpacked(call, len(op.result_shapes))
    return _resharded(scope, op, parts, "LocalToGlobal", "out_shardings", op.result_shapes)


def _resharded(
    scope: RegionScope, op: Operation, values: Operands, kind: str, key: str, shapes: Any
) -> list[Instruction]:
    """The parts of whole values, or the whole values of parts."""
    if not values:
        return []
    written: Any = given(op, key)
    if not isinstance(written, Tagged):
        texts = ", ".join(shardy_text(sharding) for sharding in written)
        text = f"#sdy.sharding_per_value<[{texts}]>"
    else:
        text = shardy_text(written)
    entries = {f"xla.sdy.{key}": text, MANUAL_AXES: _manual_axes(op)}
    call = scope.add(
        "custom-call", *values,
        shape=shapes[0] if len(shapes) == 1 else tuple_of(*shapes),
        custom_call_target=f"xla.sdy.{kind}Shape", custom_call_has_side_effect=True,
        annotations=_annotations(scope, op, entries),
    )  # fmt: skip
    return scope.unpacked(call, len(values))


def _manual_axes(op: Operation) -> str:
    """The axes along which a block is run on parts: `{"x"}`, or `#sdy<manual_axes{"x"}>`."""
    axes: Any = given(op, "manual_axes", default={})
    if isinstance(axes, Tagged):
        _, axes = axes.words
    listed = ", ".join(f'"{axis}"' for axis in axes)
    return f"#sdy<manual_axes{{{listed}}}>"


def _annotations(scope: RegionScope, op: Operation, entries: dict[str, str]) -> Annotations:
    program = scope.whole.program
    return Annotations(
        frontend_attributes=frontend_attributes({"mhlo.frontend_attributes": entries}, {}),
        metadata=metadata_of(op.location, program.aliases),
    )
