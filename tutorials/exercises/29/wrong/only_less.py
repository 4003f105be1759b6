# message: trips gives a wrong result
def trips(init, step, direction, limit):
    return max(0, -(-(limit - init) // step)) if step > 0 else None
