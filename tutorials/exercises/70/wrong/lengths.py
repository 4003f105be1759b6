# message: stuck gives a wrong result
def stuck(programs):
    most = max(len(joined) for joined in programs)
    return [device for device, joined in enumerate(programs) if len(joined) not in (0, most)]
