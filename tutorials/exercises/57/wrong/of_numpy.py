# message: broadcast
import numpy as np


def broadcast(x, dims, dimensions):
    return np.broadcast_to(x, dims)
