# message: depth raises RecursionError
def depth(computation):
    def chain(instr):
        return 1 + max(map(chain, instr.operands), default=0)

    return chain(computation.root)
