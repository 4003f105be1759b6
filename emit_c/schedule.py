"""A computation becomes a C function: which kernels it calls, in which order, on which buffers.

Outside a fusion every instruction gets a kernel and a buffer of its own; what only renames memory
(tuples, reshapes) gets a pointer. A fusion is a computation of which only some values get
buffers: its outputs, and inside it what would else be computed over and over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from emit_c.buffers import Lifetime, assign
from emit_c.kernels import Argument, Kernel, Scope, write_loops
from emit_c.loops import Assign, Break, Call, For, Forever, If, Let, Statement, Variable, text
from emit_c.movement import memory_order
from emit_c.names import Names
from emit_c.placement import in_memory
from emit_c.table import emits_c
from emit_c.table import Kernel as KernelEntry
from hlo.error import HloError
from hlo.print import Options, print_instruction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from emit_c.emit import ModuleWriter
    from hlo.instruction import Computation, Instruction
    from hlo.shape import Shape

# These hand on their operand's memory.
_ALIASES = {"copy", "opt-barrier", "domain", "add-dependency", "reshape"}
_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)


class Function:
    """The C function of one computation in the making.

    Attributes
    ----------
    name : in C.
    arena_bytes : of its temporary arrays; known when it is finished.
    """

    def __init__(self, module: ModuleWriter, computation: Computation, name: str) -> None:
        self.module, self.computation, self.name = module, computation, name
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
        self.declared[name] = f"{shape.element_type} *{name} = ({shape.element_type} *)(arena + @{name}@);"
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
        for number, leaf in enumerate(_parameter_leaves(self.computation)):
            parameter, shape, path = leaf
            pointer = (
                self.declare(f"const {shape.element_type}", parameter.name, f"in[{number}]")
                if shape.is_array
                else None
            )
            _put(self.scope.values, parameter, path, pointer)
        counter = iter(range(len(list(self.computation.root.shape.leaves()))))
        _aim(self.scope, self.computation.root, _numbered(self.computation.root.shape, counter))
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
        elif instr.opcode in _CONTROL:
            _CONTROL[instr.opcode](self, scope, instr)
        elif wanted and isinstance(emits_c.get(instr.opcode), KernelEntry):
            self._write_kernel(scope, instr)
        elif wanted:
            self._write_loops(scope, instr)

    def _renamed(self, scope: Scope, instr: Instruction) -> object:
        """The memory of an instruction that needs none of its own; None if it does."""
        operand = scope.tree(instr.operands[0]) if instr.operands else None
        if instr.opcode == "tuple":
            trees = tuple(scope.tree(o) for o in instr.operands)
            known = [t is not None or not o.shape.is_array for t, o in zip(trees, instr.operands, strict=True)]
            return trees if all(known) else None
        if instr.opcode == "after-all":
            return ()
        if instr.opcode == "get-tuple-element":
            number: int = instr.attrs.index  # type: ignore[attr-defined]
            return cast("tuple[object, ...]", operand)[number] if operand else None
        if instr.opcode == "copy-start":
            return operand and (operand, operand, None)
        if instr.opcode == "copy-done":
            return operand and cast("tuple[object, ...]", operand)[0]
        if instr.opcode in _ALIASES or _renames(instr):
            return operand
        return None

    def _write_loops(self, scope: Scope, instr: Instruction) -> None:
        """A kernel that computes elements."""
        scope.values[instr] = tree = self.allocate(scope, instr)
        pointers = _leaves(tree)
        shapes = [s for _, s in instr.shape.leaves()]
        if all(s.size == 0 for s in shapes):
            return
        kernel = Kernel(self.module.constants, _without(scope, instr))
        outputs = [
            kernel.output(s, p, instr.name) for s, p in zip(shapes, pointers, strict=True)
        ]
        statements = write_loops(kernel, [(instr, outputs)])
        self._call(kernel, instr, statements)

    def _write_kernel(self, scope: Scope, instr: Instruction) -> None:
        """A kernel that writes whole arrays in its own way."""
        entry = cast("KernelEntry", emits_c[instr.opcode])
        scope.values[instr] = tree = self.allocate(scope, instr)
        kernel = Kernel(self.module.constants, _without(scope, instr))
        shapes = [s for _, s in instr.shape.leaves()]
        pairs = zip(shapes, _leaves(tree), strict=True)
        outputs = [kernel.output(s, p, instr.name) for s, p in pairs if s.is_array]
        needed = entry.write(kernel.body, instr, outputs)
        if needed:
            pointer = self.scratch(needed)
            kernel.arguments[pointer] = Argument("u8 *restrict ", "scratch", pointer)
        self._call(kernel, instr, tuple(kernel.writer.blocks[0]))

    def _call(self, kernel: Kernel, instr: Instruction, statements: Sequence[Statement]) -> None:
        about = print_instruction(instr, _SHORT)
        function = self.module.kernels.add(kernel, instr.name, about, statements)
        pointers = tuple(kernel.arguments)
        self.step(Call(function, pointers), uses=pointers)

    def _write_results(self) -> None:
        """Copy to the outputs what was not computed there."""
        root = self.computation.root
        pairs = list(zip(_leaves(self.scope.tree(root), root.shape), root.shape.leaves(), strict=True))
        for number, (pointer, (_, shape)) in enumerate(pairs):
            if pointer is None or not shape.is_array:
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
        lines: list[str] = []
        for name, line in self.declared.items():
            if name in body or name in self.backing:
                lines.append("  " + line.replace(f"@{name}@", str(offsets.get(name, 0))) + "\n")
        whole = "".join(lines) + body
        unused = "".join(
            f"  (void){name};\n" for name in ("in", "out", "arena") if f"{name}[" not in whole and f"{name} +" not in whole
        )
        signature = f"{self.name}(const void *const *in, void *const *out, u8 *arena)"
        static = "" if self.name == "run" else "static "
        return f"{static}void {signature} {{\n{unused}{whole}}}\n"

    def array_of(self, pointers: Sequence[str | None]) -> str:
        """An array of pointers, as an expression."""
        if not pointers:
            return "0"
        return "(const void *const[]){" + ", ".join(p or "0" for p in pointers) + "}"

    def outputs_of(self, pointers: Sequence[str | None]) -> str:
        """An array of pointers to what is written, as an expression."""
        if not pointers:
            return "0"
        return "(void *const[]){" + ", ".join(p or "0" for p in pointers) + "}"

    def arena_for(self, *callees: Function) -> str:
        """The part of the arena that functions called in the next step may use."""
        size = max(callee.arena_bytes for callee in callees)
        return self.scratch(size, "callee_arena") if size else "arena"


def _write_call(function: Function, scope: Scope, instr: Instruction) -> None:
    callee = function.module.function(instr.called[0])
    scope.values[instr] = tree = function.allocate(scope, instr)
    given = [p for o in instr.operands for p in _leaves(scope.tree(o), o.shape)]
    taken = _leaves(tree, instr.shape)
    arena = function.arena_for(callee)
    call = Call(callee.name, (function.array_of(given), function.outputs_of(taken), arena))
    function.step(call, uses=[p for p in (*given, *taken, arena) if p])


def _write_conditional(function: Function, scope: Scope, instr: Instruction) -> None:
    """A chain of ifs; a pred chooses the first branch where it holds, and out of range the last."""
    index, *operands = instr.operands
    callees = [function.module.function(c) for c in instr.called]
    scope.values[instr] = tree = function.allocate(scope, instr)
    taken = _leaves(tree, instr.shape)
    arena = function.arena_for(*callees)
    pointer = str(scope.tree(index))
    uses = [pointer, arena, *(p for p in taken if p)]
    chain: tuple[Statement, ...] = ()
    for number in reversed(range(len(callees))):
        given = _leaves(scope.tree(operands[number]), operands[number].shape)
        uses += [p for p in given if p]
        call = Call(
            callees[number].name, (function.array_of(given), function.outputs_of(taken), arena)
        )
        holds = f"*{pointer}" if index.shape.element_type.name == "pred" else f"*{pointer} == {number}"
        chain = (If(holds, (call,), chain),) if chain else (call,)
    function.step(*chain, uses=uses)


def _write_while(function: Function, scope: Scope, instr: Instruction) -> None:
    """A loop over two sets of buffers: the body reads one and writes the other."""
    condition, body = (function.module.function(c) for c in instr.called)
    state = instr.operands[0]
    shapes = [s for _, s in instr.shape.leaves()]
    initial = _leaves(scope.tree(state), state.shape)
    first = _leaves(function.arrays(instr.shape, None, f"{instr.name}_next"), instr.shape)
    second = _leaves(function.arrays(instr.shape, None, f"{instr.name}_spare"), instr.shape)
    name = function.names.unique(instr.name)
    n = len(shapes)
    arena = function.arena_for(condition, body)
    goes_on = function.scratch(1, f"{instr.name}_goes_on")
    listed = {
        kind: ", ".join(p or "0" for p in pointers)
        for kind, pointers in (("now", initial), ("next", first), ("spare", second))
    }
    now, following, spare = (function.names.unique(f"{name}_{k}_state") for k in listed)
    rotate = For(
        "k",
        n,
        (
            Let("void *const", "done", f"{following}[k]"),
            Assign(f"{following}[k]", f"{spare}[k]"),
            Assign(f"{spare}[k]", "done"),
            Assign(f"{now}[k]", "done"),
        ),
    )
    loop = Forever(
        (
            Call(condition.name, (now, f"(void *const[]){{{goes_on}}}", arena)),
            Break(f"!*{goes_on}"),
            Call(body.name, (now, f"{following}", arena)),
            rotate,
        )
    )
    pointers = [p for p in (*initial, *first, *second, arena, goes_on) if p]
    function.step(
        Variable("const void *", now, f"{{{listed['now'] or '0'}}}", max(n, 1)),
        Variable("void *", following, f"{{{listed['next'] or '0'}}}", max(n, 1)),
        Variable("void *", spare, f"{{{listed['spare'] or '0'}}}", max(n, 1)),
        loop,
        uses=pointers,
    )
    results: list[str | None] = []
    for k, shape in enumerate(shapes):
        if not shape.is_array:
            results.append(None)
            continue
        result = function.names.unique(f"{instr.name}_{k}")
        function.backing[result] = {p for p in (initial[k], first[k], second[k]) if p}
        function.step(Let(f"{shape.element_type} *", result, f"{now}[{k}]"))
        results.append(result)
    scope.values[instr] = _nested(instr.shape, iter(results))


_CONTROL = {"call": _write_call, "conditional": _write_conditional, "while": _write_while}


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


def _without(scope: Scope, instr: Instruction) -> Scope:
    """The scope in which an instruction is computed: its own value is not there yet."""
    made = Scope(scope.outer, scope.arguments)
    made.values = {i: tree for i, tree in scope.values.items() if i is not instr}
    return made


def _parameter_leaves(
    computation: Computation,
) -> list[tuple[Instruction, Shape, tuple[int, ...]]]:
    return [(p, s, path) for p in computation.parameters for path, s in p.shape.leaves()]


def _put(
    values: dict[Instruction, object], parameter: Instruction, path: tuple[int, ...], pointer: str | None
) -> None:
    """Enter a leaf of a parameter's value."""
    if not path:
        values[parameter] = pointer
        return
    found = values.get(parameter) or _empty(parameter.shape)
    values[parameter] = _replaced(found, path, pointer)


