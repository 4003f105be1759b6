# message: evaluate_dynamic_slice
def evaluate_dynamic_slice(instr, attrs, operand, *starts):
    sizes = attrs.dynamic_slice_sizes
    return operand[tuple(slice(int(s), int(s) + n) for s, n in zip(starts, sizes, strict=True))]
