"""A computation becomes a C function: which kernels it calls, in which order, on which buffers.

Outside a fusion every instruction gets a kernel, and writes into the buffer that it is assigned; of
what only renames memory (tuples, reshapes) nothing is seen. A fusion is a computation of which only
some values get buffers: its outputs, and inside it what would else be computed over and over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from emit_c.code.loops import Call, If, Let, Statement, Try, text
from emit_c.code.names import Names
from emit_c.kernels.kernel import Argument, Kernel, Scope
from emit_c.kernels.writing import write_loops
from emit_c.program.buffers import renames
from emit_c.program.control import CONTROL
from emit_c.program.placement import in_memory, read_from_memory
from emit_c.program.sites import site
from emit_c.program.swapping import turn_in_swapped_places
from emit_c.program.sweeps import common_loops, write_sweeps
from emit_c.program.trees import branch, leaves, nested
from emit_c.table import Element, elemental, emits_c
from emit_c.table import Kernel as KernelEntry
from hlo.error import HloError
from hlo.print import Options, print_instruction
from optimizer.analysis.dataflow import Several, Value
from optimizer.memory.heap import Block, pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from emit_c.program.emit import ModuleWriter
    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.literal import Literal
    from hlo.shape import Shape
    from optimizer.fusion.nest import Nest
    from optimizer.memory.buffers import Buffer

Pointers = list[str | None]
# These hand on their operand's memory.
_ALIASES = {"copy", "opt-barrier", "domain", "add-dependency", "reshape"}
# Instructions that a kernel's comment lists at most.
MOST_LINES = 40
_WORD = re.compile(r"\w+")
_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)


@dataclass(slots=True)
class Local:
    """Memory inside one instruction: from its first step to its last."""

    bytes: int
    kind: str
    first: int
    last: int


class Function:
    """The C function of one computation in the making.

    Attributes
    ----------
    name : in C.
    """

    def __init__(self, module: ModuleWriter, computation: Computation, name: str) -> None:
        self.module, self.computation, self.name = module, computation, name
        self.names = Names()
        self.steps: list[tuple[Statement, ...]] = []
        self.scope = Scope()
        self.declared: dict[str, str] = {}
        self._known: dict[tuple[Buffer, str], str] = {}
        self._local: dict[str, Local] = {}

    # ------------------------------------------------------------------ memory

    def tree(self, instr: Instruction) -> object:
        """Where the arrays of an instruction's value lie; None if it has no memory."""
        shown = self.module.memory.buffers.flow.at[instr]
        if any(isinstance(leaf, Several) for leaf in shown):
            return None
        return nested(instr.shape, (self.pointer(leaf, instr.name) for leaf in shown))

    def callee(self, computation: Computation) -> str:
        """The name of a computation's C function."""
        return self.module.function(computation).name

    def turn_in_swapped_places(self, loop: Instruction, ended: str) -> Sequence[Statement]:
        """Another turn of a loop, if each second one works on other buffers."""
        return turn_in_swapped_places(self, loop, ended)

    def is_constant(self, loop: Instruction) -> bool:
        """Whether a loop hands on all of its state unchanged."""
        shown = self.module.memory.buffers.flow.at[loop]
        return bool(shown) and not any(
            isinstance(v, Value) and v.instruction is loop for v in shown
        )

    def pointer(self, value: object, wanted: str) -> str | None:
        """The pointer to a value, declared when it is first asked for; None for a token."""
        if not isinstance(value, Value):
            return None
        if value.kind == "constant":
            return self._constant(value)
        buffer = self.module.memory.buffers.of[value]
        kind = str(value.shape.element_type)
        if (buffer, kind) not in self._known:
            name = self._known[buffer, kind] = self.names.unique(wanted)
            const = "const " if buffer.fixed else ""
            place = self.module.memory.place(buffer)
            self.declared[name] = f"{const}{kind} *{name} = ({const}{kind} *){place};"
        return self._known[buffer, kind]

    def _constant(self, value: Value) -> str:
        """Where a constant lies."""
        attrs: a.Constant = value.instruction.attrs  # type: ignore[assignment]
        literal = attrs.literal
        index = [i for i, _ in value.instruction.shape.leaves()][value.leaf]
        for element in index:
            literal = literal.elements[element]
        return self.module.constants.pointer(literal, value.instruction.name)

    def local(self, size: int, wanted: str, kind: str = "u8") -> str:
        """Memory for the instruction that is being written; gives the pointer to it."""
        name = self.names.unique(wanted)
        self._local[name] = Local(size, kind, len(self.steps), len(self.steps))
        return name

    def _settle_local(self, instr: Instruction) -> None:
        """Give what an instruction needs for itself its place in the instruction's scratch."""
        if not self._local:
            return
        blocks = [Block(each.bytes, [(each.first, each.last)]) for each in self._local.values()]
        offsets, size = pack(blocks)
        place = self.module.memory.scratch_for(instr, size)
        for (name, each), offset in zip(self._local.items(), offsets, strict=True):
            behind = f" + {offset}" if offset else ""
            value = f"({each.kind} *)({place}{behind})"
            self.declared[name] = f"{each.kind} *{name} = {value};"
        self._local.clear()

    def arrays(self, shape: Shape, target: object, name: str) -> object:
        """Arrays for a value inside a fusion: those it is aimed at, or local ones."""
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

    def step(self, *statements: Statement, uses: Iterable[str] = ()) -> None:
        """The next thing to do."""
        for name in uses:
            if name in self._local:
                self._local[name].last = len(self.steps)
        self.steps.append(statements)

    # ------------------------------------------------------------ instructions

    def write(self) -> None:
        """Go through the computation."""
        if self.name == "run":
            self.step(*self.module.prologue)
            self._take_donated()
        read = read_from_memory(self.computation)
        for instr in self.computation.instructions:
            if instr.opcode == "constant" and instr not in read:
                continue
            try:
                self._write_sequential(instr)
            except HloError as error:
                raise error.at(instr.span) from None
            self._settle_local(instr)

    def _take_donated(self) -> None:
        """Bring donated arguments to where the results will be, if they are not there."""
        arguments = [s for p in self.computation.parameters for _, s in p.shape.leaves()]
        for result, number in self.module.memory.donated.items():
            there, here, size = f"out[{result}]", f"in[{number}]", arguments[number].bytes
            copy = Call("__builtin_memcpy", (there, here, str(size)))
            self.step(If(f"{there} != {here}", (copy,)))

    def _write_sequential(self, instr: Instruction) -> None:
        """An instruction outside of fusions: where it lies is known."""
        scope, rules = self.scope, self.module.memory.buffers.info
        tree = self.tree(instr)
        if tree is None:
            return
        scope.targets[instr] = tree
        if instr.opcode in CONTROL:
            CONTROL[instr.opcode](self, instr)
        elif instr.opcode == "fusion":
            self._write_fusion(scope, instr)
        elif instr in self.module.memory.spared:
            pass
        elif instr.opcode in ("copy", "copy-start") and scope.tree(instr.operands[0]):
            source, shape = scope.tree(instr.operands[0]), instr.operands[0].shape
            target = branch(tree, 0) if instr.opcode == "copy-start" else tree
            self.copy(leaves(target, shape), leaves(source, shape), shape)
        elif isinstance(emits_c.get(instr.opcode), KernelEntry):
            self._write_kernel(scope, instr)
        elif elemental(instr.opcode) and instr.opcode != "constant" and not rules.forwards(instr):
            self._write_loops(scope, instr)
        scope.values[instr] = tree

    def write_in_variables(self, loop: Instruction) -> None:
        """One kernel for a loop whose state consists of scalars, which it keeps in C variables."""
        kernel = Kernel(self.module.constants, self.scope)
        pairs = zip(leaves(self.tree(loop), loop.shape), loop.shape.leaves(), strict=True)
        outputs = [kernel.output(s, pointer, loop.name) for pointer, (_, s) in pairs if pointer]
        kernel.writer.patience = kernel.body.variable("struct hlo_patience", "patience", "{0}")
        self._call(kernel, loop, write_loops(kernel, [(loop, outputs)]))

    def copy(self, targets: Pointers, sources: Pointers, shape: Shape) -> None:
        """Copy arrays to where they are not already."""
        triples = zip(targets, sources, shape.leaves(), strict=True)
        for target, source, (_, leaf) in triples:
            size = leaf.size * leaf.element_type.bytes if leaf.is_array else 0
            if target and source and target != source and size:
                call = Call("__builtin_memcpy", (target, source, str(size)))
                self.step(call, uses=[target, source])

    def _write_fusion(self, scope: Scope, instr: Instruction) -> None:
        """A fusion, or a call inside of one: kernels for what is stored of it."""
        called = instr.called[0]
        inner = Scope(scope, dict(zip(called.parameters, instr.operands, strict=True)))
        target = scope.targets.get(instr)
        nest = common_loops(called) if target is not None else None
        if nest is not None:
            self._write_sweeps(inner, instr, nest)
            scope.values[instr] = target
            return
        _aim(inner, called.root, target)
        chosen = in_memory(called)
        for each in called.instructions:
            if each.opcode != "parameter":
                self._write_fused(inner, each, wanted=each in chosen)
        scope.values[instr] = inner.tree(called.root)
        if target is None:
            return
        # What the fusion only hands on was not computed where it is to be.
        made = scope.values[instr]
        self.copy(leaves(target, instr.shape), leaves(made, instr.shape), instr.shape)
        scope.values[instr] = target

    def _write_sweeps(self, inner: Scope, instr: Instruction, nest: Nest) -> None:
        """One kernel for all that a fusion yields."""
        assert inner.outer is not None
        root = instr.called[0].root
        results = root.operands if root.opcode == "tuple" else (root,)
        kernel = Kernel(self.module.constants, inner)
        outputs: dict[Instruction, list[str]] = {}
        pointers = leaves(inner.outer.targets[instr], instr.shape)
        for result, pointer in zip(results, pointers, strict=True):
            name = kernel.output(result.shape, str(pointer), result.name)
            outputs.setdefault(result, []).append(name)
        self._call(kernel, instr, write_sweeps(kernel, nest, outputs))

    def _write_fused(self, scope: Scope, instr: Instruction, *, wanted: bool) -> None:
        tree = self._renamed(scope, instr)
        if tree is not None:
            scope.values[instr] = tree
        elif instr.opcode in ("fusion", "call"):
            self._write_fusion(scope, instr)
        elif instr.opcode == "constant":
            if wanted:
                scope.values[instr] = self._constants(instr.attrs.literal, instr.name)  # type: ignore[attr-defined]
        elif instr.opcode in CONTROL:
            raise HloError("HLO181", f"{instr.name}: a {instr.opcode} inside a fusion", instr.span)
        elif wanted and isinstance(emits_c.get(instr.opcode), KernelEntry):
            self._write_kernel(scope, instr)
        elif wanted:
            self._write_loops(scope, instr)

    def _constants(self, literal: Literal, name: str) -> object:
        """Where the arrays of a constant lie."""
        if literal.shape.is_tuple:
            return tuple(self._constants(e, name) for e in literal.elements)
        return self.module.constants.pointer(literal, name) if literal.shape.is_array else None

    def _renamed(self, scope: Scope, instr: Instruction) -> object:
        """The memory of a fused instruction that needs none of its own; None if it does."""
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
            attrs: a.GetTupleElement = instr.attrs  # type: ignore[assignment]
            return branch(operand, attrs.index) if operand else None
        if instr.opcode == "bitcast":
            return operand if renames(instr) else None
        return operand if instr.opcode in _ALIASES else None

    def _write_loops(self, scope: Scope, instr: Instruction) -> None:
        """A kernel that computes elements."""
        tree = self.arrays(instr.shape, scope.targets.get(instr), instr.name)
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
        tree = self.arrays(instr.shape, scope.targets.get(instr), instr.name)
        shapes = [s for _, s in instr.shape.leaves()]
        if all(s.size == 0 for s in shapes):
            scope.values[instr] = tree
            return
        kernel = Kernel(self.module.constants, scope)
        pairs = zip(shapes, leaves(tree, instr.shape), strict=True)
        outputs = [kernel.output(s, str(p), instr.name) for s, p in pairs if s.is_array]
        needed = entry.write(kernel.body, instr, outputs)
        self._with_scratch(kernel, needed or 0)
        self._call(kernel, instr, tuple(kernel.writer.blocks[0]))
        scope.values[instr] = tree

    def _with_scratch(self, kernel: Kernel, size: int) -> None:
        """Give a kernel some bytes of the arena, if it needs any."""
        if size:
            pointer = self.local(size, "scratch")
            kernel.arguments[pointer] = Argument("u8 *restrict ", "scratch", pointer)

    def _call(self, kernel: Kernel, instr: Instruction, statements: Sequence[Statement]) -> None:
        computed = (
            instr.called[0].instructions if instr.opcode == "fusion" else kernel.writer.computed
        )
        others = [i for i in computed if i is not instr and i.opcode != "parameter"]
        about = "\n".join(print_instruction(i, _SHORT) for i in [*others[:MOST_LINES], instr])
        if kernel.writer.own_bytes:
            kernel.arguments["own"] = Argument("u8 *", "own", "own")
            self.module.slot_bytes = max(self.module.slot_bytes, kernel.writer.own_bytes)
        function = self.module.kernels.add(kernel, instr.name, about, statements)
        pointers = tuple(kernel.arguments)
        call = (Try if kernel.writer.patience else Call)(function, pointers)
        self.step(*self._timed(call, instr, kernel), uses=pointers)

    def _timed(self, call: Call | Try, instr: Instruction, kernel: Kernel) -> Sequence[Statement]:
        """A call, between two looks at the clock where the module is emitted for a profile."""
        sites = self.module.sites
        if sites is None:
            return (call,)
        number = str(len(sites))
        sites.append(site(call.function, instr, kernel.writer.computed))
        begin = self.names.unique("clock")
        return (
            Let("s64", begin, "hlo_clock()"), call, Call("hlo_record", (number, begin)),
        )  # fmt: skip

    # ------------------------------------------------------------------- text

    def finish(self) -> str:
        """The function's text, with addresses still to be filled in."""
        body = text([statement for step in self.steps for statement in step])
        words = set(_WORD.findall(body))
        whole = body
        if used := [line for name, line in self.declared.items() if name in words]:
            whole = "".join(f"  {line}\n" for line in used) + body
        unused = "".join(f"  (void){n};\n" for n in ("in", "out", "arena"))
        arguments = "const void *const *in, void *const *out, u8 *arena"
        if self.name == "run":
            # What the threads need for themselves lies behind the temporary arrays.
            if "own" in words:
                whole = f"  u8 *own = arena + @arena bytes@;\n{whole}"
        else:
            arguments += ", u8 *own"
            unused += "" if "own" in words else "  (void)own;\n"
        signature = f"{self.name}({arguments})"
        static = "" if self.name == "run" else "static "
        return f"{static}int {signature} {{\n{unused}{whole}  return 0;\n}}\n"


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
