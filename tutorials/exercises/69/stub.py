"""Exercise 69: add up in a ring.

Each of some devices has an array of as many parts as there are devices, and all want the sum of all
arrays. In a step, each device sends one part to the next, the last one to the first, and the
receiver adds it to its own, or puts it in its place. There are 2 * (devices - 1) steps: adding ones
first. Give a pair for a device, `rank`, and a step from 0: the number of the part that it sends,
and whether the receiver adds it.
"""


def ring_step(rank, devices, step):
    raise NotImplementedError("not written yet")
