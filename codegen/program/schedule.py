"""A computation becomes steps: which kernels it calls, in which order, on which buffers.

Outside a fusion every instruction gets a kernel, and writes into the buffer that it is assigned; of
what only renames memory (tuples, reshapes) nothing is seen. A fusion is a computation of which only
some values get buffers: its outputs, and inside it what would else be computed over and over.

An emitter says what a step is, how it calls a kernel, and how loops over elements are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from codegen.dead_stores import only_stored
from codegen.elements.constants import literal_of
from codegen.elements.kernel import Argument, Scope
from codegen.elements.table import WholeArray as KernelEntry
from codegen.elements.table import elemental
from codegen.kinds import Pointer
from codegen.program.placement import in_memory, read_from_memory
from codegen.program.trees import branch, leaves, nested
from hlo import attributes as a
from hlo.effects import has_effect
from hlo.errors.error import HloError
from hlo.opcode import SAME_ORDER
from hlo.wording import with_article
from optimizer.analysis.alias import renames
from optimizer.analysis.dataflow import Several, Value
from optimizer.memory.heap import Block, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from codegen.elements.constants import Constants
    from codegen.elements.kernel import Kernel
    from codegen.elements.names import Names
    from codegen.elements.table import Entry
    from codegen.expressions import Name
    from codegen.program.buffers import Home, Memory
    from codegen.statements import Statement
    from hlo.instruction import Computation, Instruction
    from hlo.table import OpTable
    from hlo.types.literal import Literal
    from hlo.types.shape import Shape
    from optimizer.memory.buffers import Buffer

    Control = Callable[[Any, Instruction], None]

Pointers = list[str | None]
# These hand on their operand's memory.
_ALIASES = SAME_ORDER - {"bitcast"}


@dataclass(slots=True)
class Local:
    """Memory that is live inside of one instruction, from its first step to its last."""

    bytes: int
    kind: str
    first: int
    last: int


class Schedule:
    """The steps of one computation in the making, kernel by kernel.

    Parameters
    ----------
    names : of pointers, none of which is taken yet.

    Attributes
    ----------
    table : how the emitter writes each opcode.
    control : how it writes loops, branches and calls.
    steps : what the computation does, one after the other.
    scope : what of the computation is in memory.
    locals : memory that the instruction at hand needs for itself, by the pointers to it.
    """

    table: ClassVar[OpTable[Entry]]
    control: ClassVar[Mapping[str, Control]] = {}

    def __init__(
        self, memory: Memory, constants: Constants, names: Names, computation: Computation
    ) -> None:
        self.memory, self.constants = memory, constants
        self.names, self.computation = names, computation
        self.steps: list[tuple[Any, ...]] = []
        self.scope = Scope()
        self.locals: dict[str, Local] = {}
        self._known: dict[tuple[Buffer, str], str] = {}

    # ------------------------------------------------------- the emitter's part

    def declare(self, name: str, kind: str, home: Home, offset: int = 0, *, const: bool) -> None:
        """Let a pointer to elements of a type lead into some memory, so many bytes into it."""
        raise NotImplementedError

    def copy_step(self, target: str, source: str, size: int) -> Any:
        """A step that copies some bytes."""
        raise NotImplementedError

    def new_kernel(self, scope: Scope) -> Kernel:
        """A kernel in the making."""
        raise NotImplementedError

    def call_kernel(
        self, kernel: Kernel, instr: Instruction, statements: Sequence[Statement]
    ) -> None:
        """Add a kernel to the module, and a step that calls it."""
        raise NotImplementedError

    def write_elements(self, scope: Scope, instr: Instruction, pointers: Pointers) -> None:
        """A kernel that computes an instruction element by element."""
        raise NotImplementedError

    def write_special(
        self,
        kernel: Kernel,  # noqa: ARG002
        instr: Instruction,  # noqa: ARG002
        outputs: Sequence[Name],  # noqa: ARG002
    ) -> bool:
        """Write a whole array by a kernel of the emitter's own; whether that was done."""
        return False

    def write_together(self, inner: Scope, instr: Instruction, target: object) -> bool:  # noqa: ARG002
        """Write all results of a fusion by one kernel; whether that was done."""
        return False

    # ------------------------------------------------------------------ memory

    def unread(self, instr: Instruction) -> tuple[int, ...]:
        """The leaves of an instruction's shape that nobody reads; () where nobody reads any."""
        flow = self.memory.buffers.flow
        leaves = flow.at.get(instr, ())
        numbers = tuple(n for n, value in enumerate(leaves) if value in flow.unread)
        return numbers if len(numbers) < len(leaves) else ()

    def dead_stores(
        self, kernel: Kernel, instr: Instruction, statements: Iterable[Statement]
    ) -> Collection[str]:
        """The arrays that a kernel of an instruction only stores to, and that nobody reads."""
        shown = self.memory.buffers.flow.at.get(instr, ())
        pointers = [self.pointer(shown[n], instr.name) for n in self.unread(instr)]
        arrays = [kernel.arguments[p].name for p in pointers if p in kernel.arguments]
        return only_stored(statements, arrays) if arrays else ()

    def pointers_of(self, instr: Instruction) -> object:
        """The targets of an instruction's value; None if it has no memory."""
        shown = self.memory.buffers.flow.at[instr]
        if any(isinstance(leaf, Several) for leaf in shown):
            return None
        return nested(instr.shape, (self.pointer(leaf, instr.name) for leaf in shown))

    def is_constant(self, loop: Instruction) -> bool:
        """Whether a loop hands on all of its state unchanged."""
        shown = self.memory.buffers.flow.at[loop]
        return bool(shown) and not any(
            isinstance(v, Value) and v.instruction is loop for v in shown
        )

    def pointer(self, value: object, wanted: str) -> str | None:
        """The pointer to a value, declared when it is first used; None for a token."""
        if not isinstance(value, Value):
            return None
        if value.kind == "constant":
            return self._constant(value)
        buffer = self.memory.buffers.of[value]
        kind = str(value.shape.element_type)
        if (buffer, kind) not in self._known:
            name = self._known[buffer, kind] = self.names.unique(wanted)
            self.declare(name, kind, buffer, const=bool(buffer.fixed))
        return self._known[buffer, kind]

    def _constant(self, value: Value) -> str:
        literal = literal_of(value.instruction)
        index = [i for i, _ in value.instruction.shape.leaves()][value.leaf]
        for element in index:
            literal = literal.elements[element]
        return self.constants.pointer(literal, value.instruction.name)

    def local(self, size: int, wanted: str, kind: str = "u8") -> str:
        """Memory for the instruction that is being written; gives the pointer to it."""
        name = self.names.unique(wanted)
        self.locals[name] = Local(size, kind, len(self.steps), len(self.steps))
        return name

    def settle_local(self, instr: Instruction) -> None:
        """Place the memory that an instruction needs for itself in the instruction's scratch."""
        if not self.locals:
            return
        blocks = [Block(local.bytes, [(local.first, local.last)]) for local in self.locals.values()]
        offsets, size = pack(blocks)
        self.memory.scratch[instr] = size
        for (name, local), offset in zip(self.locals.items(), offsets, strict=True):
            self.declare(name, local.kind, instr, offset, const=False)
        self.locals.clear()

    def arrays(self, shape: Shape, target: object, name: str) -> object:
        """The arrays of a value inside of a fusion: those of the fusion's result, or local ones."""
        if shape.is_tuple:
            targets = (
                cast("tuple[object, ...]", target)
                if isinstance(target, tuple)
                else (None,) * len(shape.elements)
            )
            pairs = zip(shape.elements, targets, strict=True)
            return tuple(self.arrays(s, t, f"{name}_{i}") for i, (s, t) in enumerate(pairs))
        if not shape.is_array or target:
            return target
        return self.local(shape.size * shape.element_type.bytes, name, str(shape.element_type))

    def step(self, *things: Any, uses: Iterable[str] = ()) -> None:
        """The next thing to do."""
        for name in uses:
            if name in self.locals:
                self.locals[name].last = len(self.steps)
        self.steps.append(things)

    def copy(self, targets: Pointers, sources: Pointers, shape: Shape) -> None:
        """Copy arrays to where they are not already."""
        triples = zip(targets, sources, shape.leaves(), strict=True)
        for target, source, (_, leaf) in triples:
            size = leaf.size * leaf.element_type.bytes if leaf.is_array else 0
            if target and source and target != source and size:
                self.step(self.copy_step(target, source, size), uses=[target, source])

    def give_scratch(self, kernel: Kernel, size: int) -> None:
        """Give a kernel some bytes of the arena, if it needs any."""
        if size:
            pointer = self.local(size, "room")
            kernel.arguments[pointer] = Argument(Pointer("u8", restrict=True), "scratch", pointer)

    # ------------------------------------------------------------ instructions

    def write(self) -> None:
        """Go through the computation."""
        read = read_from_memory(self.table, self.computation)
        for instr in self.computation.instructions:
            if instr.opcode == "constant" and instr not in read:
                continue
            try:
                self._write_sequential(instr)
            except HloError as error:
                raise error.at(instr.span) from None
            self.settle_local(instr)
            self.written()

    def written(self) -> None:
        """Take note that one more instruction is written."""

    def _write_sequential(self, instr: Instruction) -> None:
        """Write an instruction outside of fusions, whose buffer is known."""
        scope = self.scope
        tree = self.pointers_of(instr)
        if tree is None and not (instr.shape.is_token and has_effect(instr)):
            return
        scope.targets[instr] = tree
        if instr.opcode in self.control:
            self.control[instr.opcode](self, instr)
        elif instr.opcode in ("copy", "copy-start") and scope.pointers_of(instr.operands[0]):
            source, shape = scope.pointers_of(instr.operands[0]), instr.operands[0].shape
            target = branch(tree, 0) if instr.opcode == "copy-start" else tree
            if instr not in self.memory.spared:
                self.copy(leaves(target, shape), leaves(source, shape), shape)
        elif self._takes_kernels(instr):
            self.compute(scope, instr)
        scope.values[instr] = tree

    def _takes_kernels(self, instr: Instruction) -> bool:
        """Whether something has to be computed for an instruction."""
        memory, entry = self.memory, self.table.get(instr.opcode)
        if instr in memory.spared or instr.opcode == "constant":
            return False
        if instr.opcode == "fusion" or isinstance(entry, KernelEntry):
            return True
        return elemental(self.table, instr.opcode) and not memory.buffers.info.forwards(instr)

    def compute(self, scope: Scope, instr: Instruction) -> None:
        """Write the kernels of an instruction."""
        if instr.opcode == "fusion":
            self._write_fusion(scope, instr)
        elif isinstance(self.table.get(instr.opcode), KernelEntry):
            self._write_kernel(scope, instr)
        else:
            self._write_loops(scope, instr)

    def _write_fusion(self, scope: Scope, instr: Instruction) -> None:
        """Write a fusion, or a call inside of one, as kernels for the values that are stored."""
        called = instr.called[0]
        inner = Scope(scope, dict(zip(called.parameters, instr.operands, strict=True)))
        target = scope.targets.get(instr)
        if target is not None and self.write_together(inner, instr, target):
            scope.values[instr] = target
            return
        _aim(inner, called.root, target)
        chosen = in_memory(self.table, called)
        for instruction in called.instructions:
            if instruction.opcode != "parameter":
                self._write_fused(inner, instruction, wanted=instruction in chosen)
        scope.values[instr] = inner.pointers_of(called.root)
        if target is None:
            return
        # A value that the fusion only hands on was not computed in its place.
        value = scope.values[instr]
        self.copy(leaves(target, instr.shape), leaves(value, instr.shape), instr.shape)
        scope.values[instr] = target

    def _write_fused(self, scope: Scope, instr: Instruction, *, wanted: bool) -> None:
        tree = self._renamed(scope, instr)
        if tree is not None:
            scope.values[instr] = tree
        elif instr.opcode in ("fusion", "call"):
            self._write_fusion(scope, instr)
        elif instr.opcode == "constant":
            if wanted:
                scope.values[instr] = self._constants(literal_of(instr), instr.name)
        elif instr.opcode in self.control:
            raise HloError(
                "HLO181", f"{instr.name}: {with_article(instr.opcode)} inside a fusion", instr.span
            )
        elif wanted and isinstance(self.table.get(instr.opcode), KernelEntry):
            self._write_kernel(scope, instr)
        elif wanted:
            self._write_loops(scope, instr)

    def _constants(self, literal: Literal, name: str) -> object:
        """The addresses of a constant's arrays."""
        if literal.shape.is_tuple:
            return tuple(self._constants(e, name) for e in literal.elements)
        return self.constants.pointer(literal, name) if literal.shape.is_array else None

    def _renamed(self, scope: Scope, instr: Instruction) -> object:
        """The memory of a fused instruction that needs none of its own; None if it does."""
        operand = scope.pointers_of(instr.operands[0]) if instr.operands else None
        if instr.opcode == "tuple":
            trees = tuple(scope.pointers_of(o) for o in instr.operands)
            known = [
                t is not None or not o.shape.is_array
                for t, o in zip(trees, instr.operands, strict=True)
            ]
            return trees if all(known) else None
        if instr.opcode == "after-all":
            return ()
        if instr.opcode == "get-tuple-element":
            attrs = a.GetTupleElement.of(instr)
            return branch(operand, attrs.index) if operand else None
        if instr.opcode == "bitcast":
            return operand if renames(instr) else None
        return operand if instr.opcode in _ALIASES else None

    def _write_loops(self, scope: Scope, instr: Instruction) -> None:
        """A kernel that computes elements."""
        tree = self.arrays(instr.shape, scope.targets.get(instr), instr.name)
        if any(s.size for _, s in instr.shape.leaves()):
            self.write_elements(scope, instr, leaves(tree, instr.shape))
        scope.values[instr] = tree

    def _write_kernel(self, scope: Scope, instr: Instruction) -> None:
        """A kernel that writes whole arrays in its own way."""
        entry = cast("KernelEntry", self.table[instr.opcode])
        tree = self.arrays(instr.shape, scope.targets.get(instr), instr.name)
        shapes = [s for _, s in instr.shape.leaves()]
        if all(s.size == 0 for s in shapes) and not has_effect(instr):
            scope.values[instr] = tree
            return
        kernel = self.new_kernel(scope)
        outputs = kernel.outputs(instr, leaves(tree, instr.shape))
        scope.values[instr] = tree
        if self.write_special(kernel, instr, outputs):
            return
        needed = entry.write(kernel.body, instr, outputs)
        self.give_scratch(kernel, needed or 0)
        self.call_kernel(kernel, instr, tuple(kernel.writer.blocks[0]))


def _aim(scope: Scope, root: Instruction, target: object) -> None:
    """Let instructions write into the outputs that are to hold their values."""
    stack = [(root, target)]
    while stack:
        instr, aimed = stack.pop()
        if aimed is None or instr in scope.targets or instr.opcode == "parameter":
            continue
        scope.targets[instr] = aimed
        if instr.opcode == "tuple":
            stack += zip(instr.operands, cast("tuple[object, ...]", aimed), strict=True)
        elif instr.opcode in _ALIASES or (instr.opcode == "bitcast" and renames(instr)):
            stack.append((instr.operands[0], aimed))
