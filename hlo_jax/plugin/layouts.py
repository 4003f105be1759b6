"""The layouts extension: how arrays lie in memory, as text such as "{1,0}".

PJRT grows by extensions: structs in a chain, each with a kind and functions of its own. This one
tells JAX the layouts of buffers and programs, which the older part of PJRT had no place for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.shape import Layout, row_major
from hlo_jax.plugin.loaded import loaded
from hlo_jax.plugin.memory import no_deleter, numbers_array, read_numbers, text
from hlo_jax.plugin.table import answers
from hlo_jax.shim import records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo_jax.abi import structs as s

# A PJRT_Layouts_MemoryLayout is the address of its text, which is kept for good: there are few.
_LENGTHS: dict[int, int] = {}


def _handle(minor_to_major: Iterable[int]) -> int:
    address, length = text(str(Layout(tuple(minor_to_major))))
    _LENGTHS[address] = length
    return address


@answers("PJRT_Layouts_MemoryLayout_Serialize")
def serialize(args: s.LayoutSerialize) -> None:
    """The text."""
    args.serialized_bytes, args.serialized_bytes_size = args.layout, _LENGTHS[args.layout]
    args.serialized_layout, args.serialized_layout_deleter = 0, no_deleter()


@answers("PJRT_Layouts_PJRT_Client_GetDefaultLayout", "PJRT_Layouts_PJRT_Topology_GetDefaultLayout")
def default_layout(args: s.LayoutOfType) -> None:
    """Row-major, for every type."""
    args.layout = _handle(row_major(args.num_dims).minor_to_major)


@answers("PJRT_Layouts_PJRT_Buffer_MemoryLayout")
def buffer_layout(args: s.LayoutOfBuffer) -> None:
    """The layout of a buffer."""
    buffer = records.Buffer.from_address(args.buffer)
    args.layout = _handle(read_numbers(buffer.minor_to_major, buffer.rank))


@answers("PJRT_Layouts_PJRT_Executable_GetOutputLayouts")
def output_layouts(args: s.LayoutsOfExecutable) -> None:
    """The layouts of the results."""
    self = loaded(args.executable)
    handles = numbers_array([_handle(r.minor_to_major) for r in self.program.results])
    args.count, args.layouts = len(self.program.results), self.keep(handles)


@answers("PJRT_Layouts_PJRT_Executable_GetParameterLayouts")
def parameter_layouts(args: s.LayoutsOfExecutable) -> None:
    """The layouts of the parameters."""
    self = loaded(args.executable)
    handles = numbers_array([_handle(p.minor_to_major) for p in self.program.parameters])
    args.count, args.layouts = len(self.program.parameters), self.keep(handles)
