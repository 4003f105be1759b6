"""An interpreter of statements: which memory a kernel leaves, before a compiler has seen it.

Loop transformations are checked by it: run before and after, a kernel must leave the same memory.
Numbers are integers, so that sums may be taken in another order; a function is a hash of its name
and its arguments; an element that nobody has written yet is one of the array's name and its index.
A function that is called for its effect is run, if its body is given; else it is remembered how
often it is called with which numbers.

A promise can be tested, too: on request, iterations of `parallel` loops run in a random order, and
loops in lanes do each statement for all iterations before the next one.
"""

from __future__ import annotations

import operator
from functools import partial
from math import inf
from typing import TYPE_CHECKING
from zlib import crc32

from codegen.callees import FUNCTIONS
from codegen.evaluation import COMPARISONS
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Group,
    Index,
    Literal,
    Load,
    Member,
    Name,
    Op,
    Struct,
)
from codegen.kinds import Pointer
from codegen.statements import (
    Assign,
    Break,
    Call,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Try,
    each_side,
    renamed,
)
from codegen.walk import spelled_out, substitute
from hlo.types.element_type import F32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from random import Random

    from codegen.callees import Callee
    from codegen.expressions import Expr
    from codegen.functions import Function
    from codegen.statements import Statement

# Numbers are kept below it: sums and products stay the same, whatever their order.
_PRIME = (1 << 61) - 1
_PARALLEL = FUNCTIONS["hlo_parallel"]
_EXTREMES: dict[Callee, Callable[..., int]] = {
    FUNCTIONS["maximum", F32]: max,
    FUNCTIONS["minimum", F32]: min,
}
# Beyond all numbers here.
_LIMITS = {inf: 1 << 60, -inf: -(1 << 60)}
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    **COMPARISONS,
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
    "&&": lambda x, y: int(bool(x) and bool(y)), "||": lambda x, y: int(bool(x) or bool(y)),
    # As in C, rounded towards zero.
    "/": lambda x, y: _hash("/", x, y) if y == 0 else abs(x) // abs(y) * (1 if x * y >= 0 else -1),
    "%": lambda x, y: _hash("%", x, y) if y == 0 else x - y * _OPERATIONS["/"](x, y),
    "<<": lambda x, y: x << y if 0 <= y < 64 else _hash("<<", x, y),
    ">>": lambda x, y: x >> y if 0 <= y < 64 else _hash(">>", x, y),
}  # fmt: skip


class UnsupportedError(Exception):
    """A statement has no meaning here: a function changes something, or it takes too long."""


class OutsideError(Exception):
    """An element is outside of its local array."""


