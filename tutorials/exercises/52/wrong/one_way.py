# message: groups gives a wrong result
def groups(count, equal):
    parent = list(range(count))
    for one, other in equal:
        parent[other] = parent[one]
    return parent
