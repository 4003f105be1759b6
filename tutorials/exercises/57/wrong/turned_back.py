# message: broadcast gives a wrong result
import numpy as np


def broadcast(x, dims, dimensions):
    turned = np.transpose(x, dimensions if sorted(dimensions) == [*range(x.ndim)] else None)
    inner = [n if d in dimensions else 1 for d, n in enumerate(dims)]
    return np.broadcast_to(turned.reshape(inner), dims)
