"""Instructions that mix floats of several precisions, and the precision in which each computes.

XLA lets `y = bf16[8] slice(x)` stand for the slice of an f32 array, converted, and takes an f32
array with a bf16 initial value: its verifier compares most shapes without regard to how precise
their floats are. What is mixed is computed in f32, or in f64 if that takes part, and converted to
what the instruction says; so it is rounded once, at the end.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from hlo.infer import infer
from hlo.opcode import CONTROL, GIVEN, HOST, TUPLES
from hlo.types.element_type import C64, C128, F32, F64, ElementType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

# Opcodes that hand on values, whose type is therefore exact: those of XLA's
# `ShapeVerifier::CheckShape`, and fusions, whose root has a type already.
_HANDING_ON = {"copy-done", "copy-start", "custom-call", "fusion", "opt-barrier"}
EXACT = CONTROL | GIVEN | TUPLES | HOST | _HANDING_ON


class Precision(NamedTuple):
    """In which element types an instruction computes.

    Attributes
    ----------
    operands, results : a type for each operand, and each array of the result.
    parameters, roots : for each computation that is called, likewise.
    """

    operands: Sequence[ElementType]
    results: Sequence[ElementType]
    parameters: Sequence[Sequence[ElementType]]
    roots: Sequence[Sequence[ElementType]]


def mixed_precision(instr: Instruction) -> Precision | None:
    """The types in which an instruction computes, where they are not all the ones of its text."""
    if instr.opcode in EXACT or instr.row.traits & {"async", "contraction", "conversion"}:
        return None
    if not _is_mixed(instr):
        return None
    said = _said(instr)
    computed = _computed(instr, said)
    return None if computed == said else computed


def _is_mixed(instr: Instruction) -> bool:
    """Whether floats of several precisions occur in an instruction."""
    first: ElementType | None = None
    values = (instr, *instr.operands)
    if instr.called:
        values = (*values, *(i for c in instr.called for i in (c.root, *c.parameters)))
    if len({value.shape.element_type for value in values}) == 1 and not instr.shape.is_tuple:
        return False  # as nearly everywhere
    for value in values:
        for element_type in _types(value.shape):
            if element_type.is_floating or element_type.is_complex:
                if first is not None and element_type.real is not first:
                    return True
                first = element_type.real
    return False


def _types(shape: Shape) -> list[ElementType]:
    if not shape.is_tuple:
        return [shape.element_type]
    return [leaf.element_type for _, leaf in shape.leaves()]


def _said(instr: Instruction) -> Precision:
    return Precision(
        [operand.shape.element_type for operand in instr.operands],
        _types(instr.shape),
        [[p.shape.element_type for p in c.parameters] for c in instr.called],
        [_types(c.root.shape) for c in instr.called],
    )


def _computed(instr: Instruction, said: Precision) -> Precision:
    if instr.opcode == "scan":
        return said._replace(results=_types(infer(instr)))
    if instr.opcode == "map":
        # The computation has parameters and a result of its own.
        return said._replace(operands=said.parameters[0], results=said.roots[0])
    of_operands, of_results, of_called = _groups(instr, said)
    taking_part: dict[int, list[ElementType]] = defaultdict(list)

    def take(types: Sequence[ElementType], groups: Sequence[int]) -> None:
        for element_type, group in zip(types, groups, strict=False):
            taking_part[group].append(element_type)

    take(said.operands, of_operands)
    for types in (*said.parameters, *said.roots):
        take(types, of_called)
    if instr.row.elementwise:
        take(said.results, of_results)
    working = {group: _working_type(types) for group, types in taking_part.items()}

    def typed(types: Sequence[ElementType], groups: Sequence[int]) -> list[ElementType]:
        return [_of_precision(t, working.get(g)) for t, g in zip(types, groups, strict=False)]

    return Precision(
        typed(said.operands, of_operands),
        typed(said.results, of_results),
        [typed(types, of_called) for types in said.parameters],
        [typed(types, of_called) for types in said.roots],
    )


def _groups(instr: Instruction, said: Precision) -> tuple[list[int], list[int], list[int]]:
    """The groups of one precision: a number for each operand, result and parameter.

    What a computation yields is with its first parameters.
    """
    count, half = len(said.operands), len(said.operands) // 2
    match instr.opcode:
        case "reduce" | "reduce-window":
            arrays = [*range(half)]
            return arrays * 2, arrays, arrays * 2
        case "scatter":
            arrays = [*range(half)]
            return [*arrays, half, *arrays], arrays, arrays * 2
        case "sort" | "all-gather" | "all-to-all" | "collective-permute" | "collective-broadcast":
            return [*range(count)], [*range(count)], [n // 2 for n in range(2 * count)]
        case _:
            return [0] * count, [0] * len(said.results), [0, 0]


def _working_type(types: Iterable[ElementType]) -> ElementType | None:
    """The real type in which numbers of some types are computed; None if none is a float."""
    float_types = {t.real for t in types if t.is_floating or t.is_complex}
    if len(float_types) < 2:
        return next(iter(float_types), None)
    return F64 if F64 in float_types else F32


def _of_precision(element_type: ElementType, real: ElementType | None) -> ElementType:
    if element_type.is_complex:
        return {F32: C64, F64: C128}.get(real or element_type.real, element_type)
    return real if real is not None and element_type.is_floating else element_type
