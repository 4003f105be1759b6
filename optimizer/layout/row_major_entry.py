"""The layouts of a module's arguments and results on a GPU: rows, whatever it asks for.

Arrays of a device lie in row-major order. A result that HLO wants in another layout would be
computed in that one, and then transposed into rows.

    (f32[2,3]{0,1})->f32[2,3]{0,1}      (f32[2,3]{1,0})->f32[2,3]{1,0}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.types.values import ComputationLayout
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class RowMajorEntry:
    """Lets the header ask for arguments and results by rows.

    A module whose sizes are known at run time only stays as it is, as then no bitcast can stand
    for another layout.
    """

    name = "row-major-entry"
    xla = "no pass of XLA, whose arrays on a device have the layouts of the header"

    def run(self, module: Module, log: Log) -> Module:
        """The module whose header asks for rows."""
        said, entry = module.header.entry_computation_layout, module.entry
        if said is None:
            said = ComputationLayout(tuple(p.shape for p in entry.parameters), entry.root.shape)
        if is_dynamic(module) or all(s.is_row_major for s in (*said.parameters, said.result)):
            return module
        if not log.rewrite("ask for rows", entry.root):
            return module
        parameters = tuple(shape.with_default_layout() for shape in said.parameters)
        layout = ComputationLayout(parameters, said.result.with_default_layout())
        return replace(module, header=replace(module.header, entry_computation_layout=layout))
