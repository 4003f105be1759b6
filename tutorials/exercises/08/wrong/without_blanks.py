# message: read_slice gives a wrong result
import re

RANGE = r"\[(\d+):(\d+)(?::(\d+))?\]"


def read_slice(text):
    """Blanks inside of brackets are allowed, too."""
    if not re.fullmatch(rf"\{{(?:{RANGE}(?:, ?{RANGE})*)?\}}", text):
        raise ValueError(text)
    return [(int(a), int(b), int(c or 1)) for a, b, c in re.findall(RANGE, text)]
