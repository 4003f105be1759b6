# message: distance is legal, but
def distance(trips):
    return max(1, trips // 2)
