"""Exercise 15: slice at a start that comes at run time.

`starts` are NumPy scalars, one a dimension; `attrs.dynamic_slice_sizes` are the sizes of the
result. A start for which the slice would not lie in the operand is moved until it does.
"""


def evaluate_dynamic_slice(instr, attrs, operand, *starts):
    raise NotImplementedError("not written yet")
