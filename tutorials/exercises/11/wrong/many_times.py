# message: post_order gives a wrong result
def post_order(root):
    order, stack = [], [root]
    while stack:
        instr = stack.pop()
        order.append(instr)
        stack += instr.operands
    return order[::-1]
