# message: groups gives a wrong result
def groups(count, equal):
    least = list(range(count))
    for one, other in equal:
        least[max(one, other)] = min(one, other)
    return least
