# message: evaluate_gather
import numpy as np


def evaluate_gather(instr, attrs, operand, indices):
    result = np.zeros(instr.shape.dims, operand.dtype)
    dropped = {*attrs.collapsed_slice_dims, *attrs.operand_batching_dims}
    kept = [d for d in range(operand.ndim) if d not in dropped]
    if any(attrs.slice_sizes[d] == 0 for d in dropped) or not operand.size:
        return result
    for at in np.ndindex(result.shape):
        batch = [i for d, i in enumerate(at) if d not in attrs.offset_dims]
        place = [0] * operand.ndim
        for k, d in enumerate(attrs.start_index_map):
            spot = list(batch)
            if attrs.index_vector_dim < indices.ndim:
                spot.insert(attrs.index_vector_dim, k)
            place[d] = int(indices[tuple(spot)])
        for d, offset in zip(kept, attrs.offset_dims, strict=True):
            place[d] += at[offset]
        result[at] = operand[tuple(place)]
    return result
