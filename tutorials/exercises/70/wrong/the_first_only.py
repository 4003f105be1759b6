# message: stuck gives a wrong result
def stuck(programs):
    return [
        device
        for device, joined in enumerate(programs)
        if joined and any(programs[other][:1] != joined[:1] for other in joined[0][1])
    ]
