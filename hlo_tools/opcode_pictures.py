"""Pictures for the pages of opcodes, drawn from what the interpreter does with their examples.

A function of one number is a curve; a loop or a call is a graph; of everything else, elements of
the result are coloured as what they come from. An opcode that keeps every element where it is has
no picture, as it would say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from hlo.build import Builder, module
from hlo.errors.error import HloError
from hlo.opcode import OPCODES
from hlo.types.element_type import F32
from hlo.types.shape import array
from hlo_tools.graphs.drawing import drawn
from hlo_tools.influence import influence
from hlo_tools.views import elements
from hlo_tools.views.curve import picture as curve_picture
from hlo_tools.views.curve import places
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Module
    from hlo_tools.influence import Influence

MOST_ELEMENTS = 64
# A picture that tells something has so many different elements.
MORE = 2


class Picture(NamedTuple):
    """A picture of an opcode.

    Attributes
    ----------
    svg : the file.
    legend : what is to be seen.
    """

    svg: str
    legend: str


def opcode_picture(name: str, example: Module | None, given: Sequence[Any]) -> Picture | None:
    """What is drawn on the page of an opcode; None where it would say nothing.

    Parameters
    ----------
    example : the module of the page.
    given : its arguments.
    """
    row = OPCODES[name]
    if row.elementwise:
        curve = curve_of(name) if row.arity == 1 else None
        return Picture(curve, "The result, for x from -4 to 4.") if curve else None
    if example is None:
        return None
    found = None if "sequential" in row.traits else influence_of(example, given)
    result = None if found is None else first_array(evaluate(example, *given))
    if found and result is not None and says_something(found, given, result):
        names = [p.name for p in example.entry.parameters]
        svg = elements.picture(names, list(map(np.asarray, given)), result, found)
        return Picture(svg, MOVES if found.only_moves else COMPUTES)
    return Picture(drawn(example), CALLS) if row.called else None


MOVES = "An element of the result has the colour of the one that it is."
COMPUTES = (
    "Some elements of the result have a colour, and so has all that they depend on: the interpreter"
    " was run again with each element changed."
)
CALLS = "A computation is drawn inside of what calls it."


def curve_of(name: str) -> str | None:
    """The curve of an elementwise function of floats."""
    builder = Builder()
    x = places()
    try:
        builder.add(name, builder.parameter(array(F32, x.shape)))
        with np.errstate(all="ignore"):
            y: Any = evaluate(module(builder.build()), x)
    except (HloError, TypeError):
        return None
    if y.dtype != x.dtype or np.array_equal(x, y):
        return None
    return curve_picture(x, y)


def influence_of(example: Module, given: Sequence[Any]) -> Influence | None:
    """What the elements of a result come from, where all are few and can be computed."""
    sizes = [p.shape.size if p.shape.is_array else 0 for p in example.entry.parameters]
    if not given or not all(sizes) or sum(sizes) > MOST_ELEMENTS:
        return None
    try:
        result = first_array(evaluate(example, *given))
        if result is None or not 1 <= result.size <= MOST_ELEMENTS:
            return None
        return influence(example, list(map(np.asarray, given)), first_array)
    except (HloError, TypeError, ValueError):
        return None


def is_telling(example: Module, given: Sequence[Any]) -> bool:
    """Whether a picture of an example shows all that its opcode does.

    Each argument is used, and there are elements of the result that come from different ones.
    """
    found = influence_of(example, given)
    result = None if found is None else first_array(evaluate(example, *given))
    if found is None or result is None or not says_something(found, given, result):
        return False
    used = {source.argument for each in found.sources for source in each}
    return len(set(found.sources)) >= MORE and len(used) == len(given)


def first_array(value: Any) -> NDArray[Any] | None:
    """The first array of a value; None if there is none."""
    while isinstance(value, tuple):
        parts = cast("tuple[Any, ...]", value)
        value = parts[0] if parts else None
    return None if value is None else np.asarray(value)


def says_something(found: Influence, given: Sequence[Any], result: NDArray[Any]) -> bool:
    """Whether some element depends on more than those at its own place."""
    return any(
        source.element != i or np.shape(given[source.argument]) != result.shape
        for i, each in enumerate(found.sources)
        for source in each
    )
