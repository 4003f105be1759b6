# message: pack gives a wrong result
def pack(blocks):
    """A block may meet others than the one before it."""
    offsets = []
    for i, block in enumerate(blocks):
        meets = i and block.meets(blocks[i - 1])
        offsets.append(offsets[-1] + blocks[i - 1].size if meets else 0)
    return offsets, max((o + b.size for o, b in zip(offsets, blocks, strict=True)), default=0)
