"""The way from a sound module to a library: optimize, write C, and compile it.

A process whose modules are all in the cache imports none of this.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import optimizer
from emit_c.executable import module_cache
from emit_c.executable.built import build
from emit_c.executable.libraries import compilers
from emit_c.executable.run_time_sizes import DynamicExecutable
from emit_c.executable.runtime import slots
from emit_c.executable.tiles import MissingTiles
from emit_c.program.emit import Program, emit
from emit_c.program.units import Units
from hlo.verify import trust, verify
from optimizer.layout.result_views import views_of
from optimizer.log import Log
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from emit_c.conditions import Conditions
    from emit_c.executable.built import Built
    from emit_c.kernels.passes import KernelPass
    from hlo.instruction import Module
    from hlo.verify import Sound
    from optimizer.layout.result_views import StridedView


class ModuleInC(NamedTuple):
    """The C of a module.

    Attributes
    ----------
    module : the optimized module.
    views : the strided view of each result that is one, by its number.
    """

    module: Module
    program: Program
    views: Mapping[int, StridedView]


@dataclass(frozen=True)
class Building:
    """A module of which a library is to be made; see `emit_c.compile` for the options.

    Attributes
    ----------
    sound : instructions of the module that the verifier has seen.
    """

    module: Module
    sound: Sound
    optimize: bool
    plain: bool
    conditions: Conditions
    schedule: KernelPass | None = None

    def dynamic(self) -> DynamicExecutable:
        """The callable of a module with sizes that are known at run time."""
        new = self.written()
        verify(new.module, self.sound)
        return DynamicExecutable(self.module, new.program.module.entry, build(new.program))

    def built(self, key: str) -> Built:
        """The library, stored in the user's cache under a key if there is one."""
        with ExitStack() as ends:
            running = ends.enter_context(compilers())
            if key:
                # A module that the cache does not know is most likely new, so compilers may begin
                # with parts of it before it is known whether its library is there.
                tiles = MissingTiles(lambda: ends.enter_context(compilers()))
                units = Units(slots(), running.take, tiles.look)
            else:
                tiles, units = MissingTiles(None), Units(slots())
            new = self.written(units)
            built = build(
                new.program, new.views, running, tiles, lambda: verify(new.module, self.sound)
            )
        if key:
            module_cache.store_built(key, self.module, built)
        return built

    def written(self, units: Units | None = None) -> ModuleInC:
        """Write the module as C.

        Parameters
        ----------
        units : hands files to compilers while others are still being written.
        """
        log, module = Log(), self.module
        if self.optimize:
            module = optimizer.optimize(module, target="cpu", log=log)
        prepared = trust(prepare(module, log=log, with_views=True))
        try:
            program = emit(
                prepared,
                units=units,
                plain=self.plain,
                schedule=self.schedule,
                conditions=self.conditions,
            )
        except Exception:
            verify(module)  # its error says more, where there is one
            raise
        return ModuleInC(module, program, views_of(module))
