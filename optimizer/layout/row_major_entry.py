"""The layouts of a module's arguments and results on a GPU: rows, whatever it asks for.

Arrays of a device lie in row-major order. A result that HLO wants in another layout would be
computed in that one, and then transposed into rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.types.values import ComputationLayout
from optimizer.dynamic_padder.padding import is_dynamic

if TYPE_CHECKING:
    from hlo.instruction import Module


def row_major_entry(module: Module) -> Module:
    """The module whose header asks for arguments and results by rows; itself if it does.

    It is the module itself, too, if sizes are known at run time only, as then no bitcast can stand
    for another layout.
    """
    said, entry = module.header.entry_computation_layout, module.entry
    if said is None:
        said = ComputationLayout(tuple(p.shape for p in entry.parameters), entry.root.shape)
    if is_dynamic(module) or all(s.is_row_major for s in (*said.parameters, said.result)):
        return module
    parameters = tuple(shape.with_default_layout() for shape in said.parameters)
    layout = ComputationLayout(parameters, said.result.with_default_layout())
    return replace(module, header=replace(module.header, entry_computation_layout=layout))
