# message: smallest gives a wrong result
def smallest(items, fails):
    size = len(items) // 2
    while size:
        for at in range(0, len(items), size):
            fewer = items[:at] + items[at + size :]
            if fails(fewer):
                items = fewer
                break
        size //= 2
    return items
