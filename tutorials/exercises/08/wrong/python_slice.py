# message: read_slice gives a wrong result
def read_slice(text):
    """A stride that is left out is 1, not 0."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError(text)
    found = []
    for part in inner[1:-1].split(","):
        part = part.strip()  # noqa: PLW2901
        if not part and inner == "{}":
            continue
        if not (part.startswith("[") and part.endswith("]")):
            raise ValueError(text)
        numbers = [int(n) for n in part[1:-1].split(":")]
        if len(numbers) not in (2, 3):
            raise ValueError(text)
        found.append((*numbers, 0)[:3])
    return found
