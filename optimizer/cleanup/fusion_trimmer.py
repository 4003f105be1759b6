"""Takes unused values out of a fusion: outputs that are not used, operands that it ignores.

    f = (f32[4], f32[4]) fusion(x, y), calls=body      body yields (sine(x), cosine(y))
    ROOT s = f32[4] get-tuple-element(f), index=0

    ROOT f = f32[4] fusion(x), calls=body              body yields sine(x)

This is a part of `dce`, since what is dead inside of a computation is dead in who calls it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import Fusion, GetTupleElement, ParameterNumber
from hlo.effects import without, without_dead
from hlo.types.shape import tuple_of
from hlo.walk import Plan, rebuild
from optimizer.calls.clone import cloned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply


def trimmed(
    instr: Instruction,
    using: Sequence[Instruction] | None,
    names: NameSupply,
    shared: set[str],
) -> Plan:
    """A fusion without needless outputs and operands, and users that take their element from there.

    Parameters
    ----------
    using : users of the fusion; None if its value is that of its computation.
    shared : names of computations that are called more than once.

    References
    ----------
    XLA, `RemoveMultiOutputFusionsUnusedOutputs` in
    `xla/hlo/transforms/simplifiers/hlo_dce.cc`, and `fusion_utils.cc`.
    """
    attrs, (body,) = Fusion.of(instr), instr.called
    if attrs.kind == "kCustom" or attrs.output_to_operand_aliasing or instr.annotations.sharding:
        return {}
    outputs = outputs_used(instr, using)
    needed = parameters_needed(yielding(body, outputs))
    if len(needed) == len(instr.operands) and outputs is None:
        return {}
    own = yielding(cloned(body, names) if body.name in shared else body, outputs)
    new = instr.with_(
        operands=tuple([instr.operands[n] for n in needed]),
        shape=own.root.shape if outputs else instr.shape,
        called=(with_parameters(own, needed),),
    )
    return {instr: new, **taking(new, outputs or [], using or ())}


def taking(new: Instruction, outputs: list[int], using: Sequence[Instruction]) -> Plan:
    """Users that take their element from a fusion of which only some outputs are left."""
    plan: Plan = {}
    for user in using if outputs else ():
        index = outputs.index(GetTupleElement.of(user).index)
        taken = user.with_(operands=(new,), attrs=replace(user.attrs, index=index))
        plan[user] = new if len(outputs) == 1 else taken
    return plan


def outputs_used(instr: Instruction, using: Sequence[Instruction] | None) -> list[int] | None:
    """The outputs that somebody takes, in order; None if that is all of them, or cannot be told."""
    if not using or not instr.shape.is_tuple or instr.called[0].root.opcode != "tuple":
        return None
    if instr.called[0].root.control_predecessors:
        return None  # the tuple would stay, after the new root
    if any(user.opcode != "get-tuple-element" for user in using):
        return None
    used = sorted({GetTupleElement.of(user).index for user in using})
    if len(used) == 1 and any(user.annotations.sharding for user in using):
        return None  # the one output would take the place of a value whose sharding it lacks
    return used if len(used) < len(instr.shape.elements) else None


def yielding(body: Computation, numbers: list[int] | None) -> Computation:
    """A fused computation that yields only some outputs; one alone is no tuple."""
    if numbers is None:
        return without_dead(body)
    root = body.root
    outputs = tuple([root.operands[i] for i in numbers])
    if len(outputs) == 1:
        return without_dead(replace(body, root=outputs[0]))
    new = root.with_(operands=outputs, shape=tuple_of(*[o.shape for o in outputs]))
    return without_dead(rebuild(body, {root: new}))


def parameters_needed(body: Computation) -> list[int]:
    """The numbers of the parameters that a computation uses."""
    used = {o for i in body.instructions for o in i.operands} | {body.root}
    return [number(p) for p in body.parameters if p in used]


def with_parameters(body: Computation, numbers: Sequence[int]) -> Computation:
    """A computation without the parameters that it does not use."""
    renumbered = {old: new for new, old in enumerate(numbers)}
    plan = {
        p: p.with_(attrs=replace(p.attrs, number=renumbered[number(p)]))
        for p in body.parameters
        if renumbered.get(number(p), -1) not in (-1, number(p))
    }
    gone = [p for p in body.parameters if number(p) not in renumbered]
    return rebuild(without(body, gone), plan)


def number(parameter: Instruction) -> int:
    """The number of a parameter."""
    return ParameterNumber.of(parameter).number
