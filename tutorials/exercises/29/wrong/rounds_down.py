# message: trips gives a wrong result
HOLDS = {"LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "NE": int.__ne__}
HOLDS["EQ"] = int.__eq__


def trips(init, step, direction, limit):
    """Counts beyond the range of the counter."""
    count = 0
    while HOLDS[direction](init + count * step, limit):
        count += 1
        if count > 1000:
            return None
    return count
