# message: live_elements gives a wrong result
def live_elements(after, decides, reads):
    return set(after).union(decides, *reads)
