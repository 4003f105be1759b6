"""A computation becomes a C function: which kernels it calls, in which order, on which buffers.

Outside a fusion every instruction gets a kernel, and writes into the buffer that it is assigned; of
what only renames memory (tuples, reshapes) nothing is seen. A fusion is a computation of which only
some values get buffers: its outputs, and inside it what would else be computed over and over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from codegen.elements.kernel import Scope
from codegen.elements.memory import copied
from codegen.elements.table import Element, elemental
from codegen.elements.table import Kernel as KernelEntry
from codegen.expressions import Name, binary, item, substitute
from codegen.program.placement import in_memory, read_from_memory
from codegen.program.trees import branch, leaves
from codegen.statements import Call, If, Try, names_in
from emit_c.kernels.kernel import Kernel
from emit_c.kernels.writing import write_loops
from emit_c.program.buffers import renames
from emit_c.program.control import CONTROL
from emit_c.program.function import Function
from emit_c.program.kernel_reuse import Calls
from emit_c.program.sweeps import common_loops, write_sweeps
from emit_c.table import emits_c
from hlo.errors.error import HloError
from hlo.wording import with_article

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codegen.expressions import Expr
    from emit_c.program.kernel_reuse import Work
    from emit_c.program.module import ModuleWriter
    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.types.literal import Literal
    from optimizer.fusion.nest import Nest

# These hand on their operand's memory.
_ALIASES = {"copy", "opt-barrier", "domain", "add-dependency", "reshape"}


def write_function(module: ModuleWriter, computation: Computation, name: str) -> str:
    """The text of a computation's C function, with addresses still to be filled in."""
    schedule = Schedule(module, computation, name)
    schedule.write()
    return schedule.finish()


class Schedule(Function):
    """The C function of one computation, written kernel by kernel."""

    def write(self) -> None:
        """Go through the computation."""
        if self.name == "run":
            self.step(*self.module.prologue)
            self._take_donated()
        read = read_from_memory(emits_c, self.computation)
        for instr in self.computation.instructions:
            if instr.opcode == "constant" and instr not in read:
                continue
            try:
                self._write_sequential(instr)
            except HloError as error:
                raise error.at(instr.span) from None
            self.settle_local(instr)
            self.module.look()

    def _take_donated(self) -> None:
        """Bring donated arguments to where the results will be, if they are not there."""
        arguments = [s for p in self.computation.parameters for _, s in p.shape.leaves()]
        for result, number in self.module.memory.donated.items():
            there, here = item(Name("out"), result), item(Name("in"), number)
            copy = copied(there, here, arguments[number].unpacked_bytes)
            self.step(If(binary("!=", there, here), (copy,)))

    def _write_sequential(self, instr: Instruction) -> None:
        """An instruction outside of fusions: where it lies is known."""
        scope = self.scope
        tree = self.tree(instr)
        if tree is None:
            return
        scope.targets[instr] = tree
        if instr.opcode in CONTROL:
            CONTROL[instr.opcode](self, instr)
        elif instr.opcode in ("copy", "copy-start") and scope.tree(instr.operands[0]):
            source, shape = scope.tree(instr.operands[0]), instr.operands[0].shape
            target = branch(tree, 0) if instr.opcode == "copy-start" else tree
            if instr not in self.module.memory.spared:
                self.copy(leaves(target, shape), leaves(source, shape), shape)
        elif self._takes_kernels(instr):
            work, begin = self.module.reuse.work(scope, instr), len(self.steps)
            if not self._call_again(work):
                self._write_kernels(scope, instr)
                self._remember(work, begin)
        scope.values[instr] = tree

    def _takes_kernels(self, instr: Instruction) -> bool:
        """Whether something has to be computed for an instruction."""
        memory, entry = self.module.memory, emits_c.get(instr.opcode)
        if instr in memory.spared or instr.opcode == "constant":
            return False
        if instr.opcode == "fusion" or isinstance(entry, KernelEntry):
            return True
        return elemental(emits_c, instr.opcode) and not memory.buffers.info.forwards(instr)

    def _call_again(self, work: Work) -> bool:
        """Make the calls that computed the same before; whether there are such."""
        calls = self.module.reuse.known.get(work.key)
        if calls is None:
            return False
        names = dict(zip(calls.pointers, work.pointers, strict=True))
        for name, each in calls.local.items():
            names[name] = self.local(each.bytes, name, each.kind)
            self.locals[names[name]].first += each.first
        for step in calls.steps:
            made = [replace(c, arguments=_renamed(c.arguments, names)) for c in step]
            self.step(*made, uses=names_in(made))
        return True

    def _remember(self, work: Work, begin: int) -> None:
        """Keep the steps from one on, which did some work, if they are only calls."""
        steps = [tuple(s for s in step if isinstance(s, Call | Try)) for step in self.steps[begin:]]
        if steps != self.steps[begin:]:
            return
        used = {name for step in steps for name in names_in(step)}
        if not used & self.declared.keys() <= {*work.pointers, *self.locals}:
            return
        local = {n: replace(each, first=each.first - begin) for n, each in self.locals.items()}
        self.module.reuse.known[work.key] = Calls(work.pointers, local, tuple(steps))

    def _write_kernels(self, scope: Scope, instr: Instruction) -> None:
        if instr.opcode == "fusion":
            self._write_fusion(scope, instr)
        elif isinstance(emits_c.get(instr.opcode), KernelEntry):
            self._write_kernel(scope, instr)
        else:
            self._write_loops(scope, instr)

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
        chosen = in_memory(emits_c, called)
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
        outputs: dict[Instruction, list[Name]] = {}
        pointers = leaves(inner.outer.targets[instr], instr.shape)
        for result, pointer in zip(results, pointers, strict=True):
            name = kernel.output(result.shape, str(pointer), result.name)
            outputs.setdefault(result, []).append(name)
        self.call_kernel(kernel, instr, write_sweeps(kernel, nest, outputs))

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
            raise HloError(
                "HLO181", f"{instr.name}: {with_article(instr.opcode)} inside a fusion", instr.span
            )
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
            self.call_kernel(kernel, instr, write_loops(kernel, [(instr, outputs)]))
        else:
            self.give_scratch(kernel, scratch)
            self.call_kernel(kernel, instr, tuple(kernel.writer.blocks[0]))
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
        self.give_scratch(kernel, needed or 0)
        self.call_kernel(kernel, instr, tuple(kernel.writer.blocks[0]))
        scope.values[instr] = tree


def _renamed(arguments: Sequence[Expr], names: Mapping[str, str]) -> tuple[Expr, ...]:
    """Arguments of a call with other pointers."""
    values = {name: Name(other) for name, other in names.items()}
    return tuple(substitute(each, values) for each in arguments)


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
