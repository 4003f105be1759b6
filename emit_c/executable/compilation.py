"""From a sound module to a callable: find its library in the cache, or make it, and load it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from emit_c.executable import module_cache
from emit_c.executable.strided import loaded
from hlo.support.garbage import no_collection
from optimizer.dynamic_padder.padding import is_dynamic

if TYPE_CHECKING:
    from emit_c.conditions import Conditions
    from emit_c.executable.building import Building
    from emit_c.executable.built import Built
    from emit_c.executable.executable import Executable
    from emit_c.kernels.passes import KernelPass
    from hlo.instruction import Module
    from hlo.verify import Sound


@dataclass(frozen=True)
class Compilation:
    """A module that is to be compiled, and how; see `emit_c.compile` for the options.

    Attributes
    ----------
    sound : instructions of the module that the verifier has seen.
    """

    module: Module
    sound: Sound
    optimize: bool
    remember: bool
    plain: bool
    conditions: Conditions
    schedule: KernelPass | None = None

    @no_collection()
    def executable(self) -> Executable:
        """Compile the module, or find its library in the cache, and load it.

        Raises
        ------
        HloError
            as `emit_c.compile`, of a module that is well-formed.
        """
        if is_dynamic(self.module):
            return self._building().dynamic()
        key = ""
        if self.remember and self.schedule is None:  # it may do anything
            key = module_cache.cache_key(self.module, self.optimize, self.plain, self.conditions)
        built = module_cache.load_built(key, self.module) if key else None
        built = built or self._building().built(key)
        try:
            return self._loaded(built)
        except OSError:
            if built.library.exists():
                raise
            # Another process has removed the library from the cache since it was found.
            return self._loaded(self._building().built(key))

    def _loaded(self, built: Built) -> Executable:
        about = partial("{}\n{}".format, self.conditions.subnormals, self.module)
        return loaded(self.module.entry, built, about)

    def _building(self) -> Building:
        """The maker of the library, with the optimizer and the emitter."""
        from emit_c.executable.building import Building  # noqa: PLC0415  the cache may be enough

        return Building(
            self.module, self.sound, self.optimize, self.plain, self.conditions, self.schedule
        )
