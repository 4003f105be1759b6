"""Exercise 14: pad an array.

`operand` and `value` are NumPy arrays, and the result is one. `attrs.padding` is as in exercise 13.
`instr.shape.dims` are the sizes of the result.
"""


def evaluate_pad(instr, attrs, operand, value):
    raise NotImplementedError("not written yet")
