"""Rules of calls, beyond the signatures that inference checks, and of a few attributes.

Sources: CheckFusionInstruction and the handlers of call, custom-call, while and conditional in
XLA's `hlo_verifier.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.infer.checks import compatible, show
from hlo.types.element_type import U64
from hlo.types.shape import array
from hlo.verify.aliases import verify_output_aliases
from hlo.verify.scope import refuse
from hlo.verify.table import verifies
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.verify.scope import VerifiedScope

_KINDS = ("kLoop", "kInput", "kOutput", "kCustom")


@verifies("fusion")
def verify_fusion(scope: VerifiedScope, instr: Instruction, attrs: a.Fusion) -> None:
    """The fused computation is this fusion's alone, and nothing in it uses its root."""
    (fused,) = instr.called
    if attrs.kind not in _KINDS:
        refuse(instr, "HLO043", f"kind={attrs.kind}: must be one of {', '.join(_KINDS)}")
    if len(scope.outer.callers[fused]) > 1:
        other = next(c for c in scope.outer.callers[fused] if c is not instr)
        refuse(instr, "HLO083", f"{fused.name} is called by {other.name} too")
    used = {operand for inner in fused.instructions for operand in inner.operands}
    if fused.root in used:
        refuse(fused.root, "HLO083", f"is the root of {fused.name}, but used in it")
    shapes = [operand.shape for operand in instr.operands]
    verify_output_aliases(instr, attrs.output_to_operand_aliasing, instr.shape, shapes)


@verifies("call")
def verify_call(_scope: VerifiedScope, instr: Instruction, attrs: a.CompositeCall) -> None:
    """A composite says which operation it stands for."""
    if not attrs.is_composite:
        return
    said = instr.annotations.frontend_attributes
    if said is None or not said.get("composite.name"):
        refuse(instr, "HLO084", 'a composite needs frontend_attributes={composite.name="..."}')
    version = said.get("composite.version")
    if version is not None and not version.isdecimal():
        refuse(instr, "HLO084", f"composite.version is {version}, but must be a natural number")


@verifies("while")
def verify_while(scope: VerifiedScope, instr: Instruction, _attrs: a.Attrs) -> None:
    """Shardings of the loop, its body's root and both parameters agree."""
    condition, body = instr.called
    _verify_one_sharding(
        scope, instr, (instr, body.root, body.parameters[0], condition.parameters[0])
    )


@verifies("conditional")
def verify_conditional(scope: VerifiedScope, instr: Instruction, _attrs: a.Attrs) -> None:
    """Shardings of the conditional and all branches' roots agree."""
    _verify_one_sharding(scope, instr, (instr, *(branch.root for branch in instr.called)))


def _verify_one_sharding(
    scope: VerifiedScope, instr: Instruction, related: Sequence[Instruction]
) -> None:
    if scope.outer.partitions == 1:
        return
    sharded = [i for i in related if i.annotations.sharding is not None]
    for other in sharded[1:]:
        if other.annotations.sharding != sharded[0].annotations.sharding:
            refuse(instr, "HLO079", f"{sharded[0].name} and {other.name} are sharded differently")


@verifies("custom-call")
def verify_custom_call(_scope: VerifiedScope, instr: Instruction, attrs: a.CustomCall) -> None:
    """Layout constraints and aliases fit the operands."""
    shapes = [operand.shape for operand in instr.operands]
    wanted = attrs.operand_layout_constraints
    free = attrs.custom_call_target in ("LayoutConstraint", "control_dep")
    if wanted is not None and not free:
        if len(wanted) != len(shapes):
            refuse(
                instr,
                "HLO085",
                f"operand_layout_constraints has {counted(len(wanted), 'shape')} "
                f"for {counted(len(shapes), 'operand')}",
            )
        for i, (said, shape) in enumerate(zip(wanted, shapes, strict=True)):
            if not compatible(said, shape):
                refuse(
                    instr,
                    "HLO085",
                    f"operand_layout_constraints: operand {i} is {show(shape)}, not {show(said)}",
                )
    skipped = instr.annotations.frontend_attributes
    if skipped is None or skipped.get("xla_skip_custom_call_alias_shape_check") is None:
        verify_output_aliases(instr, attrs.output_to_operand_aliasing, instr.shape, shapes)
    if attrs.custom_call_target == "GetRngSeed" and (
        shapes or not compatible(instr.shape, array(U64))
    ):
        refuse(instr, "HLO085", "GetRngSeed takes nothing and yields u64[]")


@verifies("parameter")
def verify_parameter(_scope: VerifiedScope, instr: Instruction, attrs: a.ParameterNumber) -> None:
    """Replication is told of each array in the parameter, or of none."""
    said, leaves = attrs.parameter_replication, list(instr.shape.leaves())
    if said and len(said) != len(leaves):
        refuse(
            instr,
            "HLO043",
            f"parameter_replication has {counted(len(said), 'entry')} "
            f"for {counted(len(leaves), 'array')}",
        )


@verifies("compare")
def verify_compare(_scope: VerifiedScope, instr: Instruction, attrs: a.Compare) -> None:
    """The direction is one of six.

    The type may be any: XLA's parser goes by the operands, whatever the text says.
    """
    if attrs.direction not in ("EQ", "NE", "GE", "GT", "LE", "LT"):
        refuse(instr, "HLO043", f"direction={attrs.direction}: must be EQ, NE, GE, GT, LE or LT")
