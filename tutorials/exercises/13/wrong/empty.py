# message: infer_pad infers another shape
def infer_pad(instr, attrs, operand, value):
    """An empty dimension has no gaps, not one less than none."""
    return operand.with_dims(
        tuple(
            n + p.low + p.high + (n - 1) * p.interior
            for n, p in zip(operand.dims, attrs.padding, strict=True)
        )
    )
