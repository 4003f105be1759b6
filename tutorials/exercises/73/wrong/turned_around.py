# message: trace gives a wrong result
class Value:
    def __init__(self, steps, count, name):
        self.steps, self.count, self.name = steps, count, name

    def made(self, opcode, *operands):
        self.steps.append((opcode, self.name, *(getattr(o, "name", o) for o in operands)))
        return Value(self.steps, self.count, f"v{len(self.steps) + self.count - 1}")

    def __add__(self, other):
        return self.made("add", other)

    def __sub__(self, other):
        return self.made("subtract", other)

    def __mul__(self, other):
        return self.made("multiply", other)

    def __truediv__(self, other):
        return self.made("divide", other)

    def __neg__(self):
        return self.made("negate")

    __radd__, __rsub__, __rmul__, __rtruediv__ = __add__, __sub__, __mul__, __truediv__


def trace(function, count):
    steps = []
    result = function(*(Value(steps, count, f"v{n}") for n in range(count)))
    return steps, result.name
