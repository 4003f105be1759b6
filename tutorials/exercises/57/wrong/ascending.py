# message: broadcast gives a wrong result
import numpy as np


def broadcast(x, dims, dimensions):
    inner = [n if d in dimensions else 1 for d, n in enumerate(dims)]
    return np.broadcast_to(x.reshape(inner), dims)
