# message: logistic_tangent gives a wrong result
def logistic_tangent(x, y, dx):
    return y * (1 - y)
