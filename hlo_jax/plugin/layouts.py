"""The layouts extension: how arrays lie in memory, as text such as "{1,0}".

PJRT grows by extensions: structs in a chain, each with a kind and functions of its own. This one
tells JAX the layouts of buffers and programs, which the older part of PJRT had no place for.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from hlo.types.shape import row_major
from hlo_jax.plugin.loaded import loaded
from hlo_jax.plugin.memory import numbers_array
from hlo_jax.plugin.table import answers
from hlo_jax.shim import shim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_jax.abi import structs as s


def _layout(minor_to_major: Sequence[int]) -> int:
    """A layout, for its caller to free."""
    order = numbers_array(minor_to_major, ctypes.c_int64)
    return shim().make_layout(len(minor_to_major), ctypes.addressof(order))


@answers("PJRT_Layouts_PJRT_Client_GetDefaultLayout", "PJRT_Layouts_PJRT_Topology_GetDefaultLayout")
def default_layout(args: s.LayoutOfType) -> None:
    """Row-major, for every type."""
    args.layout = _layout(row_major(args.num_dims).minor_to_major)


@answers("PJRT_Layouts_PJRT_Executable_GetOutputLayouts")
def output_layouts(args: s.LayoutsOfExecutable) -> None:
    """The layouts of the results."""
    self = loaded(args.executable)
    handles = numbers_array([_layout(r.minor_to_major) for r in self.program.results])
    args.count, args.layouts = len(self.program.results), self.keep(handles)


@answers("PJRT_Layouts_PJRT_Executable_GetParameterLayouts")
def parameter_layouts(args: s.LayoutsOfExecutable) -> None:
    """The layouts of the parameters."""
    self = loaded(args.executable)
    handles = numbers_array([_layout(p.minor_to_major) for p in self.program.parameters])
    args.count, args.layouts = len(self.program.parameters), self.keep(handles)
