# message: join gives a wrong result
UNSEEN, VARIES = "unseen", "varies"


def join(first, second):
    if isinstance(first, str) or isinstance(second, str):
        if UNSEEN == str(first):
            return second
        return first if UNSEEN == str(second) else VARIES
    return first if first == second else VARIES
