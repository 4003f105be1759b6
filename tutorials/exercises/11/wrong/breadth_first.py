# message: post_order gives a wrong result
def post_order(root):
    order = [root]
    for instr in order:
        order += [o for o in instr.operands if o not in order]
    return order[::-1]
