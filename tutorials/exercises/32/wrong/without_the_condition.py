# message: live_elements gives a wrong result
def live_elements(after, decides, reads):
    live, before = set(after), None
    while live != before:
        before = set(live)
        live = live.union(*(reads[k] for k in live))
    return live
