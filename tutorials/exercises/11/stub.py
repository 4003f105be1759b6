"""Exercise 11: put operands first, without recursion.

Give a list of all instructions that `root` needs, itself last: each once, and after its operands.
Chains are thousands of instructions deep, and Python does not recurse that far.
"""


def post_order(root):
    raise NotImplementedError("not written yet")
