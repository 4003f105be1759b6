"""Finds outputs for parameters whose memory the caller gives up.

buffer_donor={ (0, {}) }      input_output_alias={ {}: (0, {}, may-alias) }
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.types.values import InputOutputAlias
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo.types.shape import Shape
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class OptimizeInputOutputBufferAlias:
    """Lets each donated parameter become the first output of its shape that has none yet."""

    name = "optimize_input_output_buffer_alias"
    xla = "xla/service/optimize_input_output_buffer_alias.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with `input_output_alias` in place of `buffer_donor` where that can be."""
        header, entry = module.header, module.entry
        taken = {alias.output_index for alias in header.input_output_alias}
        free: dict[Shape, list[tuple[int, ...]]] = {}
        for index, shape in entry.root.shape.leaves():
            if shape.is_array and index not in taken:
                free.setdefault(shape, []).append(index)
        aliases, donors = list(header.input_output_alias), list(header.buffer_donor)
        for donor in header.buffer_donor:
            parameter = entry.parameters[donor.parameter]
            outputs = free.get(parameter.shape.at(donor.parameter_index), [])
            if outputs and log.rewrite("donate", parameter, parameter):
                index = outputs.pop(0)
                aliases.append(InputOutputAlias(index, donor.parameter, donor.parameter_index))
                donors.remove(donor)
        if len(donors) == len(header.buffer_donor):
            return module
        aliases.sort(key=lambda alias: alias.output_index)
        changed = replace(header, input_output_alias=tuple(aliases), buffer_donor=tuple(donors))
        return replace(module, header=changed)
