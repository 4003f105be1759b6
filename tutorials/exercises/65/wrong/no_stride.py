# message: surrounding gives a wrong result
def surrounding(size, start, limit, stride):
    return start, size - 1 - range(start, limit, stride)[-1], 0
