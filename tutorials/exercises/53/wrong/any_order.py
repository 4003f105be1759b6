# message: closure gives a wrong result
def closure(nodes, equal):
    least = list(range(len(nodes)))
    pairs = list(equal)
    while pairs:
        for one, other in pairs:
            low, high = sorted((least[one], least[other]))
            least = [low if k == high else k for k in least]
        first, pairs = {}, []
        for k, (opcode, *operands) in enumerate(nodes):
            key = opcode, *sorted(least[o] for o in operands)  # as if x + y were y + x
            other = first.setdefault(key, k)
            if least[other] != least[k]:
                pairs.append((other, k))
    return least
