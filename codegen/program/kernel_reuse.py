"""Kernels for instructions that are the same, but for where their arrays lie.

The layers of a network repeat their fusions. For the second one and all that follow, the calls that
the first one needed are made again, with other pointers.

References
----------
XLA, `xla/backends/gpu/codegen/kernel_reuse_cache.h`, does so for GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from optimizer.identity import Identity

if TYPE_CHECKING:
    from codegen.elements.kernel import Scope
    from codegen.program.schedule import Local
    from hlo.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Work:
    """The computation of a kernel, without names.

    Attributes
    ----------
    key : equal for instructions that the same kernels compute.
    pointers : to what it reads and writes, each once.
    """

    key: Any
    pointers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownCalls:
    """The calls by which instructions were computed.

    Attributes
    ----------
    pointers : as of `Work`.
    local : memory for its own use, by the pointers to it.
    steps : the emitter's, which only call functions.
    """

    pointers: tuple[str, ...]
    local: dict[str, Local]
    steps: tuple[tuple[Any, ...], ...]


class KernelReuse:
    """The calls that computed instructions, by the structure of these.

    Attributes
    ----------
    known : by the key of their `Work`.
    """

    def __init__(self) -> None:
        self.known: dict[Any, KnownCalls] = {}
        self._identity = Identity(is_layout_sensitive=True)

    def work(self, scope: Scope, instr: Instruction, unread: tuple[int, ...]) -> Work:
        """The computation of an instruction on values in memory.

        Those that are not in memory are computed along with it. A constant is one of its own, for
        kernels may know its numbers.

        Parameters
        ----------
        unread : leaves of its shape that nobody reads.
        """
        numbers: dict[str, int] = {}
        keys: dict[Instruction, Any] = {}
        positions: dict[Instruction, int] = {}
        stack = [instr]
        while stack:
            here = stack[-1]
            tree = None if here is instr else scope.pointers_of(here)
            missing = [o for o in here.operands if o not in positions] if tree is None else []
            if missing:
                stack += missing
                continue
            stack.pop()
            if here in positions:
                continue
            if tree is None:
                keys[here] = self._identity.key(here, positions)
            elif here.opcode == "constant":
                keys[here] = tree, here.shape
            else:
                keys[here] = _numbered(tree, numbers), here.shape
            positions[here] = len(positions)
        target = _numbered(scope.targets[instr], numbers)
        return Work((tuple(keys.values()), target, unread), tuple(numbers))


def _numbered(tree: object, numbers: dict[str, int]) -> object:
    """A tree of pointers, numbered as they come."""
    if isinstance(tree, tuple):
        return tuple(_numbered(part, numbers) for part in cast("tuple[object, ...]", tree))
    return numbers.setdefault(tree, len(numbers)) if isinstance(tree, str) else None
