# message: users gives a wrong result
def users(computation):
    """Those are the operands."""
    return {i: list(dict.fromkeys(i.operands)) for i in computation.instructions}
