"""Products of two arrays, as modules."""

import re

from strategies.compiled import whole

import hlo

PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
ROWS = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
# So small that sums of their products are exact.
FEW = whole(-2, 3)


def product(
    left, right, result, how=PLAIN, *, opcode="dot", given=("parameter(0)", "parameter(1)")
):
    """A product of arrays such as `f32[40,50]`; f32, where only sizes are given."""
    left, right, result = (
        text if re.match("[a-z]", text) else f"f32[{text}]" for text in (left, right, result)
    )
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {left} {given[0]}
  y = {right} {given[1]}
  ROOT r = {result} {opcode}(x, y), {how}
}}""")
    hlo.verify(module)
    return module


def spelled(array):
    """An array as HLO writes it."""
    if array.ndim:
        return "{" + ", ".join(map(spelled, array)) + "}"
    return str(float(array)) if array.dtype.kind == "f" else str(int(array))
