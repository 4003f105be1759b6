"""A counterexample is the smallest: by instructions, then by shapes, then by constants."""

import pytest
from strategies.planted import PLANTED

from hlo.attributes import Constant
from hlo_tools.search.checking.search import search, smallest
from hlo_tools.search.shrink.case import cost

# The instructions with their dimensions, and all numbers of arguments and constants, by hand; or
# others that are as plain.
SMALLEST = {
    # 1 + 1: with a zero, the sum would be right.
    "x + c => x": ("constant[] add[]", [1]),
    "rounds down": ("parameter[] constant[] divide[]", [-1, 2]),
    "clamp with bounds swapped": ("parameter[] parameter[] clamp[]", [0, 1]),
    "slice_one_further": ("parameter[2] slice[1]", [0, 1]),
    "slice_forgets_its_stride": ("parameter[3] slice[2]", [0, 0, 1]),
    "padding_on_the_other_side": ("parameter[1] constant[] pad[2]", [1, 0]),
    "reverse_twice_is_nothing": ("parameter[2] reverse[2] reverse[2]", [0, 1]),
    "loop_left_out": (
        "parameter[] constant[] compare[] parameter[] constant[] constant[] while[]",
        [2, 2, 0],
    ),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_module_is_found(name: str) -> None:
    failure, _ = search(PLANTED[name], 100)
    assert failure is not None
    found = smallest(PLANTED[name], failure, seconds=600)
    instructions = list(found.before.instructions())
    assert " ".join(f"{i.opcode}{list(i.shape.dims)}" for i in instructions) == SMALLEST[name][0]
    literals = [i.attrs.literal.value for i in instructions if isinstance(i.attrs, Constant)]
    assert sum(map(cost, [*found.arguments, *literals])) == sum(map(cost, SMALLEST[name][1]))
