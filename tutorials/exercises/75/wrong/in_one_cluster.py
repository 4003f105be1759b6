# message: clusters gives a wrong result
def clusters(operations):
    return [0 for _ in operations]
