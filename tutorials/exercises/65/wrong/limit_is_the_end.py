# message: surrounding gives a wrong result
def surrounding(size, start, limit, stride):
    return start, size - limit, stride - 1
