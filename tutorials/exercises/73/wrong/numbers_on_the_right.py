# message: trace raises TypeError
class Value:
    def __init__(self, steps, name):
        self.steps, self.name = steps, name

    def made(self, opcode, *operands):
        self.steps.append((opcode, *(getattr(o, "name", o) for o in operands)))
        return Value(self.steps, f"v{len(self.steps) + COUNT - 1}")

    def __add__(self, other):
        return self.made("add", self, other)

    def __sub__(self, other):
        return self.made("subtract", self, other)

    def __mul__(self, other):
        return self.made("multiply", self, other)

    def __truediv__(self, other):
        return self.made("divide", self, other)

    def __neg__(self):
        return self.made("negate", self)


def trace(function, count):
    global COUNT
    COUNT, steps = count, []
    result = function(*(Value(steps, f"v{n}") for n in range(count)))
    return steps, result.name
