# message: same_bits gives a wrong result
def same_bits(x, y):
    """There are many NaNs."""
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
