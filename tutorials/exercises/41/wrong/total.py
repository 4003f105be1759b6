# message: peak gives a wrong result
def peak(blocks):
    return sum(block.size for block in blocks)
