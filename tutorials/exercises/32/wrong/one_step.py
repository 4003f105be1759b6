# message: live_elements gives a wrong result
def live_elements(after, decides, reads):
    live = after | decides
    return live.union(*(reads[k] for k in live))
