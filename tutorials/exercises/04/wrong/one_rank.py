# message: value gives a wrong result
import re


def value(text, names):
    words = re.findall(r"\d+|\w+|\S", text)[::-1]

    def sum_():
        left = factor()
        while words and words[-1] in "+-*":
            sign, right = words.pop(), factor()
            left = left + right if sign == "+" else left - right if sign == "-" else left * right
        return left

    def factor():
        word = words.pop() if words else ""
        if word == "-":
            return -factor()
        if word == "(":
            inside = sum_()
            if not words or words.pop() != ")":
                raise ValueError(text)
            return inside
        return names[word] if word in names else int(word)

    found = sum_()
    if words:
        raise ValueError(words)
    return found
