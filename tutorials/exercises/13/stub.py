"""Exercise 13: infer the shape of a pad.

`attrs.padding` has, for each dimension, `low` and `high` (how many elements to put before it and
after it; negative: how many to cut off) and `interior` (how many to put between two neighbours).
`operand` and `value` are shapes: `operand.dims` are sizes, `operand.with_dims(dims)` is the shape
of other sizes.
"""


def infer_pad(instr, attrs, operand, value):
    raise NotImplementedError("not written yet")
