# message: closure gives a wrong result
def closure(nodes, equal):
    least = list(range(len(nodes)))

    def merge(one, other):
        low, high = sorted((least[one], least[other]))
        least[:] = [low if k == high else k for k in least]

    for pair in equal:
        merge(*pair)
    first = {}
    for k, (opcode, *operands) in enumerate(nodes):  # once, from first to last
        merge(k, first.setdefault((opcode, *(least[o] for o in operands)), k))
    return least
