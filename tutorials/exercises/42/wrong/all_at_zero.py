# message: pack gives a wrong result
def pack(blocks):
    return [0] * len(blocks), max((b.size for b in blocks), default=0)
