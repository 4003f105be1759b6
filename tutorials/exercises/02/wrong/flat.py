# message: read_shape gives a wrong result
import re


def read_shape(text):
    found = [
        (name, *map(int, re.findall(r"\d+", dims)))
        for name, dims in re.findall(r"(f32|s8|pred)\s*\[([\d, ]*)\]", text)
    ]
    if not found:
        raise ValueError(text)
    return tuple(found) if text.strip().startswith("(") else found[0]
