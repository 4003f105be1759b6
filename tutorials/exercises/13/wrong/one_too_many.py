# message: infer_pad infers another shape
def infer_pad(instr, attrs, operand, value):
    """There is one gap less than there are elements."""
    return operand.with_dims(
        tuple(
            n + p.low + p.high + n * p.interior
            for n, p in zip(operand.dims, attrs.padding, strict=True)
        )
    )
