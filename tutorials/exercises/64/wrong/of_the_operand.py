# message: logistic_tangent gives a wrong result
def logistic_tangent(x, y, dx):
    return dx * (x * (1 - x))
