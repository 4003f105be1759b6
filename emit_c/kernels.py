"""Kernels: C functions that each compute some arrays from others, and are emitted once if equal.

Two kernels are equal if they differ only in the names of what they take and compute; so the layers
of a transformer share theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from emit_c.blocked import in_blocks
from emit_c.body import Body, Environment, Trace, Writer
from emit_c.indexing import delinear, linear
from emit_c.loops import For, Statement, live, text, vectorized
from emit_c.names import Names, comment
from emit_c.parallel import split
from emit_c.table import Scalar, emits_c
from emit_c.traversal import write_nest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from emit_c.body import Values
    from emit_c.constants import Constants
    from emit_c.indexing import Index
    from hlo.instruction import Instruction
    from hlo.shape import Shape

_LET = re.compile(r"^ *const \w+ (\w+) = .*;\n", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_SAME_ORDER = {"copy", "opt-barrier", "domain", "reshape", "add-dependency"}


class Scope:
    """A computation while its kernels are emitted: what of it is in memory already.

    Attributes
    ----------
    values : pointers in the C function that calls the kernels, nested as the shape is.
    targets : numbers of the outputs that are to hold an instruction's value, nested likewise.
    outer, arguments : for a computation that is fused: the scope around it, and what its
        parameters stand for there.
    """

    def __init__(
        self, outer: Scope | None = None, arguments: Mapping[Instruction, Instruction] | None = None
    ) -> None:
        self.values: dict[Instruction, object] = {}
        self.targets: dict[Instruction, object] = {}
        self.outer = outer
        self.arguments = dict(arguments or {})

    def tree(self, instr: Instruction) -> object:
        """Where an instruction's value is; None if it is not in memory."""
        if instr in self.values:
            return self.values[instr]
        if self.outer and instr in self.arguments:
            return self.outer.tree(self.arguments[instr])
        return None


@dataclass(frozen=True, slots=True)
class Argument:
    """What a kernel is given: its C type, its name in the kernel, and the caller's pointer."""

    kind: str
    name: str
    pointer: str


class Kernel:
    """A kernel in the making.

    Parameters
    ----------
    scope : of the instructions that it computes.
    """

    def __init__(self, constants: Constants, scope: Scope) -> None:
        self.names = Names()
        self.scope = scope
        self.arguments: dict[str, Argument] = {}
        self.writer = Writer(self.names, constants)
        self.body = Body(self.writer, self._environment(scope))

    def _environment(self, scope: Scope) -> Environment:
        environment = Environment()
        environment.pointers = Inputs(self, scope.values)
        if scope.outer:
            outer = self._environment(scope.outer)
            environment.aliases = {p: (outer, o) for p, o in scope.arguments.items()}
        return environment

    def argument(self, kind: str, pointer: str, wanted: str) -> str:
        """The name in the kernel of a pointer that its caller has."""
        if pointer not in self.arguments:
            self.arguments[pointer] = Argument(kind, self.names.unique(wanted), pointer)
        return self.arguments[pointer].name

    def output(self, shape: Shape, pointer: str, wanted: str) -> str:
        """The name in the kernel of an array that it writes."""
        return self.argument(f"{shape.element_type} *restrict ", pointer, wanted)


class Inputs(Mapping["Instruction", object]):
    """The arrays in memory of one scope; each becomes an argument of the kernel when asked for."""

    def __init__(self, kernel: Kernel, values: Mapping[Instruction, object]) -> None:
        self._kernel, self._values = kernel, values

    def __getitem__(self, instr: Instruction) -> object:
        """The names in the kernel of an instruction's pointers."""
        return self._named(instr.shape, self._values[instr], instr.name)

    def _named(self, shape: Shape, tree: object, name: str) -> object:
        if isinstance(tree, tuple):
            pairs = zip(shape.elements, cast("tuple[object, ...]", tree), strict=True)
            return tuple(self._named(s, t, name) for s, t in pairs)
        if tree is None:
            return None
        return self._kernel.argument(f"const {shape.element_type} *restrict ", str(tree), name)

    def __contains__(self, instr: object) -> bool:
        """Whether an instruction's value is in memory."""
        return instr in self._values

    def __iter__(self) -> Iterator[Instruction]:
        """All instructions in memory."""
        return iter(self._values)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._values)


class Kernels:
    """The kernels of a module, in the order in which they are first needed."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.functions: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def _own(self, kernel: Kernel, body: str) -> str:
        """Add the functions that belong to a kernel; gives its body with their final names."""
        final: dict[str, str] = {}
        for name, definition in kernel.writer.functions.items():
            known = _without_unused(_renamed(definition, final))
            key = _anonymous(known, kernel)
            if key not in self._names:
                unique = self._names[key] = self.names.unique(name, "kernel")
                self.functions[unique] = _renamed(known, {name: unique})
            final[name] = self._names[key]
        return _renamed(body, final)

    def add(self, kernel: Kernel, name: str, about: str, statements: Sequence[Statement]) -> str:
        """The name of a function with a kernel's body; an equal one, if there is one already."""
        parameters = ", ".join(f"{a.kind}{a.name}" for a in kernel.arguments.values()) or "void"
        status = "  return 0;\n" if kernel.writer.patience else ""
        parts = split(kernel, name, in_blocks(kernel.body, statements))
        body = _without_unused(self._own(kernel, f"({parameters}) {{\n{text(parts)}{status}}}\n"))
        key = _anonymous(body, kernel)
        if key not in self._names:
            unique = self.names.unique(name, "kernel")
            self._names[key] = unique
            result = "int" if kernel.writer.patience else "void"
            self.functions[unique] = f"{comment(about)}static {result} {unique}{body}"
        return self._names[key]


