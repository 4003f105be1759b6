# message: read_slice gives a wrong result
import re


def read_slice(text):
    """Finds ranges wherever they are, and overlooks the rest."""
    found = re.findall(r"\[(\d+):(\d+)(?::(\d+))?\]", text)
    return [(int(a), int(b), int(c or 1)) for a, b, c in found]
