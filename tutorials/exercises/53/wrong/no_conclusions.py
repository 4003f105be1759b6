# message: closure gives a wrong result
def closure(nodes, equal):
    least = list(range(len(nodes)))
    for one, other in equal:
        low, high = sorted((least[one], least[other]))
        least = [low if k == high else k for k in least]
    return least
