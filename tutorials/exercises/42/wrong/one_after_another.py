# message: pack is right, but takes
def pack(blocks):
    offsets, end = [], 0
    for block in blocks:
        offsets.append(end)
        end += block.size
    return offsets, end
