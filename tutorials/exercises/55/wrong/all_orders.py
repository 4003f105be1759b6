# message: least_work takes too long
def least_work(sizes):
    if len(sizes) < 3:
        return 0
    return min(
        least_work(sizes[: k + 1]) + least_work(sizes[k:]) + sizes[0] * sizes[k] * sizes[-1]
        for k in range(1, len(sizes) - 1)
    )
