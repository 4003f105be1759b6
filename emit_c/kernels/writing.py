"""Kernels: C functions that each compute some arrays from others, and are emitted once if equal.

Two kernels are equal if they differ only in names; so the layers of a transformer, whose kernels
do the same to other arrays, share one set of functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from codegen.elements.body import Body
from codegen.elements.results import renumbered, stored_elements
from codegen.elements.table import Scalar
from codegen.elements.trace import AccessTrace
from codegen.file_text import comment_of
from codegen.functions import Function, Parameter, calling, with_names, without_unused_values
from codegen.loops.traversal import write_nest
from codegen.sharing import key_of
from codegen.statements import For, Statement, names_in, vectorized
from emit_c.code.definition import Definition, defined
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.passes import run_passes
from emit_c.table import emits_c
from hlo.opcode import SAME_ORDER

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from codegen.elements.names import Names
    from codegen.elements.results import Results
    from codegen.file_text import HloLine
    from emit_c.kernels.passes import KernelPass, Watch
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

_COPIED = SAME_ORDER - {"bitcast"}


class ModuleKernels:
    """The kernels of a module, in the order in which they are first needed.

    Attributes
    ----------
    functions : by name, each after the functions that it alone calls.
    entries : the names of the kernels themselves.
    by_instruction : the names of the kernels, by those of the instructions whose values they are.
    hlo_names : for each of these kernels, the HLO name of each of its identifiers.
    watch : is shown the statements that each pass makes of a kernel.
    plain : kernels stay plain loops, which no pass makes faster.
    schedule : as of `run_passes`.
    """

    def __init__(
        self,
        names: Names,
        watch: Watch | None = None,
        *,
        plain: bool = False,
        schedule: KernelPass | None = None,
    ) -> None:
        self.names, self.watch, self.plain, self.schedule = names, watch, plain, schedule
        self.functions: dict[str, Definition] = {}
        self.entries: set[str] = set()
        self.by_instruction: dict[str, str] = {}
        self.hlo_names: dict[str, Mapping[str, str]] = {}
        self._names: dict[Any, str] = {}

    def add(
        self,
        kernel: CKernel,
        name: str,
        about: tuple[HloLine, ...],
        statements: Sequence[Statement],
    ) -> str:
        """The name of a function with a kernel's body; an equal one, if there is one already."""
        statements = run_passes(
            kernel, name, statements, self.watch, plain=self.plain, schedule=self.schedule
        )
        used = set(names_in(statements))
        _drop_unused(kernel, used)
        statements = without_unused_values(statements, used)
        if kernel.writer.functions:
            statements = calling(statements, self._add_own(kernel, about))
        parameters = tuple(Parameter(a.given or a.kind, a.name) for a in kernel.arguments.values())
        gives_status = kernel.writer.has_status
        function = Function("", parameters, tuple(statements), gives_status=gives_status)
        key = key_of(function)
        if key not in self._names:
            unique = self._names[key] = self.names.unique(name, "kernel")
            function = replace(function, name=unique, about=comment_of(about))
            self.functions[unique] = defined(function, about)
            self.entries.add(unique)
            self.hlo_names[unique] = kernel.names.hlo_names
        self.by_instruction[name] = self._names[key]
        return self._names[key]

    def _add_own(self, kernel: CKernel, about: tuple[HloLine, ...]) -> dict[str, str]:
        """Add the functions that belong to a kernel; gives their names in the file."""
        final: dict[str, str] = {}
        for name, function in kernel.writer.functions.items():
            body = tuple(without_unused_values(function.body))
            known = with_names(replace(function, body=body), final)
            key = key_of(known)
            if key not in self._names:
                unique = self._names[key] = self.names.unique(name, "kernel")
                self.functions[unique] = defined(with_names(known, {name: unique}), about)
            final[name] = self._names[key]
        return final


def _drop_unused(kernel: CKernel, used: Collection[str]) -> None:
    """Remove the arguments through which nothing is read or written after all."""
    for pointer, argument in list(kernel.arguments.items()):
        if argument.name not in used:
            del kernel.arguments[pointer]


def write_loops(
    kernel: CKernel,
    results: Results,
    *,
    plain: bool = False,
) -> tuple[Statement, ...]:
    """One loop nest over the elements of arrays of equal sizes.

    Parameters
    ----------
    results : those of other dimensions than the first have their elements in the same row-major
        order.
    plain : a loop for each dimension, in the order of memory.
    """
    body = kernel.body
    shape = results[0][0].shape.first_leaf
    flat = all(is_flat(body, instr) for instr, _ in results)

    def write(index: Index) -> None:
        body.add(*stored_elements(body, results, index))

    if plain:
        with body.loops(["i"] * shape.rank, shape.dims) as index:
            write(index)
    elif flat:
        with body.loops(["i"], [shape.size], parallel=True) as index:
            write(index)
    else:
        write_nest(body, shape.dims, write, lambda index: _traced(kernel, results, index))
    loops = kernel.writer.blocks[0]
    return tuple(loops) if plain else vectorized(loops)


def _traced(kernel: CKernel, results: Results, index: Index) -> AccessTrace:
    """The work of the elements at an index, found in a kernel that nobody uses."""
    probe = CKernel(kernel.writer.constants, kernel.scope)
    probe.writer.trace = trace = AccessTrace()
    with probe.body.block() as statements:
        for instr, _ in results:
            shape = results[0][0].shape.first_leaf
            probe.body.elements(instr, renumbered(index, shape, instr.shape.first_leaf))
    trace.statements = len(statements)
    trace.straight = not any(isinstance(s, For) for s in statements)
    return trace


def is_flat(body: Body, root: Instruction) -> bool:
    """Whether elements are computed from those with the same row-major number, or from scalars."""
    size = root.shape.first_leaf.size
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
    return isinstance(emits_c.get(instr.opcode), Scalar) or instr.opcode in _COPIED


def _is_splat(body: Body, instr: Instruction) -> bool:
    """Whether an instruction repeats one number without looking at the index."""
    if instr.opcode == "constant":
        return body.writer.constants.scalar(instr.attrs.literal) is not None  # type: ignore[attr-defined]
    return instr.opcode == "broadcast" and instr.operands[0].shape.rank == 0
