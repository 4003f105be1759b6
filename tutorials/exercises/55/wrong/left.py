# message: least_work gives a wrong result
from itertools import pairwise


def least_work(sizes):
    return sum(sizes[0] * k * m for k, m in pairwise(sizes[1:]))
