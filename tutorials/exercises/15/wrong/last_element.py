# message: evaluate_dynamic_slice
def evaluate_dynamic_slice(instr, attrs, operand, *starts):
    """The last start is the size less that of the slice."""
    sizes = attrs.dynamic_slice_sizes
    first = [max(0, min(int(s), n - 1)) for s, n in zip(starts, operand.shape, strict=True)]
    return operand[tuple(slice(s, s + n) for s, n in zip(first, sizes, strict=True))]
