# message: program never makes
def program(random, size):
    steps = []
    for n in range(size):
        last = n + 2 if n else 0
        steps.append((random.choice(["add", "multiply"]), last, random.choice([0, 1])))
    return steps
