"""Bugs that are planted: in passes, in rules, in kernels, and in plans of memory.

They are data, in `tutorials/planted`. A suspect is the project with one of them in it; it is wrong
on a module if it does not give what the unmodified project gives.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import emit_c
import optimizer
from emit_c.table import emits_c
from hlo.errors.error import HloError
from hlo.support.own_code import load
from hlo_tools.exercises.exercise import course_folder
from hlo_tools.search.checking.failure import find_failure
from hlo_tools.search.checking.search import arguments_for
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import BITS, ROUNDING, compare
from optimizer.memory import buffer_assignment
from optimizer.memory.check import check

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hlo.instruction import Module

KINDS = ("rule", "pass", "kernel", "plan")
# For a suspect to show itself, a module is run on so many lists of arguments.
LISTS = 4


def planted(name: str) -> Any:
    """One of the files of planted bugs, as a Python module."""
    return load(course_folder() / "planted" / f"planted_{name}.py")


@dataclass(frozen=True)
class Bug:
    """A planted bug.

    Attributes
    ----------
    kind : one of `KINDS`.
    wrong_on : why the suspect is wrong on a module; None if it is not.
    opcodes : that a module needs for it to show, where that is known.
    mutant : a pass, an entry of a table, or a function.
    """

    name: str
    kind: str
    wrong_on: Callable[[Module], str | None]
    opcodes: tuple[str, ...] = ()
    mutant: Any = None


@cache
def all_bugs() -> dict[str, Bug]:
    """Every bug by name."""
    rules = {rule.name for rule in planted("rules").RULES}
    bugs_by_name: dict[str, Bug] = {}
    for mutant in planted("passes").all_planted():
        kind = "rule" if mutant.name in rules else "pass"
        bugs_by_name[mutant.name] = Bug(mutant.name, kind, pass_verdict(mutant), mutant=mutant)
    for name, opcode, entry in planted("kernels").KERNELS:
        bugs_by_name[name] = Bug(name, "kernel", kernel_verdict(opcode, entry), (opcode,), entry)
    for name, pack in planted("plans").PLANS.items():
        bugs_by_name[name] = Bug(name, "plan", plan_verdict(pack), mutant=pack)
    return bugs_by_name


def given_for(module: Module) -> list[list[Any]]:
    """Lists of arguments, always the same."""
    return [a for seed in range(LISTS) for a in arguments_for(module, Random(seed), BITS)]


def pass_verdict(suspect: Any) -> Callable[[Module], str | None]:
    """The verdict on a pass: as `hlo check` judges it."""

    def wrong_on(module: Module) -> str | None:
        failure = find_failure(suspect, module, *given_for(module))
        return failure.message if failure else None

    return wrong_on


def kernel_verdict(opcode: str, entry: Any) -> Callable[[Module], str | None]:
    """The verdict on a kernel: its C is compiled, and compared with the interpreter."""

    def wrong_on(module: Module) -> str | None:
        lists = given_for(module)
        with emits_c.replaced(opcode, entry):
            try:
                suspect = emit_c.compile(module, optimize=False, remember=False, subnormals="keep")
            except HloError:
                # Most are written for real numbers, and the compiler says so.
                return None
        sound = emit_c.compile(module, optimize=False, remember=False, subnormals="keep")
        for arguments in lists:
            want = evaluate(module, *arguments)
            promise = BITS if compare(sound(*arguments), want, BITS) is None else ROUNDING
            if compare(sound(*arguments), want, promise):
                continue
            if difference := compare(suspect(*arguments), want, promise):
                return f"the C gives {difference}"
        return None

    return wrong_on


def plan_verdict(pack: Any) -> Callable[[Module], str | None]:
    """The verdict on a plan of memory: by the proof that nothing is overwritten."""

    def wrong_on(module: Module) -> str | None:
        optimized = optimizer.optimize(module)
        check(buffer_assignment.assign(optimized))
        with packed_by(pack):
            try:
                check(buffer_assignment.assign(optimized))
            except HloError as error:
                return error.message
        return None

    return wrong_on


@contextmanager
def packed_by(pack: Any) -> Generator[None]:
    """Let another function say where arrays lie."""
    before = buffer_assignment.pack
    buffer_assignment.pack = pack
    try:
        yield
    finally:
        buffer_assignment.pack = before
