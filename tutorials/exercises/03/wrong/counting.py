# message: wrong_bracket gives a wrong result
def wrong_bracket(text):
    opened = []
    for at, sign in enumerate(text):
        if sign in "([{":
            opened.append(at)
        if sign in ")]}":
            if not opened:
                return at
            opened.pop()  # of any kind
    return opened[-1] if opened else None
