# message: distance gives a wrong result
def distance(trips):
    return trips + 1
