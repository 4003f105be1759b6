# message: shape_text gives a wrong result
def shape_text(name, dims, order):
    """A tuple of one number ends with a comma in Python."""
    return f"{name}{str(list(dims)).replace(' ', '')}{'' if not order else str(order)}"
