# message: ring_step gives a wrong result
def ring_step(rank, devices, step):
    return rank, step < devices - 1