class Machine:
    """The state of a kernel that runs.

    Parameters
    ----------
    values : of parameters that are numbers.
    random : makes the order of `parallel` loops; None to run them as all others.
    lanes : loops in lanes run statement by statement.
    steps : statements to run at most.
    functions : those that statements call, by name.

    Attributes
    ----------
    memory : the elements that were written, by array and index.
    """

    def __init__(
        self,
        values: Mapping[str, int] | None = None,
        *,
        random: Random | None = None,
        lanes: bool = False,
        steps: int = 100_000,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        self.memory: dict[str, dict[int, int]] = {}
        self._names: dict[str, int] = dict(values or {})
        self._sizes: dict[str, int] = {}
        self._random, self._lanes, self._steps = random, lanes, steps
        self._functions = functions or {}

    @property
    def result(self) -> dict[str, dict[int, int]]:
        """The memory that outlives the kernel: all but its local arrays."""
        return {
            name: {k: v % _PRIME for k, v in array.items()}
            for name, array in self.memory.items()
            if name not in self._sizes
        }

    def run(self, statements: Iterable[Statement]) -> bool:
        """Run statements; gives whether one of them leaves the loop around them.

        Raises
        ------
        UnsupportedError
            if that is not possible, or takes too many steps.
        """
        return any(self._run(s) for s in statements)

    def _run(self, statement: Statement) -> bool:
        self._steps -= 1
        if self._steps < 0:
            raise UnsupportedError("it takes too many steps")
        match statement:
            case Let(_, name, value):
                self._names[name] = self._value(value)
            case LocalVariable(_, name, value, size):
                self._declare(name, value, size)
            case Assign(target, value):
                self._assign(target, self._value(value))
            case If(condition, then, otherwise):
                return self.run(then if self._value(condition) else otherwise)
            case Break(condition):
                return bool(self._value(condition))
            case Forever(body):
                while not self.run(body):
                    pass
            case For():
                self._loop(statement)
            case _:
                self._effect(statement)
        return False

    def _effect(self, call: Call | Try) -> None:
        match call:
            case Call(function, (Name(part), fields, count, _)) if function is _PARALLEL:
                self._run_in_threads(part, fields, count)
            case Call(function, arguments):
                self._call(function.name, arguments)
            case _:
                raise UnsupportedError(f"it calls {call.function.name}")

    def _call(self, name: str, arguments: Sequence[Expr]) -> None:
        """Run a function; remember the call of one that is not known, which has numbers only."""
        function = self._functions.get(name)
        if function is None:
            if any(isinstance(a, Name) and a.name in self.memory for a in arguments):
                raise UnsupportedError(f"it calls {name}")
            calls = self.memory.setdefault(f"{name}()", {})
            which = _hash(name, *map(self._value, arguments))
            calls[which] = calls.get(which, 0) + 1
            return
        values: dict[str, Expr] = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            is_array = isinstance(parameter.kind, Pointer)
            values[parameter.name] = argument if is_array else Literal(self._value(argument))
        outer = {**self._names}
        self.run(renamed(s, values) for s in function.body)
        self._names = outer

    def _run_in_threads(self, part: str, arguments: Expr, count: Expr) -> None:
        """Run all iterations of a loop that threads share: those of one part."""
        function = self._functions[part]
        call = function.body[-1]
        assert isinstance(call, Call)
        record = arguments.args[0] if isinstance(arguments, Op) else None
        given_values = record.values if isinstance(record, Struct) else ()
        fields = (Member(Name("given"), field.name) for field in function.record or ())
        known: dict[Expr, Expr] = dict(zip(fields, given_values, strict=True))
        bounds = {"begin": Literal(0), "end": count, "slot": Literal(0)}
        self._call(
            call.function.name, [known.get(a) or substitute(a, bounds) for a in call.arguments]
        )

    def _declare(self, name: str, value: Expr | None, size: int | None) -> None:
        if size is not None:
            self.memory[name] = {}
            self._sizes[name] = size
        elif value is not None:
            self._names[name] = self._value(value)

    def _assign(self, target: Expr, value: int) -> None:
        match target:
            case Name(name):
                self._names[name] = value
            case Load(pointer, index):
                name, place = self._place(pointer, index)
                self.memory.setdefault(name, {})[place] = value
            case _:
                raise UnsupportedError("it assigns to more than a variable or an element")

    def _loop(self, loop: For) -> None:
        start, stop, step = (self._value(n) for n in (loop.start, loop.stop, loop.step))
        if step == 0 or (step < 0) != loop.counts_down:
            raise UnsupportedError(f"the loop over {loop.name} counts by {step}")
        if _trips(start, stop, step) > self._steps and not _may_end_early(loop):
            raise UnsupportedError("it takes too many steps")
        numbers = range(start, stop, step)
        if self._lanes and loop.simd and not any(isinstance(s, For) for s in each_side(loop.body)):
            self._run_in_lanes(loop, numbers)
            return
        random = self._random if loop.parallel or loop.bind else None
        for number in random.sample(numbers, len(numbers)) if random else numbers:
            self._names[loop.name] = number
            if self.run(loop.body):
                return

    def _run_in_lanes(self, loop: For, numbers: Sequence[int]) -> None:
        """Run each statement for all iterations, which have values and variables of their own."""
        outer, own = self._names, {s.name for s in each_side(loop.body) if hasattr(s, "name")}  # type: ignore[attr-defined]
        lanes = [{loop.name: number} for number in numbers]

        def run(statements: Sequence[Statement], which: Sequence[dict[str, int]]) -> None:
            for s in statements:
                taken: list[dict[str, int]] = []
                for lane in which:
                    self._names = {**outer, **lane}
                    if isinstance(s, If):
                        if self._value(s.condition):
                            taken.append(lane)
                    else:
                        self._run(s)
                        lane.update({n: v for n, v in self._names.items() if n in own})
                        outer.update({n: v for n, v in self._names.items()
                                      if n not in own and n not in lane})  # fmt: skip
                if isinstance(s, If):
                    run(s.then, taken)
                    run(s.otherwise, [lane for lane in which if all(lane is not t for t in taken)])

        run(loop.body, lanes)
        self._names = outer

    def _value(self, tree: Expr | int) -> int:
        match tree:
            case int(number):
                result = number
            case Name(name):
                # Small, as it may be a bound of a loop.
                result = self._names[name] if name in self._names else _hash(name) % 7
            case Literal(value):
                is_whole = abs(value) < 1 << 53 and value == int(value)
                result = int(value) if is_whole else _LIMITS.get(value) or _hash(repr(value))
            case Index(total):
                result = self._value(spelled_out(total))
            case Group(inside) | Cast(_, inside):
                result = self._value(inside)
            case Load(pointer, index):
                result = self._element(*self._place(pointer, index))
            case Choose(condition, then, otherwise):
                result = self._value(then if self._value(condition) else otherwise)
            case Op(sign, args):
                result = _operation(sign, [self._value(arg) for arg in args])
            case Apply(function, args):
                result = _EXTREMES.get(function, partial(_hash, function.name))(
                    *map(self._value, args)
                )
            case _:
                raise UnsupportedError("it has a value that is no number")
        return result

    def _place(self, pointer: Expr, index: Expr) -> tuple[str, int]:
        """The array and the index of an element, by a pointer that may be one into an array."""
        place = self._value(index)
        while isinstance(pointer, Op) and pointer.op == "+":
            pointer, more = pointer.args
            place += self._value(more)
        if not isinstance(pointer, Name):
            raise UnsupportedError("it reaches an element by more than an array and an index")
        size = self._sizes.get(pointer.name)
        if size is not None and not 0 <= place < size:
            raise OutsideError(f"{pointer.name}[{place}] is outside of {size} elements")
        return pointer.name, place

    def _element(self, name: str, place: int) -> int:
        array = self.memory.get(name, {})
        if place not in array:
            # Small, as it may be an index, and either sign, as it may be a condition.
            return _hash(name, place) % 7
        return array[place]


def _operation(sign: str, args: Sequence[int]) -> int:
    if len(args) == 1:
        one = args[0]
        return {"-": -one, "~": ~one, "!": int(not one)}.get(sign, _hash(sign, one))
    result = int(_OPERATIONS[sign](*args))
    return result if abs(result) < _PRIME else result % _PRIME


def _hash(*parts: str | int) -> int:
    return crc32(repr([p % _PRIME if isinstance(p, int) else p for p in parts]).encode())


def final_memory(
    statements: Iterable[Statement],
    values: Mapping[str, int] | None = None,
    *,
    random: Random | None = None,
    lanes: bool = False,
    steps: int = 100_000,
    functions: Mapping[str, Function] | None = None,
) -> dict[str, dict[int, int]]:
    """The elements that statements leave in memory, by array and index.

    Parameters
    ----------
    values, random, lanes, steps, functions : as of `Machine`.

    Raises
    ------
    UnsupportedError
        if the statements can't be run here.
    OutsideError
        if a local array has no element of an index.
    """
    listed = tuple(statements)
    if _least_steps(listed) > steps:
        raise UnsupportedError("it takes too many steps")
    machine = Machine(values, random=random, lanes=lanes, steps=steps, functions=functions)
    machine.run(listed)
    return machine.result


def _least_steps(statements: Sequence[Statement]) -> int:
    """The steps that statements take at least, whatever they choose."""
    total, waiting = 0, [(statements, 1)]
    while waiting:
        block, times = waiting.pop()
        total += times * len(block)
        for s in block:
            if isinstance(s, For) and not _may_end_early(s):
                known = [n for n in (s.start, s.stop, s.step) if isinstance(n, int)]
                waiting += [(s.body, times * _trips(*known))] if len(known) == 3 else []
    return total


def _may_end_early(loop: For) -> bool:
    return any(isinstance(s, Break) for s in each_side(loop.body))


def _trips(start: int, stop: int, step: int) -> int:
    """The iterations of a loop, which may be more than `len` can count."""
    return max(0, -(-(stop - start) // step))
