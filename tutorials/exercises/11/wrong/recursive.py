# message: post_order raises RecursionError
def post_order(root):
    order = {}

    def visit(instr):
        if instr not in order:
            for operand in instr.operands:
                visit(operand)
            order[instr] = None

    visit(root)
    return list(order)
