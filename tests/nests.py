"""Small random loops over arrays that alias by index, for tests of loop transformations."""

from dataclasses import replace

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Literal, Load, Name, binary
from codegen.statements import Assign, For, If, Let

ARRAYS = "abc"


def nest(choose, kinds=("", "", "inner", "if")):
    """A loop of a few statements.

    Parameters
    ----------
    choose : gives one of some things: `random.choice`, or what Hypothesis draws.
    kinds : of statements: `inner` is a loop, and `if` a choice.
    """
    start = choose([0, 0, 2])
    loop = _Nest(choose)
    statements = []
    for _ in range(choose([1, 2, 3, 4])):
        statements += loop.statement(choose(kinds) if len(kinds) > 1 else kinds[0])
    return For("i", start + choose(range(3, 10)), tuple(statements), start)


def perfect(choose):
    """A loop around one other loop of a few statements; values may come before that one."""
    outer = nest(choose, [None])
    loop = _Nest(choose)
    values = [loop.let() for _ in range(choose([0, 0, 1]))]
    inside = []
    for _ in range(choose([1, 2, 3])):
        inside += loop.statement(None, "j")
    start = choose([0, 0, 1])
    inner = For("j", start + choose(range(1, 4)), tuple(inside), start)
    return For("i", outer.stop, (*values, inner), outer.start)


def with_guards(choose):
    """A loop around one other loop, with guards between them and in the inner one."""
    loop, made = perfect(choose), _Nest(choose)
    *values, inner = loop.body
    between = choose([(), (replace(made.let(), name="w"),)])
    inside, guard = made.guard("j"), made.guard("i")
    if choose([True, False]):
        inner = inner.with_body([If(inside, inner.body)])
    guarded = If(guard, (*between, inner))
    return loop.with_body([*values, guarded])


def sums_in_guards(choose):
    """Three loops around a store at a sum of counters, which a guard bounds."""
    total = Name("i") * choose([1, 2, 3, -1]) + Name("j") * choose([1, 1, 2, 3])
    place = Name("sum") * choose([1, 1, 2, -1]) + Name("k") * choose([0, 2, 3, 5, 7])
    store = Assign(Load(Name("b"), place + choose([0, 9])), Name("i") + Load(Name("a"), place))
    limit = choose([Literal(2), Literal(4), Literal(6), Name("k"), Name("p")])
    guard = If(binary("<", Name("sum"), limit), (store,))
    inner = For("j", choose([1, 3, 4]), (Let("s64", "sum", total), guard), choose([0, 0, 1]))
    outer = For("k", choose([1, 2, 3]), (inner,))
    return For("i", choose([3, 5, 8]), (outer,), choose([0, 0, 2]), choose([1, 1, 2]))


class _Nest:
    def __init__(self, choose):
        self.choose, self.values = choose, []

    def index(self, *counters):
        made = Name("i") * self.choose([1, 1, 1, 2, 0, -1])
        for name in counters:
            made = made + Name(name) * self.choose([0, 1, 3])
        return made + self.choose([0, 0, 1, 2, 9])

    def element(self, *counters):
        return Load(Name(self.choose(ARRAYS)), self.index(*counters))

    def value(self, *counters):
        made = self.element(*counters)
        if self.values and self.choose([True, False]):
            made = made + Name(self.choose(self.values))
        return Apply(FUNCTIONS["f"], (made,)) if self.choose([True, False]) else made

    def let(self, *counters):
        made = Let("s64", f"v{len(self.values)}", self.value(*counters))
        self.values.append(made.name)
        return made

    def condition(self):
        turns = binary(self.choose(["<", ">=", "=="]), Name("i"), self.choose(range(2, 8)))
        return self.choose([self.element() - 3, turns])

    def guard(self, counter):
        """A condition that most iterations meet; a store may change which ones."""
        turns = binary(*self.choose([("<", Name(counter), 3), (">=", Name(counter), 1)]))
        return self.choose([binary("&", self.element(), Literal(3)), turns])

    def statement(self, kind, *counters):
        if kind == "inner":
            store = Assign(self.element("j"), self.value("j"))
            return [For("j", self.choose([1, 2, 3]), (store,))]
        if kind == "if":
            return [If(self.condition(), (Assign(self.element(), self.value()),))]
        if self.choose([True, False]):
            return [self.let(*counters)]
        return [Assign(self.element(*counters), self.value(*counters))]
