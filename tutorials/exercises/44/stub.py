"""Exercise 44: reverse by index arithmetic.

`index` is a tuple of sums, one a dimension: the place of an element of the result. Give the element
of the operand that is there: `body.element(instr.operands[0], other_index)`. Sums can be added,
and multiplied by numbers: `index[0] * -1 + 3`. `instr.attrs.dimensions` are the flipped dimensions,
`instr.shape.dims` the sizes.
"""


def write_reverse(body, instr, index):
    raise NotImplementedError("not written yet")
