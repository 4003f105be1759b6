"""Exercise 70: find the devices that wait forever.

`programs` has a list for each device: the collectives that it joins, in this order. Each is a pair
of a name and the numbers of the devices that take part. A device waits until all of them have come
to the same collective. Give the numbers of the devices that never come to their end.
"""


def stuck(programs):
    raise NotImplementedError("not written yet")
