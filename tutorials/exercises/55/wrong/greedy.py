# message: least_work gives a wrong result
def least_work(sizes):
    sizes, total = list(sizes), 0
    while len(sizes) > 2:
        works = [sizes[k - 1] * sizes[k] * sizes[k + 1] for k in range(1, len(sizes) - 1)]
        total += min(works)
        del sizes[works.index(min(works)) + 1]
    return total
