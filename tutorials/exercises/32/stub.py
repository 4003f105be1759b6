"""Exercise 32: find the live elements of a loop.

The state of a loop has the elements 0, 1, ... An element is live if the program's result may depend
on it.

    after    a set: the elements that are used after the loop
    decides  a set: the elements that the condition looks at
    reads    a list: reads[k] is the set of elements from which the body computes the next element k

Give the set of live elements. The loop's end decides which values are there after it.
"""


def live_elements(after, decides, reads):
    raise NotImplementedError("not written yet")
