"""Exercise 68: a rule of the partitioner.

`left`, `right` and `result` name the dimensions of a product's operands and result, a letter each:
"mk", "kn" and "mn" for a product of matrices. All arrays that have the dimension `cut` are cut
along it among the devices. Give a pair: the number of the dimension along which the result is cut,
None if it is not; and whether the devices have to add up their results.
"""


def division(left, right, result, cut):
    raise NotImplementedError("not written yet")
