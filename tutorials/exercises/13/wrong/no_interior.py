# message: infer_pad infers another shape
def infer_pad(instr, attrs, operand, value):
    return operand.with_dims(
        tuple(n + p.low + p.high for n, p in zip(operand.dims, attrs.padding, strict=True))
    )
