# message: first_wrong runs the program more than
def first_wrong(count, is_wrong):
    return next((n for n in range(1, count + 1) if is_wrong(n)), None)
