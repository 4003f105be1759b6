# message: peak gives a wrong result
def peak(blocks):
    return max((block.size for block in blocks), default=0)
