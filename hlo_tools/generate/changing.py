"""An instruction of a module to change, and the module that is changed there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.walk import names_of, rebuild, rebuild_module
from hlo_tools.generate.operands import need
from hlo_tools.generate.resizing import with_entry
from hlo_tools.values.bounded import running
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from hlo.instruction import Computation, Instruction, Module


def some(
    module: Module, random: Random, fits: Callable[[Instruction], bool] = lambda _: True
) -> tuple[Computation, Instruction]:
    """Any instruction that fits; half the time one of the entry computation.

    Computations of scalars stay as they are: a sort by what is no order may do anything, and so may
    a fold by what is not associative.
    """
    computation = random.choice((module.entry, *running(module)))
    candidates = [i for i in computation.instructions if fits(i)]
    need(bool(candidates))
    return computation, random.choice(candidates)


def changed(module: Module, where: Computation, plan: dict[Instruction, Instruction]) -> Module:
    """The module with a plan carried out in one computation."""

    def change(computation: Computation) -> Computation:
        # Where it calls a changed computation too, it is another object; no plan is for both.
        return rebuild(computation, plan) if computation is where else computation

    new_module = rebuild_module(module, change)
    need(new_module is not module)
    return with_entry(new_module, new_module.entry)


def shown(module: Module, *new: Instruction, value: Instruction | None = None) -> Module:
    """The module with one value more in its result.

    Parameters
    ----------
    new : instructions that come after all others.
    value : the last of the new ones if None.
    """
    entry, root = module.entry, module.entry.root
    parts = root.operands if root.opcode == "tuple" else (root,)
    result = make("tuple", *parts, value or new[-1]).with_(name=names_of(module).unique("tuple"))
    old = entry.instructions
    if root.opcode == "tuple" and not any(root in i.operands for i in old):
        old = tuple(i for i in old if i is not root)
    return with_entry(module, replace(entry, instructions=(*old, *new, result), root=result))
