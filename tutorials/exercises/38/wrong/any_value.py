# message: program makes dead code
NUMBER, TRUTH = "number", "truth"
TYPES = {
    "add": (NUMBER, NUMBER, NUMBER),
    "multiply": (NUMBER, NUMBER, NUMBER),
    "negate": (NUMBER, NUMBER),
    "less": (NUMBER, NUMBER, TRUTH),
    "and": (TRUTH, TRUTH, TRUTH),
    "not": (TRUTH, TRUTH),
    "select": (TRUTH, NUMBER, NUMBER, NUMBER),
}


def program(random, size):
    types, steps = [NUMBER, NUMBER, TRUTH], []
    for _ in range(size):
        opcode = random.choice(list(TYPES))
        *operands, result = TYPES[opcode]
        fitting = [[n for n, t in enumerate(types) if t == wanted] for wanted in operands]
        steps.append((opcode, *map(random.choice, fitting)))
        types.append(result)
    return steps
