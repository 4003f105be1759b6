"""C as a backend: a module is optimized, emitted as C, compiled and loaded.

Devices are threads of this process, or processes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, cast

import emit_c
from hlo.backend import Backend, ModuleCompiler, ModuleExecutable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.subnormals import Subnormals
    from emit_c.executable.profile import Profile
    from emit_c.executable.sanitize import SanitizerReport
    from emit_c.kernels.passes import KernelPass
    from hlo.instruction import Module


class CompiledC(ModuleExecutable):
    """A module as C, for as many replicas as it is called with.

    Parameters
    ----------
    transport : "threads", or "mpi" for a process each; then each process is given all values.
    options : of `emit_c.compile`.
    """

    def __init__(self, module: Module, transport: str | None = None, **options: Any) -> None:
        # As of all imports below: only some need it.
        from optimizer.partitioning.divided import DividedModule  # noqa: PLC0415

        self.module, self._transport = module, transport
        self._divided = divided = DividedModule(module)

        @cache
        def compiled(replicas: int) -> emit_c.Executable:
            program = divided.for_replicas(replicas)
            return cast("Any", emit_c.compile)(program, donate=True, **options)

        self._compiled, self._first = compiled, compiled(divided.module.header.replica_count)
        self.native = self._first.native

    @cached_property
    def code_bytes(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Bytes of the library."""
        return self._first.library.stat().st_size

    def __call__(self, *arguments: Any) -> Any:
        """The value on one device."""
        return self.run([arguments])[0]

    def run(self, per_device: Sequence[Sequence[Any]]) -> list[Any]:
        """The value on each device; all of them run together.

        A lone device may run any module; else there are as many replicas as arguments.
        """
        dealt, replicas = self._divided.dealt(per_device)
        executable = self._compiled(replicas)
        if self._transport == "mpi":
            from emit_c.executable.processes import processes_of  # noqa: PLC0415

            processes = processes_of()
            processes.agree(executable.program)
            own = executable(*dealt[processes.rank], communicator=processes)
            return processes.gather_values(own)[: len(per_device)]
        if len(dealt) == 1:
            return [executable(*dealt[0])]
        return executable(per_device=dealt)[: len(per_device)]


class CCompiler(ModuleCompiler):
    """Optimizes a module and compiles its C."""

    def compile(
        self,
        module: Module,
        *,
        remember: bool = True,
        subnormals: Subnormals | None = None,
        threads: int | None = None,
        transport: str | None = None,
        schedule: KernelPass | None = None,
    ) -> CompiledC:
        """The module as C.

        Parameters
        ----------
        remember : use the user's cache of libraries.
        subnormals, threads, schedule : as of `emit_c.compile`.
        transport : as of `CompiledC`.

        Raises
        ------
        HloError
            as `emit_c.compile`.
        """
        return CompiledC(
            module,
            transport,
            remember=remember,
            subnormals=subnormals,
            threads=threads,
            schedule=schedule,
        )


def _limit_threads(number: int) -> None:
    emit_c.set_threads(number)


def _profiled(
    module: Module, arguments: Sequence[Any], schedule: KernelPass | None = None
) -> Profile:
    return _profiled_as_is(_optimized(module), arguments, schedule)


def _profiled_as_is(
    module: Module, arguments: Sequence[Any], schedule: KernelPass | None = None
) -> Profile:
    from emit_c.executable.profile import profile  # noqa: PLC0415

    return profile(module, arguments, schedule=schedule)


def _sanitized(module: Module, arguments: Sequence[Any]) -> SanitizerReport:
    from emit_c.executable.sanitize import sanitize  # noqa: PLC0415

    return sanitize(_optimized(module), arguments)


def _together(
    module: Module, per_device: Sequence[Sequence[Any]]
) -> tuple[Module, list[Sequence[Any]]]:
    """The optimized module that devices run together, and the arguments of each."""
    from optimizer.partitioning.divided import DividedModule  # noqa: PLC0415

    divided = DividedModule(module)
    dealt, replicas = divided.dealt(per_device)
    return _optimized(divided.for_replicas(replicas)), dealt


def _profiled_together(
    module: Module, per_device: Sequence[Sequence[Any]], schedule: KernelPass | None = None
) -> Profile:
    from emit_c.executable.profile import profile  # noqa: PLC0415

    program, dealt = _together(module, per_device)
    profiled = profile(program, per_device=dealt, schedule=schedule)
    return replace(profiled, value=profiled.value[: len(per_device)])


def _sanitized_together(module: Module, per_device: Sequence[Sequence[Any]]) -> SanitizerReport:
    from emit_c.executable.sanitize import sanitize  # noqa: PLC0415

    program, dealt = _together(module, per_device)
    report = sanitize(program, per_device=dealt)
    return replace(report, value=report.value and report.value[: len(per_device)])


def _optimized(module: Module) -> Module:
    import optimizer  # noqa: PLC0415

    return optimizer.optimize(module, target="cpu")


BACKENDS: Final = {
    "c": Backend(
        "c",
        CCompiler(),
        summary="optimized, emitted as C and compiled for the CPU",
        keeps_subnormals=False,
        offers={
            "threads": _limit_threads,
            "profile": _profiled,
            "profile_as_is": _profiled_as_is,
            "sanitize": _sanitized,
            # Of several devices, which run together: the arguments are those of each.
            "profile_together": _profiled_together,
            "sanitize_together": _sanitized_together,
        },
    )
}
