"""Analyses of an executable without a call: its cost, its memory, its code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_jax.abi.members import Args, members
from hlo_jax.abi.structs import ExecutableGetCompiledMemoryStats
from hlo_jax.plugin.loaded import loaded
from hlo_jax.plugin.memory import named_values
from hlo_jax.plugin.table import answers
from optimizer.analysis.cost import module_cost

if TYPE_CHECKING:
    from hlo_jax.abi import structs as s


@answers("PJRT_Executable_GetCostAnalysis")
def cost_analysis(args: s.ExecutableGetCostAnalysis) -> None:
    """Operations and bytes of one call, named as XLA names them."""
    self = loaded(args.executable)
    found = module_cost(self.program.module)
    properties = {
        "flops": float(found.flops),
        "transcendentals": float(found.transcendentals),
        "bytes accessed": float(found.bytes_accessed),
    }
    args.num_properties = len(properties)
    args.properties = self.keep(named_values(properties))


@answers("PJRT_Executable_GetCompiledMemoryStats")
def memory_stats(args: s.ExecutableGetCompiledMemoryStats) -> None:
    """Bytes of a call. There is no other host than the device; peaks are not known."""
    self = loaded(args.executable)
    for name in members(ExecutableGetCompiledMemoryStats):
        if name not in (*members(Args), "executable"):
            setattr(args, name, 0)
    parameters, results = self.program.parameters, self.program.results
    args.argument_size_in_bytes = sum(value.bytes for value in parameters)
    args.output_size_in_bytes = sum(value.bytes for value in results)
    args.alias_size_in_bytes = sum(value.bytes for value in results if value.donor >= 0)
    native = self.engine.native
    args.temp_size_in_bytes = native.arena_bytes if native else 0
    args.generated_code_size_in_bytes = self.engine.code_bytes


@answers("PJRT_Executable_SizeOfGeneratedCodeInBytes")
def code_size(args: s.ExecutableNumber) -> None:
    """Bytes of the shared library; 0 for a program that is interpreted."""
    args.number = loaded(args.executable).engine.code_bytes