def _empty(shape: Shape) -> object:
    return tuple(_empty(s) for s in shape.elements) if shape.is_tuple else None


def _replaced(tree: object, path: tuple[int, ...], pointer: str | None) -> object:
    if not path:
        return pointer
    items = list(cast("tuple[object, ...]", tree))
    items[path[0]] = _replaced(items[path[0]], path[1:], pointer)
    return tuple(items)


def _numbered(shape: Shape, numbers: Iterable[int]) -> object:
    """The shape's leaves, numbered."""
    counter = iter(numbers)
    return _numbered_leaf(shape, counter)


def _numbered_leaf(shape: Shape, counter: object) -> object:
    if shape.is_tuple:
        return tuple(_numbered_leaf(s, counter) for s in shape.elements)
    number = next(counter)  # type: ignore[call-overload]
    return number if shape.is_array else None


def _nested(shape: Shape, pointers: object) -> object:
    if shape.is_tuple:
        return tuple(_nested(s, pointers) for s in shape.elements)
    return next(pointers)  # type: ignore[call-overload]


def _leaves(tree: object, shape: Shape | None = None) -> list[str | None]:
    """The pointers of a value, in order; None for tokens."""
    if isinstance(tree, tuple) and (shape is None or shape.is_tuple):
        trees = cast("tuple[object, ...]", tree)
        shapes = shape.elements if shape else (None,) * len(trees)
        return [p for t, s in zip(trees, shapes, strict=True) for p in _leaves(t, s)]
    return [tree if isinstance(tree, str) else None]

