"""A computation becomes a C function: which kernels it calls, in which order, on which buffers.

Outside a fusion every instruction gets a kernel and a buffer of its own; what only renames memory
(tuples, reshapes) gets a pointer. A fusion is a computation of which only some values get
buffers: its outputs, and inside it what would else be computed over and over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from emit_c.buffers import Lifetime, assign
from emit_c.control import CONTROL
from emit_c.kernels import Argument, Kernel, Scope, write_loops
from emit_c.loops import Call, Statement, text
from emit_c.movement import memory_order
from emit_c.names import Names
from emit_c.placement import in_memory
from emit_c.table import Element, emits_c
from emit_c.table import Kernel as KernelEntry
from emit_c.trees import branch, leaves, nested, numbered
from hlo.error import HloError
from hlo.print import Options, print_instruction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from emit_c.emit import ModuleWriter
    from emit_c.steady import Steady
    from hlo.attributes import GetTupleElement
    from hlo.instruction import Computation, Instruction
    from hlo.literal import Literal
    from hlo.shape import Shape

# These hand on their operand's memory.
_ALIASES = {"copy", "opt-barrier", "domain", "add-dependency", "reshape"}
# Instructions that a kernel's comment lists at most.
MOST_LINES = 40
_WORD = re.compile(r"\w+")
_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)


class Function:
    """The C function of one computation in the making.

    Attributes
    ----------
    name : in C.
    kept : parts of a loop's state that its body leaves in their buffers.
    arena_bytes : of its temporary arrays; known when it is finished.
    """

    def __init__(
        self, module: ModuleWriter, computation: Computation, name: str, kept: Steady
    ) -> None:
        self.module, self.computation, self.name, self.kept = module, computation, name, kept
        self.in_place = {instr: number for number, instr in kept.in_place.items()}
        self.names = Names()
        self.steps: list[tuple[Statement, ...]] = []
        self.scope = Scope()
        self.declared: dict[str, str] = {}
        self.buffers: dict[str, tuple[int, int]] = {}  # bytes, first step
        self.last_use: dict[str, int] = {}
        self.backing: dict[str, set[str]] = {}
        self.arena_bytes = 0

    # ------------------------------------------------------------------ memory

    def declare(self, kind: str, wanted: str, value: str) -> str:
        """A pointer variable of the function."""
        name = self.names.unique(wanted)
        self.declared[name] = f"{kind} *{name} = {value};"
        return name

    def buffer(self, shape: Shape, wanted: str) -> str:
        """A new array in the arena; gives the pointer to it."""
        name = self.names.unique(wanted)
        self.buffers[name] = (shape.size * shape.element_type.bytes, len(self.steps))
        self.declared[name] = (
            f"{shape.element_type} *{name} = ({shape.element_type} *)(arena + @{name}@);"
        )
        self.last_use[name] = len(self.steps)
        return name

    def scratch(self, size: int, wanted: str = "scratch") -> str:
        """Bytes of the arena for one step."""
        name = self.names.unique(wanted)
        self.buffers[name] = (size, len(self.steps))
        self.declared[name] = f"u8 *{name} = arena + @{name}@;"
        self.last_use[name] = len(self.steps)
        return name

    def allocate(self, scope: Scope, instr: Instruction) -> object:
        """Arrays for an instruction's value: the function's outputs where it is one, or buffers."""
        return self.arrays(instr.shape, scope.targets.get(instr), instr.name)

    def arrays(self, shape: Shape, target: object, name: str) -> object:
        """Arrays for a value: outputs where `target` has their numbers, else buffers."""
        if shape.is_tuple:
            targets = (
                cast("tuple[object, ...]", target)
                if isinstance(target, tuple)
                else (None,) * len(shape.elements)
            )
            pairs = zip(shape.elements, targets, strict=True)
            return tuple(self.arrays(s, t, f"{name}_{i}") for i, (s, t) in enumerate(pairs))
        if not shape.is_array:
            return None
        if isinstance(target, int):
            return self.declare(str(shape.element_type), name, f"out[{target}]")
        return self.buffer(shape, name)

    def used(self, pointers: Iterable[str]) -> None:
        """Keep what some pointers lead to until the step that is now being written."""
        stack, seen = list(pointers), set[str]()
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                self.last_use[name] = len(self.steps)
                stack += self.backing.get(name, ())

    def step(self, *statements: Statement, uses: Iterable[str] = ()) -> None:
        """The next thing to do."""
        self.used(uses)
        self.steps.append(statements)

    # ------------------------------------------------------------ instructions

    def write(self) -> None:
        """Go through the computation."""
        if self.name == "run":
            self.step(*self.module.prologue)
        number = 0
        for parameter in self.computation.parameters:
            found: list[str | None] = []
            for _, shape in parameter.shape.leaves():
                kind = f"const {shape.element_type}"
                value = f"in[{number}]"
                found.append(self.declare(kind, parameter.name, value) if shape.is_array else None)
                number += 1
            self.scope.values[parameter] = nested(parameter.shape, iter(found))
        _aim(self.scope, self.computation.root, numbered(self.computation.root.shape))
        self._write_instructions(self.scope, self.computation, fused=False)
        self._write_results()

    def _write_instructions(self, scope: Scope, computation: Computation, *, fused: bool) -> None:
        chosen = in_memory(computation, fused=fused)
        for instr in computation.instructions:
            if instr.opcode == "parameter":
                continue
            try:
                self._write_instruction(scope, instr, wanted=instr in chosen, fused=fused)
            except HloError as error:
                raise error.at(instr.span) from None

    def _write_instruction(
        self, scope: Scope, instr: Instruction, *, wanted: bool, fused: bool
    ) -> None:
        tree = self._renamed(scope, instr)
        if tree is not None:
            scope.values[instr] = tree
        elif instr.opcode in ("fusion", "call") and (fused or instr.opcode == "fusion"):
            inner = Scope(scope, dict(zip(instr.called[0].parameters, instr.operands, strict=True)))
            root = instr.called[0].root
            _aim(inner, root, scope.targets.get(instr))
            self._write_instructions(inner, instr.called[0], fused=True)
            scope.values[instr] = inner.tree(root)
        elif instr.opcode == "constant":
            if wanted:
                scope.values[instr] = self._constant(instr.attrs.literal, instr.name)  # type: ignore[attr-defined]
        elif instr.opcode in CONTROL:
            CONTROL[instr.opcode](self, scope, instr)
        elif wanted and isinstance(emits_c.get(instr.opcode), KernelEntry):
            self._write_kernel(scope, instr)
        elif wanted:
            self._write_loops(scope, instr)

    def _constant(self, literal: Literal, name: str) -> object:
        """Where a constant lies."""
        if literal.shape.is_tuple:
            return tuple(self._constant(e, name) for e in literal.elements)
        return self.module.constants.pointer(literal, name) if literal.shape.is_array else None

    def _renamed(self, scope: Scope, instr: Instruction) -> object:
        """The memory of an instruction that needs none of its own; None if it does."""
        operand = scope.tree(instr.operands[0]) if instr.operands else None
        if instr.opcode == "tuple":
            trees = tuple(scope.tree(o) for o in instr.operands)
            known = [
                t is not None or not o.shape.is_array
                for t, o in zip(trees, instr.operands, strict=True)
            ]
            return trees if all(known) else None
        if instr.opcode == "after-all":
            return ()
        if instr.opcode == "get-tuple-element":
            attrs: GetTupleElement = instr.attrs  # type: ignore[assignment]
            return branch(operand, attrs.index) if operand else None
        if instr.opcode == "copy-start" and operand:
            return (operand, operand, None)
        if instr.opcode == "copy-done" and operand:
            return branch(operand, 0)
        return operand if instr.opcode in _ALIASES or _renames(instr) else None

    def _write_loops(self, scope: Scope, instr: Instruction) -> None:
        """A kernel that computes elements."""
        tree = self.allocate(scope, instr)
        pointers = leaves(tree, instr.shape)
        shapes = [s for _, s in instr.shape.leaves()]
        if all(s.size == 0 for s in shapes):
            scope.values[instr] = tree
            return
        kernel = Kernel(self.module.constants, scope)
        outputs = [
            kernel.output(s, str(p), instr.name) for s, p in zip(shapes, pointers, strict=True)
        ]
        entry = emits_c[instr.opcode]
        scratch = (
            entry.whole(kernel.body, instr, outputs)
            if isinstance(entry, Element) and entry.whole is not None
            else None
        )
        if scratch is None:
            self._call(kernel, instr, write_loops(kernel, [(instr, outputs)]))
        else:
            self._with_scratch(kernel, scratch)
            self._call(kernel, instr, tuple(kernel.writer.blocks[0]))
        scope.values[instr] = tree

    def _write_kernel(self, scope: Scope, instr: Instruction) -> None:
        """A kernel that writes whole arrays in its own way."""
        entry = cast("KernelEntry", emits_c[instr.opcode])
        tree = self.allocate(scope, instr)
        shapes = [s for _, s in instr.shape.leaves()]
        if all(s.size == 0 for s in shapes):
            scope.values[instr] = tree
            return
        kernel = Kernel(self.module.constants, scope)
        kernel.writer.in_place = instr in self.in_place
        pairs = zip(shapes, leaves(tree, instr.shape), strict=True)
        outputs = [kernel.output(s, str(p), instr.name) for s, p in pairs if s.is_array]
        needed = entry.write(kernel.body, instr, outputs)
        self._with_scratch(kernel, needed or 0)
        self._call(kernel, instr, tuple(kernel.writer.blocks[0]))
        scope.values[instr] = tree

    def _with_scratch(self, kernel: Kernel, size: int) -> None:
        """Give a kernel some bytes of the arena, if it needs any."""
        if size:
            pointer = self.scratch(size)
            kernel.arguments[pointer] = Argument("u8 *restrict ", "scratch", pointer)

    def _call(self, kernel: Kernel, instr: Instruction, statements: Sequence[Statement]) -> None:
        others = [i for i in kernel.writer.computed if i is not instr and i.opcode != "parameter"]
        about = "\n".join(print_instruction(i, _SHORT) for i in [*others[:MOST_LINES], instr])
        if kernel.writer.own_bytes:
            kernel.arguments["own"] = Argument("u8 *", "own", "own")
            self.module.slot_bytes = max(self.module.slot_bytes, kernel.writer.own_bytes)
        function = self.module.kernels.add(kernel, instr.name, about, statements)
        pointers = tuple(kernel.arguments)
        self.step(Call(function, pointers), uses=pointers)

    def _write_results(self) -> None:
        """Copy to the outputs what was not computed there."""
        root = self.computation.root
        pairs = list(
            zip(leaves(self.scope.tree(root), root.shape), root.shape.leaves(), strict=True)
        )
        for number, (pointer, (_, shape)) in enumerate(pairs):
            if pointer is None or not shape.is_array or number in self.kept.leaves:
                continue
            if self.declared.get(pointer, "").endswith(f"= out[{number}];"):
                continue
            size = shape.size * shape.element_type.bytes
            self.step(
                Call("__builtin_memcpy", (f"out[{number}]", pointer, str(size))), uses=[pointer]
            )

    # ------------------------------------------------------------------- text

    def finish(self) -> str:
        """Give the buffers their places; gives the function's text."""
        lifetimes = [
            Lifetime(name, size, first, self.last_use[name])
            for name, (size, first) in self.buffers.items()
        ]
        offsets, self.arena_bytes = assign(lifetimes)
        body = text([statement for step in self.steps for statement in step])
        words = set(_WORD.findall(body))
        whole = body
        if used := [(name, line) for name, line in self.declared.items() if name in words]:
            placed = (line.replace(f"@{n}@", str(offsets.get(n, 0))) for n, line in used)
            whole = "".join(f"  {line}\n" for line in placed) + body
        words = set(_WORD.findall(whole))
        unused = "".join(f"  (void){n};\n" for n in ("in", "out", "arena") if n not in words)
        arguments = "const void *const *in, void *const *out, u8 *arena"
        if self.name == "run":
            # What the threads need for themselves lies behind the temporary arrays.
            if "own" in words:
                whole = f"  u8 *own = arena + {self.arena_bytes};\n{whole}"
        else:
            arguments += ", u8 *own"
            unused += "" if "own" in words else "  (void)own;\n"
        signature = f"{self.name}({arguments})"
        static = "" if self.name == "run" else "static "
        return f"{static}int {signature} {{\n{unused}{whole}  return 0;\n}}\n"

    def arena_for(self, *callees: Function) -> str:
        """The part of the arena that functions called in the next step may use."""
        size = max(callee.arena_bytes for callee in callees)
        return self.scratch(size, "callee_arena") if size else "arena"


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
        elif instr.opcode in _ALIASES or _renames(instr):
            stack.append((instr.operands[0], aimed))


def _renames(instr: Instruction) -> bool:
    """Whether a bitcast or bitcast-convert leaves every element where it is."""
    if instr.opcode != "bitcast":
        return False
    source, target = instr.operands[0].shape, instr.shape
    same = source.element_type is target.element_type
    ordered = all(memory_order(s) == tuple(range(s.rank)) for s in (source, target))
    return same and ordered
