# message: smallest runs the test more than
def smallest(items, fails):
    before = None
    while items != before:
        before = items
        for item in before:
            fewer = [i for i in items if i != item]
            if fails(fewer):
                items = fewer
    return items
