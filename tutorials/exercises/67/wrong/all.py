# message: distance is legal, but
def distance(trips):
    return 1
