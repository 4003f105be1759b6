"""Dead code elimination: removes instructions whose value nobody needs.

Needed is the root of each computation, whatever has an effect, what control dependencies tie to
something, and the operands of whatever is needed. Computations that nobody calls go as well.

    dead = f32[] add(x, x)                 (gone)
    ROOT live = f32[] multiply(x, x)       ROOT live = f32[] multiply(x, x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.walk import rebuild_module
from optimizer.effects import dead, without
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class Dce:
    """Removes dead instructions and computations.

    References
    ----------
    XLA, `xla/hlo/transforms/simplifiers/hlo_dce.cc`.
    """

    name = "dce"

    def run(self, module: Module, log: Log) -> Module:
        """The module without what is dead."""

        def change(computation: Computation) -> Computation:
            # Users first, so that whatever is left when the fuel is gone has its operands.
            gone = [i for i in reversed(dead(computation)) if log.rewrite("dead", i)]
            return without(computation, gone)

        return rebuild_module(module, change)
