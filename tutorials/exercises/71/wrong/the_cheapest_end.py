# message: plan gives a wrong result
def plan(work, moves):
    return [min(range(len(layer)), key=layer.__getitem__) for layer in work[:-1]]
