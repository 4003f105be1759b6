# message: read_shape gives a wrong result
import re


def read_shape(text):
    words = re.findall(r"\w+|\S", text)[::-1] or [""]
    return read(words)  # whatever comes after it


def take(words, wanted):
    if not words or words.pop() not in wanted:
        raise ValueError(wanted)


def many(words, close, one):
    found = []
    while words and words[-1] != close:
        if found:
            take(words, ",")
        found.append(one(words))
    take(words, close)
    return tuple(found)


def read(words):
    name = words.pop() if words else ""
    if name == "(":
        return many(words, ")", read)
    if name not in ("f32", "s8", "pred"):
        raise ValueError(name)
    take(words, "[")
    return (name, *many(words, "]", lambda words: int(words.pop())))
