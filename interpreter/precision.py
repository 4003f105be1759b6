"""Makes conversions explicit where a module mixes floats of several precisions.

bf16[8] slice(f32[16] x)         =>   convert(f32[8] slice(x))
f32[8] divide(f32[8] x, bf16 y)  =>   divide(x, f32[8] convert(y))

The interpreter, the optimizer and the emitters all begin with it, so that they round at the same
places. See `hlo.infer.precision`.

References
----------
XLA, `xla/hlo/transforms/simplifiers/float_normalization.cc`, which does so where a backend does not
support such types.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hlo.attributes import GetTupleElement
from hlo.infer.precision import Precision, mixed_precision
from hlo.instruction import Computation, Instruction
from hlo.support.memo import remembered
from hlo.walk import names_of, rebuild, rebuild_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hlo.instruction import Module
    from hlo.names import NameSupply
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

_KNOWN: WeakKeyDictionary[Module, Module] = WeakKeyDictionary()


def with_explicit_precision(module: Module) -> Module:
    """The module with conversions in it, found once; the same object where nothing is mixed."""
    if not any(map(_mixes, module.computations)):
        return module
    if module not in _KNOWN:
        _KNOWN[module] = explicit_precision(module, lambda *_: True)
    return _KNOWN[module]


def explicit_precision(module: Module, may: Callable[..., bool]) -> Module:
    """The module with conversions in it; the same object where nothing is mixed.

    Parameters
    ----------
    may : whether an instruction may be replaced by others, of which the last one takes its place.
    """
    if not any(map(_mixes, module.computations)):
        return module
    names = names_of(module)

    def change(computation: Computation) -> Computation:
        if not _mixes(computation):
            return computation
        plan: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            precision = mixed_precision(instr)
            if precision is not None:
                converted = _converted(instr, precision, names)
                if may(instr, *converted):
                    plan[instr] = converted[-1]
        return rebuild(computation, plan)

    return rebuild_module(module, change)


@remembered
def _mixes(computation: Computation) -> bool:
    return any(mixed_precision(instr) is not None for instr in computation.instructions)


def _converted(instr: Instruction, types: Precision, names: NameSupply) -> list[Instruction]:
    """The instruction between conversions; the last one has its name."""
    before = [
        o if o.shape.element_type is t else _convert(o, t, names)
        for o, t in zip(instr.operands, types.operands, strict=True)
    ]
    called = tuple(
        _taking(computation, parameters, roots, names)
        for computation, parameters, roots in zip(
            instr.called, types.parameters, types.roots, strict=True
        )
    )
    shape = _typed(instr.shape, iter(types.results))
    new_instr = instr.with_(operands=tuple(before), called=called, shape=shape)
    new = [b for b, o in zip(before, instr.operands, strict=True) if b is not o]
    if shape == instr.shape:
        return [*new, new_instr]
    notes = replace(instr.annotations, backend_config="")
    new_instr = new_instr.with_(name=names.unique(instr.opcode))
    after = _said(new_instr, instr.shape, names)
    root = after[-1].with_(name=instr.name, annotations=notes)
    return [*new, new_instr, *after[:-1], root]


def _said(instr: Instruction, shape: Shape, names: NameSupply) -> list[Instruction]:
    """Instructions that convert a value to a shape, of which the last one has it."""
    if not shape.is_tuple:
        return [_convert(instr, shape.element_type, names)]
    parts: list[Instruction] = []
    new: list[Instruction] = []
    for index, (of, wanted) in enumerate(zip(instr.shape.elements, shape.elements, strict=True)):
        attrs = GetTupleElement(index=index)
        name = names.unique("get-tuple-element")
        part = Instruction(name, "get-tuple-element", of, (instr,), attrs)
        new.append(part)
        if of.element_type is not wanted.element_type:
            part = _convert(part, wanted.element_type, names)
            new.append(part)
        parts.append(part)
    return [*new, Instruction(names.unique("tuple"), "tuple", shape, tuple(parts))]


def _convert(x: Instruction, element_type: ElementType, names: NameSupply) -> Instruction:
    shape = x.shape.with_type(element_type)
    return Instruction(names.unique("convert"), "convert", shape, (x,))


def _typed(shape: Shape, types: Iterator[ElementType]) -> Shape:
    """A shape whose arrays have other element types, in order."""
    if shape.is_tuple:
        return replace(shape, elements=tuple(_typed(s, types) for s in shape.elements))
    element_type = next(types)
    return shape.with_type(element_type) if shape.is_array else shape


def _taking(
    computation: Computation,
    parameters: Sequence[ElementType],
    roots: Sequence[ElementType],
    names: NameSupply,
) -> Computation:
    """A computation that takes and yields numbers of other types, but computes in its own."""
    plan: dict[Instruction, Instruction] = {}
    for old, element_type in zip(computation.parameters, parameters, strict=True):
        if old.shape.element_type is not element_type:
            shape = old.shape.with_type(element_type)
            new = old.with_(name=names.unique(old.name), shape=shape)
            plan[old] = _convert(new, old.shape.element_type, names)
    root = computation.root
    shape = _typed(root.shape, iter(roots))
    if not plan and shape == root.shape:
        return computation
    if shape != root.shape:
        plan[root] = _said(root, shape, names)[-1]
    copied = _fresh(rebuild(computation, plan), names)
    return replace(copied, name=names.unique(computation.name))


def _fresh(computation: Computation, names: NameSupply) -> Computation:
    """A copy with names of its own."""
    plan: dict[Instruction, Instruction] = {}
    for instr in computation.instructions:
        plan[instr] = instr.with_(
            name=names.unique(instr.name),
            operands=tuple(plan[o] for o in instr.operands),
            control_predecessors=tuple(plan[p] for p in instr.control_predecessors),
        )
    return replace(computation, instructions=tuple(plan.values()), root=plan[computation.root])
