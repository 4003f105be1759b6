# message: first_wrong gives a wrong result
def first_wrong(count, is_wrong):
    if not is_wrong(count):
        return None
    right, wrong = 0, count
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_wrong(middle):
            wrong = middle
        else:
            right = middle
    return right
