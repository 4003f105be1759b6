# message: groups gives a wrong result
def groups(count, equal):
    group = list(range(count))
    for one, other in equal:
        old, new = group[one], group[other]
        group = [new if k == old else k for k in group]
    return group
