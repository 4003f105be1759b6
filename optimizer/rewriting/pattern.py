"""Both sides of a rewrite rule, written as the instructions that they stand for.

`add(x, 0)` is a pattern: an add of anything and a constant 0. Every opcode has a constructor of its
name (`-` becomes `_`; a name that Python has taken ends in `_`: `and_`, `slice_`, `tuple_`).
Called on instructions instead of variables, the same constructor makes a new instruction.

    x, y, z, a, b       any instruction; the same letter twice is the same instruction twice
    c, c1, c2, c3       a constant, or a scalar constant that a broadcast spreads
    0, 1, 0.5, -0.0     a constant that is this number everywhere, of any element type. A whole
                        number means either zero; 0.0 and -0.0 mean just that one
    p, q, r, f, g       an attribute, or a computation that is called
    xs                  all operands that are left: concatenate(xs, dimensions=p)
    ROOT                in guards: the instruction that the whole left side stands for

Attributes follow the operands in the order of the opcode's attribute class, or are given by name:
`transpose(x, p)`, `dot(a, b, lhs_contracting_dims=p)`, `reduce(x, a, dimensions=p, to_apply=f)`.
On the left, an attribute that is not named may be anything; on the right it has its default.

>>> from optimizer.rewriting.pattern import add, negate, subtract, x, y
>>> print(subtract(x, negate(y)))
subtract(x, negate(y))
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, overload

from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from optimizer.rewriting.application import Application, AttributeVariable, Rest
from optimizer.rewriting.make import make
from optimizer.rewriting.term import ConstantVariable, Variable, python_name, term

if TYPE_CHECKING:
    from hlo.types.shape import Shape


@dataclass(frozen=True, slots=True)
class Constructor:
    """Makes patterns of one opcode, or of one of several; on instructions, new instructions."""

    opcodes: tuple[str, ...]

    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]
        self, first: Instruction, /, *rest: Any, shape: Shape | None = None, **attrs: Any
    ) -> Instruction: ...

    @overload
    def __call__(self, /, *operands: Any, **attrs: Any) -> Application: ...

    def __call__(self, /, *arguments: Any, shape: Any = None, **attrs: Any) -> Any:
        """The pattern of some operands and attributes, or the instruction of real ones."""
        row = OPCODES[self.opcodes[0]]
        arity = len(arguments) if row.arity is None else row.arity
        names = [f.name for f in fields(row.attrs)]
        attrs = {**dict(zip(names, arguments[arity:], strict=False)), **attrs}
        operands = arguments[:arity]
        if any(isinstance(o, Instruction) for o in operands):
            return self._new(operands, shape, attrs)
        unknown = attrs.keys() - set(names) - set(row.called)
        if unknown or len(arguments) > arity + len(names) or len(operands) < arity:
            raise TypeError(f"{row.name} takes {arity} operands and the attributes {names}")
        return Application(self.opcodes, tuple(map(term, operands)), tuple(attrs.items()), shape)

    def _new(
        self, operands: tuple[Any, ...], shape: Shape | None, attrs: dict[str, Any]
    ) -> Instruction:
        keys = OPCODES[self.opcodes[0]].called
        called = tuple(attrs.pop(key) for key in keys if key in attrs)
        return make(self.opcodes[0], *operands, shape=shape, called=called, **attrs)


def one_of(*constructors: Constructor) -> Constructor:
    """A constructor of patterns that match any of several opcodes of one kind."""
    return Constructor(tuple(opcode for one in constructors for opcode in one.opcodes))


CONSTRUCTORS: Final = {python_name(opcode): Constructor((opcode,)) for opcode in OPCODES}


globals().update(CONSTRUCTORS)
if TYPE_CHECKING:

    def __getattr__(name: str) -> Constructor:
        """The constructor of an opcode: `from optimizer.rewriting.pattern import add, dot`."""
        ...


x, y, z, a, b = (Variable(letter) for letter in "xyzab")
c, c1, c2, c3 = (ConstantVariable(name) for name in ("c", "c1", "c2", "c3"))
p, q, r, f, g = (AttributeVariable(letter) for letter in "pqrfg")
xs = Rest("xs")
ROOT = Variable("root")
