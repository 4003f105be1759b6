"""Computations of loops and branches, taken apart into the leaves of their parameter.

A derivative puts other computations together from the same instructions: one that also carries
tangents, one that also keeps values, one that runs backwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.instruction import Computation
from hlo.types.shape import tuple_of
from hlo.walk import needed_first
from optimizer.derivative.linearize import Control, Linearized, copies, linearized
from optimizer.derivative.table import Dual, element, leaf_shapes, leaves_of, plain
from optimizer.loops.flatten import nest
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@dataclass(frozen=True, slots=True)
class LinearBody:
    """A computation of one parameter, linearized.

    Attributes
    ----------
    name : of the computation.
    leaves : an instruction for each leaf of the parameter.
    tangents : an instruction for the tangent of each leaf that has one, by the leaf's number.
    values : the results' leaves.
    changes : the results' tangents.
    acting : values that have effects.
    """

    name: str
    leaves: list[Instruction]
    tangents: dict[int, Instruction]
    values: list[Instruction]
    changes: tuple[Instruction | None, ...]
    acting: list[Instruction]


def body_of(computation: Computation, active: Sequence[int], control: Control) -> LinearBody:
    """A computation of one parameter, with tangents of some of the parameter's leaves."""
    (parameter,) = computation.parameters
    leaves = placeholders(leaf_shapes(parameter.shape))
    tangents = {k: placeholder(leaves[k].shape) for k in active}
    whole = together(parameter.shape, leaves)
    pair = Dual(whole, tuple(tangents.get(k) for k in range(len(leaves))))
    new: Linearized = linearized(computation, [pair], control)
    values = leaves_of(new.root.value)
    return LinearBody(computation.name, leaves, tangents, values, new.root.tangents, new.acting)


def placeholder(shape: Shape) -> Instruction:
    """An instruction in whose place another one will be put."""
    return make("parameter", shape=plain(shape) if shape.is_array else shape, number=0)


def placeholders(shapes: Iterable[Shape]) -> list[Instruction]:
    """An instruction for each shape."""
    return [placeholder(shape) for shape in shapes]


def together(shape: Shape, leaves: Iterable[Instruction]) -> Instruction:
    """The value of a shape that has some leaves."""
    return nest(shape, iter(leaves), lambda instr: instr)


def elements(whole: Instruction) -> list[Instruction]:
    """All elements of a tuple."""
    return [element(whole, k) for k in range(len(whole.shape.elements))]


def assembled(
    name: str,
    inputs: Sequence[Instruction],
    results: Sequence[Instruction],
    *,
    places: Callable[[Sequence[Instruction]], Mapping[Instruction, Instruction]] | None = None,
    acting: Sequence[Instruction] = (),
) -> Computation:
    """The computation of a tuple from a tuple.

    Parameters
    ----------
    inputs : instructions that the elements of the parameter take the place of.
    places : further instructions that others take the place of, made from the elements.
    acting : further instructions that the computation runs.
    """
    shape = tuple_of(*(plain(i.shape) if i.shape.is_array else i.shape for i in inputs))
    parameter = make("parameter", shape=shape, number=0)
    arguments = elements(parameter)
    known = dict(zip(inputs, arguments, strict=True))
    known.update(places(arguments) if places else {})
    *instructions, root = copies([*acting, make("tuple", *results)], known)
    return computation(name, [parameter], root, instructions)


def single(name: str, inputs: Sequence[Instruction], result: Instruction) -> Computation:
    """The computation of one result, such as a condition, from a tuple."""
    whole = assembled(name, inputs, [result])
    (root,) = whole.root.operands
    instructions = tuple(i for i in whole.instructions if i is not whole.root)
    return Computation(name, instructions, root)


def computation(
    name: str,
    parameters: Sequence[Instruction],
    root: Instruction,
    acting: Sequence[Instruction] = (),
) -> Computation:
    """A computation of all that its root and some others need."""
    order = needed_first([*parameters, *acting, root], lambda instr: instr.operands)
    return Computation(name, tuple(order), root)


def remade(
    instr: Instruction,
    operands: Sequence[Instruction],
    called: Sequence[Computation],
    shape: Shape,
) -> Instruction:
    """Another loop or conditional in the place of one: no note of that holds for it."""
    notes = replace(instr.annotations, sharding=None, backend_config="", origin="")
    return instr.with_(
        operands=tuple(operands),
        shape=shape,
        called=tuple(called),
        control_predecessors=(),
        annotations=notes,
    )
