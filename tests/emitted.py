"""What the C of a module is made of, as data: nobody reads its text again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest
from strategies.compiled import check

import emit_c
import hlo
from codegen.callees import BUILTINS
from codegen.expressions import Apply, Index, Op
from codegen.statements import Call, For, If, nested, trees
from codegen.walk import spelled_out, walk
from emit_c.contraction.tiles import Tile
from emit_c.executable import building
from emit_c.program.call_sites import KernelStep
from optimizer import PASSES, prepare
from optimizer import optimize as optimized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.statements import Statement
    from emit_c.program.emit import Program


class Emitted(NamedTuple):
    """A module as C.

    Attributes
    ----------
    passes : the names of the passes that change a kernel.
    statements : those of each kernel after the last pass, by the kernel's name.
    functions : the statements of the functions that belong to kernels, as those of threads.
    """

    program: Program
    passes: frozenset[str]
    statements: dict[str, Sequence[Statement]]
    functions: list[Sequence[Statement]]

    @property
    def names(self):
        """The functions, types and variables that kernels name."""
        return {name for each in self.program.parts.kernels.values() for name in each.mentions}

    def has(self, word):
        """Whether a word is in a name of these."""
        return any(word in name for name in self.names)

    @property
    def tiles(self):
        """The register tiles that kernels call."""
        return [each for each in self.program.parts.tiles if isinstance(each, Tile)]

    @property
    def nested(self):
        """The statements of all kernels and their functions, and those inside of them."""
        return [s for body in (*self.statements.values(), *self.functions) for s in nested(body)]

    @property
    def expressions(self):
        """The expressions of all kernels, and those inside of them; indices are spelled out."""
        waiting = [tree for s in self.nested for tree in trees(s)]
        while waiting:
            for each in walk(waiting.pop()):
                if isinstance(each, Index) and each.sum.terms:
                    waiting.append(spelled_out(each.sum))
                yield each

    @property
    def callees(self):
        """The names of the functions that expressions apply, each as often as one does."""
        return [each.function.name for each in self.expressions if isinstance(each, Apply)]

    @property
    def operators(self):
        """The operators of all expressions."""
        return {each.op for each in self.expressions if isinstance(each, Op)}

    @property
    def kernel_calls(self):
        """The kernels that steps call, each as often as one does."""
        return [each.call.function.name for each in self.program.parts.calls.kernel_steps]

    def steps(self, computation):
        """The statements of the function of a computation, but for calls of kernels."""
        step_functions = self.program.parts.calls.functions
        parts = [part for step in step_functions[computation].steps for part in step]
        return [s for part in parts if not isinstance(part, KernelStep) for s in nested([part])]

    def bytes_copied(self, computation):
        """The sizes of the arrays that a computation copies."""
        calls = [s for s in self.steps(computation) if isinstance(s, Call)]
        return [s.arguments[-1].value for s in calls if s.function is BUILTINS["memcpy"]]

    @property
    def has_choices(self):
        """Whether a kernel has branches."""
        return any(isinstance(s, If) for s in self.nested)

    @property
    def loops(self):
        """The loops of all kernels."""
        return [s for s in self.nested if isinstance(s, For)]


@contextmanager
def no_pass_runs():
    """Every pass over a module fails."""

    def fail(self, _module, _log=None):
        pytest.fail(f"{self.name} runs")

    with pytest.MonkeyPatch.context() as patch:
        for each in PASSES.values():
            patch.setattr(each, "run", fail)
        yield


def emitted(module, *, optimize=True):
    """A module, or its text, as C; optimized or as it is."""
    module = hlo.parse(module) if isinstance(module, str) else module
    made = optimized(module, target="cpu") if optimize else prepare(module)
    return _watched(emit_c.emit, made)


def checked(module, *promise, optimize=False, **options):
    """A module as C, where that gives what the interpreter gives: see `check`.

    It is the C that was called: the module is optimized and emitted once.
    """
    module = hlo.parse(module) if isinstance(module, str) else module
    found = []

    def emit(*arguments, **others):
        found.append(_watched(building_emit, *arguments, **others))
        return found[-1].program

    building_emit = building.emit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "emit", emit)
        check(module, *promise, optimize=optimize, **options)
    (made,) = found
    return made


def _watched(emit, module, **options):
    """What an emitter makes of a module."""
    states, functions, changing = {}, {}, set()

    def watch(kernel, name, statements, writing):
        statements = tuple(statements)
        if name and statements != states[kernel]:
            changing.add(name)
        states[kernel] = statements
        functions.update({(kernel, f): each.body for f, each in writing.writer.functions.items()})

    program = emit(module, watch=watch, **options)
    return Emitted(program, frozenset(changing), states, [*functions.values()])
