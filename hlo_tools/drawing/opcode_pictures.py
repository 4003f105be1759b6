"""Pictures for the pages of opcodes, drawn from results of the interpreter.

A function of one number is a curve, or two rows where it is no curve; a function of two numbers is
a table. Where an opcode moves or folds elements, each element of the result has the colours of
those that it comes from; where devices exchange values, the colours of the devices. A loop or a
call is a graph. Any other opcode's picture shows the values of the example, in the order in which
they are computed.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlo.build import Builder, module
from hlo.errors.error import HloError
from hlo.opcode import OPCODES
from hlo.types.element_type import C64, F32, PRED, S8
from hlo.types.shape import array
from hlo_tools.drawing.graphs.drawing import drawn
from hlo_tools.drawing.influence import first_array, influence_of, mixes_elements
from hlo_tools.drawing.pictures import devices, elements, function, steps
from hlo_tools.drawing.pictures.curve import picture as curve_picture
from hlo_tools.drawing.pictures.curve import points
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Instruction
    from hlo_tools.drawing.opcode_examples import Example

Array = NDArray[Any]


class Picture(NamedTuple):
    """A picture of an opcode.

    Attributes
    ----------
    svg : the file.
    legend : the sentence below it, which explains it.
    """

    svg: str
    legend: str


MOVES = "Each element of the result has the colour of the element that it was copied from."
COMPUTES = (
    "Some elements of the result have a colour, and so has all that they depend on: the interpreter"
    " was run again with each element changed."
)
CALLS = "A computation is drawn inside of what calls it."
EXCHANGES = (
    "Each device has a colour. An element of a result has the colours of the devices that it"
    " depends on."
)
STEPS = "The example, run: each instruction with its value. The lines of this opcode are coloured."
CURVE = "The result, for x from -4 to 4."
ROWS = "The result, for some x."
TABLE = "The result, for x on the left and y above."


def opcode_picture(name: str, example: Example) -> Picture:
    """The picture on the page of an opcode, whose example was run."""
    row = OPCODES[name]
    if len(example.arguments) > 1:
        return Picture(devices.picture(example), EXCHANGES)
    root = example.module.entry.root
    if row.elementwise and root.opcode == name and row.arity in (1, 2):
        if row.arity == 1 and (curve := curve_of(root)):
            return Picture(curve, CURVE)
        if tables := tables_of(root):
            return Picture(function.picture(tables), ROWS if row.arity == 1 else TABLE)
    if (picture := picture_of_elements(name, example)) is not None:
        return picture
    if "sequential" in row.traits and "async" not in row.traits:
        return Picture(drawn(example.module), CALLS)
    return Picture(steps.picture(name, example), STEPS)


def picture_of_elements(name: str, example: Example) -> Picture | None:
    """The origins of a result's elements; None if each comes from its own index."""
    row = OPCODES[name]
    if row.traits & {"sequential", "effect", "async"}:
        return None
    influences = influence_of(example.module, example.first)
    result = first_array(example.results[0])
    if influences is None or result is None:
        return None
    # The picture of any other opcode would be one colour after the other.
    by_element = row.elementwise or row.called or "movement" in row.traits
    if not by_element and not mixes_elements(influences, example.first, result):
        return None
    names = [p.name for p in example.module.entry.parameters]
    svg = elements.picture(names, list(map(np.asarray, example.first)), result, influences)
    return Picture(svg, MOVES if influences.only_moves else COMPUTES)


def applied(root: Instruction, *operands: Array) -> Array:
    """The value of an elementwise instruction for other operands of one shape.

    Raises
    ------
    HloError
        if it takes none of their types.
    """
    builder = Builder()
    types = {np.dtype(t.dtype): t for t in (F32, S8, PRED, C64)}
    parameters = [builder.parameter(array(types[o.dtype], o.shape)) for o in operands]
    attrs: Any = root.attrs
    fields_given = {field.name: getattr(attrs, field.name) for field in fields(attrs)}
    if root.opcode == "convert":
        fields_given["shape"] = array(root.shape.element_type, operands[0].shape)
    builder.add(root.opcode, *parameters, **fields_given)
    with np.errstate(all="ignore"):
        return np.asarray(evaluate(module(builder.build()), *operands))


def curve_of(root: Instruction) -> str | None:
    """The curve of an elementwise function of floats; None if it is x, one number, or no float."""
    x = points()
    try:
        y = applied(root, x)
    except HloError:
        return None
    if y.dtype != x.dtype or np.array_equal(x, y) or np.ptp(y[np.isfinite(y)]) == 0:
        return None
    return curve_picture(x, y)


def tables_of(root: Instruction) -> list[tuple[list[Array], Array]]:
    """The operands and the results of an elementwise function, for each type that it takes."""
    return list(_tables(root, len(root.operands)))


FLOATS: Array = np.array([-np.inf, -2, -0.0, 0.5, 3, np.inf, np.nan], np.float32)
INTEGERS: Array = np.array([-128, -7, -1, 0, 2, 3, 127], np.int8)
TRUTHS: Array = np.array([False, True])
COMPLEX: Array = np.array([-2, 1j, 1 + 2j, complex(np.inf, 0)], np.complex64)


def _tables(root: Instruction, arity: int) -> Iterator[tuple[list[Array], Array]]:
    for values in (FLOATS, INTEGERS, TRUTHS, COMPLEX):
        if arity == 2 and values is COMPLEX:
            continue
        operands: Sequence[Array] = [values]
        if arity == 2:
            operands = np.meshgrid(values, values, indexing="ij")
        try:
            yield [values] * arity, applied(root, *operands)
        except HloError:
            continue
