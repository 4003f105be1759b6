# message: stuck gives a wrong result
def stuck(programs):
    return [
        device
        for device, joined in enumerate(programs)
        if any((name, group) not in programs[other] for name, group in joined for other in group)
    ]
