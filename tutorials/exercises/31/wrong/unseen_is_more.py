# message: join gives a wrong result
UNSEEN, VARIES = "unseen", "varies"


def join(first, second):
    if isinstance(first, str) or isinstance(second, str):
        return UNSEEN if UNSEEN in (str(first), str(second)) else VARIES
    same = first.dtype == second.dtype and first.tobytes() == second.tobytes()
    return first if same else VARIES