def _without_unused(body: str) -> str:
    """A function's text without values that nobody uses: what asked for them found another way."""
    counts = Counter(_WORD.findall(body))
    unused = {name for name in _LET.findall(body) if counts[name] == 1}
    if not unused:
        return body
    return _without_unused(_LET.sub(lambda m: "" if m[1] in unused else m[0], body))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: names.get(match[0], match[0]), text)


def _anonymous(body: str, kernel: Kernel) -> str:
    """The text with the kernel's own names numbered as they come."""
    own = kernel.names.given
    numbers: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        word = match[0]
        return numbers.setdefault(word, f"${len(numbers)}") if word in own else word

    return _WORD.sub(renamed, body)


def write_loops(
    kernel: Kernel, results: Sequence[tuple[Instruction, Sequence[str]]]
) -> tuple[Statement, ...]:
    """One loop nest over the elements of arrays of equal sizes.

    Parameters
    ----------
    results : instructions, each with the kernel's pointers to the arrays of its value. Those of
        other dimensions than the first have their elements in the same row-major order.
    """
    body = kernel.body
    shape = _leaf(results[0][0])
    flat = all(is_flat(body, instr) for instr, _ in results)

    def write(index: Index) -> None:
        with body.block() as statements:
            made: list[tuple[Instruction, Sequence[str], Values]] = []
            for instr, pointers in results:
                here = _renumbered(index, shape, _leaf(instr))
                made.append((instr, pointers, body.elements(instr, here)))
            number = linear(index, shape.dims).text
            for instr, pointers, values in made:
                shapes = [s for _, s in instr.shape.leaves()]
                for leaf, pointer, value in zip(shapes, pointers, values, strict=True):
                    place = f"{pointer}[{number}]"
                    body.assign(place, body.stored(leaf.element_type, value))
        body.add(*live(statements))

    if flat:
        with body.loops(["i"], [shape.size], parallel=True) as index:
            write(index)
    else:
        write_nest(body, shape.dims, write, lambda index: _traced(kernel, results, index))
    return vectorized(kernel.writer.blocks[0])


def _traced(
    kernel: Kernel, results: Sequence[tuple[Instruction, Sequence[str]]], index: Index
) -> Trace:
    """What the elements at an index take to compute, found in a kernel that nobody uses."""
    probe = Kernel(kernel.writer.constants, kernel.scope)
    probe.writer.trace = trace = Trace()
    with probe.body.block() as statements:
        for instr, _ in results:
            shape = _leaf(results[0][0])
            probe.body.elements(instr, _renumbered(index, shape, _leaf(instr)))
    trace.statements = len(statements)
    trace.straight = not any(isinstance(s, For) for s in statements)
    return trace


def _renumbered(index: Index, shape: Shape, wanted: Shape) -> Index:
    """The index, in one shape, of the element that has an index in another one."""
    if shape.dims == wanted.dims or len(index) != shape.rank:
        return index
    return delinear(linear(index, shape.dims), wanted.dims)


def _leaf(instr: Instruction) -> Shape:
    return next(s for _, s in instr.shape.leaves())


def is_flat(body: Body, root: Instruction) -> bool:
    """Whether elements are computed from those with the same row-major number, or from scalars."""
    size = _leaf(root).size
    stack, seen = [(body, root)], {root}
    while stack:
        here, instr = stack.pop()
        environment = here.environment
        if instr in environment.aliases:
            outer, source = environment.aliases[instr]
            stack.append((Body(here.writer, outer), source))
            continue
        if instr not in environment.pointers and _is_splat(here, instr):
            continue
        if instr.shape.size != size or not (instr in environment.pointers or _is_flat_step(instr)):
            return False
        if instr in environment.pointers:
            continue
        for operand in instr.operands:
            if operand not in seen and (operand.shape.rank or not instr.shape.rank):
                seen.add(operand)
                stack.append((here, operand))
    return True


def _is_flat_step(instr: Instruction) -> bool:
    return isinstance(emits_c.get(instr.opcode), Scalar) or instr.opcode in _SAME_ORDER


def _is_splat(body: Body, instr: Instruction) -> bool:
    """Whether an instruction repeats one number without looking at the index."""
    if instr.opcode == "constant":
        return body.writer.constants.scalar(instr.attrs.literal) is not None  # type: ignore[attr-defined]
    return instr.opcode == "broadcast" and instr.operands[0].shape.rank == 0
