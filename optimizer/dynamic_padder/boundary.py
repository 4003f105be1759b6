"""Modules that are static but for their arguments and results, and how code is called for them.

Compiled code takes arrays of the bounds and, as further arguments, the sizes; it yields both too:

    p = f32[<=8] parameter(0)                          p = f32[8] parameter(0)
    both = (f32[8], s32[]) custom-call(p),             n = s32[] parameter(1)
        custom_call_target="PadToStatic"          =>
    ...                                                ...
    ROOT r = f32[<=8] custom-call(x, m),               ROOT both = (f32[8], s32[]) tuple(x, m)
        custom_call_target="SliceToDynamic"
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall, GetTupleElement
from hlo.build import module as build_module
from hlo.instruction import Computation
from hlo.types.element_type import S32
from hlo.types.shape import array
from hlo.types.values import ComputationLayout
from hlo.walk import called_first
from interpreter.custom_calls.signatures import check_call
from optimizer.calls.clone import uniquely_named
from optimizer.dynamic_padder.padding import (
    PAD,
    SLICE,
    changes_size,
    changes_sizes,
    is_dynamic,
    pad,
)
from optimizer.dynamic_padder.values import static
from optimizer.expanders.parts import number
from optimizer.passes import register
from optimizer.rewriting.adopting import new_below
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from optimizer.log import Log


@dataclass(frozen=True, slots=True)
class RunTimeSizes:
    """The sizes that only a run knows, in the order of the further parameters and results.

    Attributes
    ----------
    given : (leaf of the arguments, dimension) of each.
    yielded : (leaf of the result, dimension) of each.
    """

    given: tuple[tuple[int, int], ...]
    yielded: tuple[tuple[int, int], ...]


def run_time_sizes(entry: Computation) -> RunTimeSizes:
    """The sizes of arguments and results that only a run knows."""
    leaves = (leaf for p in entry.parameters for _, leaf in p.shape.leaves())
    return RunTimeSizes(_found(leaves), _found(leaf for _, leaf in entry.root.shape.leaves()))


def _found(leaves: Iterable[Shape]) -> tuple[tuple[int, int], ...]:
    dynamic = ((k, leaf) for k, leaf in enumerate(leaves) if leaf.is_dynamic)
    return tuple((k, d) for k, leaf in dynamic for d in _dynamic(leaf))


@register
@dataclass(frozen=True)
class StaticBoundary:
    """Turns run-time sizes of arguments and results into arguments and results of their own."""

    name = "static-boundary"
    xla = "no pass of XLA: its emitters write PadToStatic and SliceToDynamic"
    transforms = True

    def run(self, module: Module, log: Log) -> Module:
        """The static module that code is written for, in the place of a dynamic one.

        After the parameters of the old one, it has one for each of the sizes that are given. If
        sizes are yielded, it yields a tuple of the old result and of these.

        Raises
        ------
        HloError
            HLO181 if it is not padded, and can't be; HLO122 if a custom call's shapes do not fit.
        """
        if not is_dynamic(module) or not log.rewrite("static boundary", module.entry.root):
            return module
        return _static(module if is_padded(module) else pad(module))


def _static(module: Module) -> Module:
    """The static form of a padded module."""
    entry = module.entry
    further = _sizes(entry)
    copies = _made_static(entry, further)
    root = copies[entry.root]
    counts = [
        copies[leaf.operands[1 + d]] for leaf in _yielded(entry.root) for d in _dynamic(leaf.shape)
    ]
    if counts:
        root = make("tuple", root, *counts)
    parameters = [copies[p] for p in entry.parameters]
    order = dict.fromkeys([*parameters, *further.values()])
    for new in (*copies.values(), root):
        order.update(dict.fromkeys(new_below(new, order)))
    whole = uniquely_named(Computation(entry.name, tuple(order), root))
    shapes = tuple(p.shape for p in whole.parameters)
    layout = ComputationLayout(shapes, whole.root.shape)
    header = replace(
        module.header, entry_computation_layout=layout, input_output_alias=(), buffer_donor=()
    )
    return build_module(whole, module.name, header)


def _made_static(
    entry: Computation, further: dict[tuple[int, int], Instruction]
) -> dict[Instruction, Instruction]:
    """The static form of each instruction, in a module whose sizes are further parameters."""
    inputs = _given(entry)
    copies: dict[Instruction, Instruction] = {}
    for instr in entry.instructions:
        new = instr.with_(
            operands=tuple(copies[o] for o in instr.operands),
            control_predecessors=tuple(copies[o] for o in instr.control_predecessors),
            shape=static(instr.shape),
        )
        if _calls(instr, SLICE) or _calls(instr, PAD):
            check_call(instr)
        if _calls(instr, SLICE) and instr.shape.is_dynamic:
            # The array stays as long as its bound; its size is a result of its own.
            new = new.operands[0]
        elif _calls(instr, PAD) and instr.operands[0] in inputs:
            padded, leaf = new.operands[0], inputs[instr.operands[0]]
            sizes = [further.get((leaf, d)) or number(n) for d, n in enumerate(padded.shape.dims)]
            new = make("tuple", padded, *sizes)
        copies[instr] = new
    return copies


def is_padded(module: Module) -> bool:
    """Whether nothing is dynamic in a module but its arguments, until padded, and its result."""
    entry = module.entry
    inputs, yielded = _given(entry), set(_tuples(entry.root))
    leaves = [leaf for leaf in _yielded(entry.root) if leaf.shape.is_dynamic]
    ends = yielded.union(leaves)
    if not all(_calls(leaf, SLICE) for leaf in leaves):
        return False
    for instr in entry.instructions:
        if instr in inputs or instr in yielded:
            continue
        dynamic = [o for o in instr.operands if o.shape.is_dynamic]
        if dynamic and not (_calls(instr, PAD) and dynamic[0] in inputs):
            return False
        if instr not in ends and changes_size(instr):
            return False
    return not any(changes_sizes(c) for c in called_first(entry) if c is not entry)


def _calls(instr: Instruction, target: str) -> bool:
    return isinstance(instr.attrs, CustomCall) and instr.attrs.custom_call_target == target


def _dynamic(shape: Shape) -> list[int]:
    return [d for d in range(shape.rank) if shape.dynamic_at(d)]


def _sizes(entry: Computation) -> dict[tuple[int, int], Instruction]:
    """A parameter for each (leaf of the arguments, dimension) that is dynamic."""
    first = len(entry.parameters)
    return {
        leaf_and_dim: make("parameter", shape=array(S32), number=first + k)
        for k, leaf_and_dim in enumerate(run_time_sizes(entry).given)
    }


def _given(entry: Computation) -> dict[Instruction, int]:
    """The parameters and their elements, each with the number of its first leaf."""
    inputs: dict[Instruction, int] = {}
    first = 0
    for parameter in entry.parameters:
        inputs[parameter] = first
        first += parameter.shape.leaf_count
    for instr in entry.instructions:
        if isinstance(instr.attrs, GetTupleElement) and instr.operands[0] in inputs:
            whole, index = instr.operands[0], instr.attrs.index
            before = sum(e.leaf_count for e in whole.shape.elements[:index])
            inputs[instr] = inputs[whole] + before
    return inputs


def _tuples(root: Instruction) -> Iterator[Instruction]:
    """The root, and the tuples that it is made of."""
    if root.opcode == "tuple":
        yield root
        for operand in root.operands:
            yield from _tuples(operand)


def _yielded(root: Instruction) -> Iterator[Instruction]:
    """The source of each leaf of the result: the instruction that makes it, or a whole tuple."""
    if root.opcode == "tuple":
        for operand in root.operands:
            yield from _yielded(operand)
    else:
        yield from [root] * root.shape.leaf_count
