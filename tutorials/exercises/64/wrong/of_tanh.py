# message: logistic_tangent gives a wrong result
def logistic_tangent(x, y, dx):
    return dx * (1 - y * y)
