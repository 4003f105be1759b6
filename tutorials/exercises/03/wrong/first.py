# message: wrong_bracket gives a wrong result
def wrong_bracket(text):
    opened = []
    for at, sign in enumerate(text):
        if sign in "([{":
            opened.append(at)
        elif sign in ")]}":
            if not opened or text[opened.pop()] + sign not in ("()", "[]", "{}"):
                return at
    return opened[0] if opened else None
