# message: trace gives a wrong result
from hlo.operators import BUILDING, Operators


class Value(Operators):
    def __init__(self, name):
        self.name = name


class Steps(list):
    def number(self, number, like):
        return number

    def add(self, opcode, *operands):
        self.append((opcode, *(getattr(o, "name", o) for o in operands)))
        return Value(f"v{len(self) + self.count - 1}")


def trace(function, count):
    steps = Steps()
    steps.count = count
    token = BUILDING.set(steps)
    function(*(Value(f"v{n}") for n in range(count)))
    BUILDING.reset(token)
    return list(steps), f"v{len(steps) + count - 1}"
