"""Again and again, until nothing changes: how passes go over a module and its computations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hlo.walk import rebuild_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Module

Thing = TypeVar("Thing")


def settle(thing: Thing, change: Callable[[Thing], Thing]) -> Thing:
    """What becomes of something when it is changed until that gives back the same object."""
    before = None
    while thing is not before:
        before = thing
        thing = change(thing)
    return thing


def rebuild_unfused(module: Module, change: Callable[[Computation], Computation]) -> Module:
    """Change each computation, callees first, but none that is fused: those are kernels already."""
    fused = {
        callee.name
        for computation in module.computations
        if "fusion" in computation.opcodes
        for instr in computation.instructions
        if instr.opcode == "fusion"
        for callee in instr.called
    }
    return rebuild_module(module, lambda c: c if c.name in fused else change(c))
