# message: evaluate_dynamic_slice
def evaluate_dynamic_slice(instr, attrs, operand, *starts):
    sizes = attrs.dynamic_slice_sizes
    first = [max(0, int(s)) for s in starts]
    return operand[tuple(slice(s, s + n) for s, n in zip(first, sizes, strict=True))]
