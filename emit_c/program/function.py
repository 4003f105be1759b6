"""The C function of a computation in the making: its steps, and the memory that they work on.

What runs in which order is decided in `emit_c.program.schedule`, and for loops and branches in
`emit_c.program.control`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from codegen.elements.kernel import Argument, Scope
from codegen.elements.memory import copied, pointer_into
from codegen.expressions import Apply, Literal, Name
from codegen.printer import shown, text
from codegen.program.trees import nested
from codegen.statements import Call, Let, Statement, Try
from emit_c.code.names import Names
from emit_c.program.kernel_reuse import Local
from emit_c.program.sites import site
from hlo.write.print import Options, print_instruction
from optimizer.analysis.dataflow import Several, Value
from optimizer.memory.heap import Block, pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from emit_c.kernels.kernel import Kernel
    from emit_c.program.module import ModuleWriter
    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from optimizer.memory.buffers import Buffer

Pointers = list[str | None]
# What all functions are given.
HANDED_ON = ("in", "out", "arena", "own")
HANDED_ON_NAMES = tuple(map(Name, HANDED_ON))
# Instructions that a kernel's comment lists at most.
MOST_LINES = 40
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"%([\w.-]+)")
_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)


def _about(kernel: Kernel, instr: Instruction) -> list[str]:
    """The HLO that a kernel computes, a line an instruction.

    What a fusion calls its parameters, the C calls by the names of the operands, and so do these.
    """
    is_fusion = instr.opcode == "fusion"
    computed = instr.called[0].instructions if is_fusion else kernel.writer.computed
    others = [i for i in computed if i is not instr and i.opcode != "parameter"][:MOST_LINES]
    inside = others if is_fusion else [*others, instr]
    lines = [print_instruction(i, _SHORT) for i in inside]
    if names := _operands(kernel.scope):
        lines = [_NAME.sub(lambda m: f"%{names.get(m[1], m[1])}", line) for line in lines]
    return [*lines, print_instruction(instr, _SHORT)] if is_fusion else lines


def _operands(scope: Scope) -> dict[str, str]:
    """For the names of parameters of what is fused, those of what they stand for."""
    if scope.outer is None:
        return {}
    outer = _operands(scope.outer)
    return {p.name: outer.get(o.name, o.name) for p, o in scope.arguments.items()}


class Function:
    """The C function of one computation in the making.

    Attributes
    ----------
    name : in C.
    names : of its variables.
    steps : what it does, one after the other.
    scope : what of the computation is in memory.
    declared : the pointers to its arrays, and their declarations.
    locals : memory that the instruction at hand needs for itself, by the pointers to it.
    """

    def __init__(self, module: ModuleWriter, computation: Computation, name: str) -> None:
        self.module, self.computation, self.name = module, computation, name
        self.names = Names()
        self.steps: list[tuple[Statement, ...]] = []
        self.scope = Scope()
        self.declared: dict[str, str] = {}
        self._known: dict[tuple[Buffer, str], str] = {}
        self.locals: dict[str, Local] = {}

    # ------------------------------------------------------------------ memory

    def tree(self, instr: Instruction) -> object:
        """Where the arrays of an instruction's value lie; None if it has no memory."""
        shown = self.module.memory.buffers.flow.at[instr]
        if any(isinstance(leaf, Several) for leaf in shown):
            return None
        return nested(instr.shape, (self.pointer(leaf, instr.name) for leaf in shown))

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
        self.locals[name] = Local(size, kind, len(self.steps), len(self.steps))
        return name

    def settle_local(self, instr: Instruction) -> None:
        """Give what an instruction needs for itself its place in the instruction's scratch."""
        if not self.locals:
            return
        blocks = [Block(each.bytes, [(each.first, each.last)]) for each in self.locals.values()]
        offsets, size = pack(blocks)
        place = self.module.memory.scratch_for(instr, size)
        for (name, each), offset in zip(self.locals.items(), offsets, strict=True):
            value = shown(pointer_into(Name(place), offset, each.kind))
            self.declared[name] = f"{each.kind} *{name} = {value};"
        self.locals.clear()

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
            if name in self.locals:
                self.locals[name].last = len(self.steps)
        self.steps.append(statements)

    # ------------------------------------------------------------------- steps

    def copy(self, targets: Pointers, sources: Pointers, shape: Shape) -> None:
        """Copy arrays to where they are not already."""
        triples = zip(targets, sources, shape.leaves(), strict=True)
        for target, source, (_, leaf) in triples:
            size = leaf.size * leaf.element_type.bytes if leaf.is_array else 0
            if target and source and target != source and size:
                self.step(copied(Name(target), Name(source), size), uses=[target, source])

    def give_scratch(self, kernel: Kernel, size: int) -> None:
        """Give a kernel some bytes of the arena, if it needs any."""
        if size:
            pointer = self.local(size, "room")
            kernel.arguments[pointer] = Argument("u8 *restrict ", "scratch", pointer)

    def call_kernel(
        self, kernel: Kernel, instr: Instruction, statements: Sequence[Statement]
    ) -> None:
        """Add a kernel to the module, and call it."""
        about = "\n".join(_about(kernel, instr))
        if kernel.writer.own_bytes:
            kernel.arguments["own"] = Argument("u8 *", "own", "own")
            self.module.slot_bytes = max(self.module.slot_bytes, kernel.writer.own_bytes)
        function = self.module.kernels.add(kernel, instr.name, about, statements)
        pointers = tuple(kernel.arguments)
        call = (Try if kernel.writer.patience else Call)(function, tuple(map(Name, pointers)))
        self.step(*self._timed(call, instr, kernel), uses=pointers)

    def _timed(self, call: Call | Try, instr: Instruction, kernel: Kernel) -> Sequence[Statement]:
        """A call, between two looks at the clock where the module is emitted for a profile."""
        sites = self.module.sites
        if sites is None:
            return (call,)
        number = len(sites)
        sites.append(site(call.function, instr, kernel.writer.computed))
        begin = self.names.unique("clock")
        return (
            Let("s64", begin, Apply("hlo_clock", ())), call,
            Call("hlo_record", (Literal(number), Name(begin))),
        )  # fmt: skip

    # -------------------------------------------------------------------- text

    def finish(self) -> str:
        """The function's text, with addresses still to be filled in."""
        whole, words = "", set[str]()
        # Where a pointer is first used: compilers take long to keep hundreds in mind.
        for step in self.steps:
            shown = text(step)
            new = [word for word in dict.fromkeys(_WORD.findall(shown)) if word not in words]
            whole += "".join(f"  {self.declared[w]}\n" for w in new if w in self.declared) + shown
            words.update(new)
        unused = "".join(f"  (void){n};\n" for n in ("in", "out", "arena"))
        arguments = "const void *const *in, void *const *out, u8 *arena"
        if self.name == "run":
            # What the threads need for themselves lies behind the temporary arrays.
            if "own" in words:
                whole = (
                    f"  u8 *own = arena + @arena bytes@;  // a part of it for each thread\n{whole}"
                )
        else:
            arguments += ", u8 *own"
            unused += "" if "own" in words else "  (void)own;\n"
        signature = f"{self.name}({arguments})"
        static = "" if self.name == "run" else "static "
        return f"{static}int {signature} {{\n{unused}{whole}  return 0;\n}}\n"
