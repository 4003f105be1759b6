# message: trips gives a wrong result
HOLDS = {"LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "NE": int.__ne__}
HOLDS["EQ"] = int.__eq__


def trips(init, step, direction, limit):
    """Lets the counter wrap around."""
    count, value = 0, init
    while HOLDS[direction](value, limit):
        value = (value + step + 128) % 256 - 128
        count += 1
        if count > 256:
            return None
    return count
