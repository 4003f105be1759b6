# message: wrong_bracket gives a wrong result
def wrong_bracket(text):
    for left, right in ("()", "[]", "{}"):  # each kind for itself
        opened = []
        for at, sign in enumerate(text):
            if sign == left:
                opened.append(at)
            elif sign == right:
                if not opened:
                    return at
                opened.pop()
        if opened:
            return opened[-1]
    return None
