# message: write_reverse: the C gives another value
def write_reverse(body, instr, index):
    """The last element of n is element n - 1."""
    dims = instr.shape.dims
    return body.element(
        instr.operands[0],
        tuple(i * -1 + dims[d] if d in instr.attrs.dimensions else i for d, i in enumerate(index)),
    )
