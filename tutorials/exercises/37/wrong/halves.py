# message: smallest gives a wrong result
def smallest(items, fails):
    while len(items) > 1:
        half = len(items) // 2
        if fails(items[:half]):
            items = items[:half]
        elif fails(items[half:]):
            items = items[half:]
        else:
            break
    return items
