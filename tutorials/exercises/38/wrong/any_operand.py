# message: program is not well-typed
COUNTS = {"add": 2, "multiply": 2, "negate": 1, "less": 2, "not": 1, "and": 2, "select": 3}


def program(random, size):
    steps = []
    for n in range(size):
        opcode = random.choice(list(COUNTS))
        steps.append((opcode, *(random.randrange(n + 3) for _ in range(COUNTS[opcode]))))
    return steps
