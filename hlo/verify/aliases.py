"""Rules of shared buffers: of outputs with operands, and of the module's with its parameters.

Sources: XLA's `hlo_input_output_alias_config.cc`, `hlo_buffer_donor_config` and the checks of
`output_to_operand_aliasing` in `hlo_verifier.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import compatible, show
from hlo.types.element_type import BUFFER
from hlo.verify.scope import refuse
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from hlo.types.values import InputOutputAlias, OutputOperandAlias


def subshape(shape: Shape, index: Sequence[int]) -> Shape | None:
    """The shape at an index into nested tuples; None if there is none."""
    for i in index:
        if not shape.is_tuple or not 0 <= i < len(shape.elements):
            return None
        shape = shape.elements[i]
    return shape


def verify_output_aliases(
    instr: Instruction,
    aliases: Sequence[OutputOperandAlias],
    output: Shape,
    operands: Sequence[Shape],
) -> None:
    """Check that outputs share buffers with operands of the same shape.

    Raises
    ------
    HloError
        HLO080.
    """
    for alias in aliases:
        if not 0 <= alias.operand < len(operands):
            refuse(instr, "HLO080", f"output_to_operand_aliasing: no operand {alias.operand}")
        result = subshape(output, alias.output_index)
        other = subshape(operands[alias.operand], alias.operand_index)
        if result is None or other is None:
            refuse(
                instr,
                "HLO080",
                f"output_to_operand_aliasing: no index {list(alias.output_index)} of the output "
                f"or {list(alias.operand_index)} of operand {alias.operand}",
            )
        # A buffer shares memory with the array that it is made of, and the other way round.
        if not compatible(_unwrapped(result), _unwrapped(other)):
            refuse(
                instr,
                "HLO080",
                f"output_to_operand_aliasing: {show(result)} cannot share memory with "
                f"{show(other)}",
            )


def _unwrapped(shape: Shape) -> Shape:
    return shape.elements[0] if shape.element_type is BUFFER else shape


def verify_module_aliases(module: Module) -> None:
    """Check `input_output_alias` and `buffer_donor`.

    Raises
    ------
    HloError
        HLO075 for aliases, HLO076 for donors.
    """
    parameters = [parameter.shape for parameter in module.entry.parameters]
    outputs: set[tuple[int, ...]] = set()
    inputs: set[tuple[int, tuple[int, ...]]] = set()
    for alias in module.header.input_output_alias:
        problem = _alias_problem(module, alias, parameters)
        key = (alias.parameter, alias.parameter_index)
        if alias.output_index in outputs:
            problem = "this output has two aliases"
        if key in inputs:
            problem = f"parameter {alias.parameter} is taken already"
        if problem:
            where = ",".join(map(str, alias.output_index))
            raise HloError("HLO075", f"input_output_alias {{{where}}}: {problem}", module.span)
        outputs.add(alias.output_index)
        inputs.add(key)
    for donor in module.header.buffer_donor:
        problem = ""
        if _parameter(parameters, donor.parameter, donor.parameter_index) is None:
            problem = f"there is no parameter {donor.parameter}"
        elif (donor.parameter, donor.parameter_index) in inputs:
            problem = f"parameter {donor.parameter} has an input_output_alias already"
        if problem:
            raise HloError("HLO076", f"buffer_donor: {problem}", module.span)


def _alias_problem(module: Module, alias: InputOutputAlias, parameters: Sequence[Shape]) -> str:
    """The fault of one alias; "" if it has none."""
    result = subshape(module.entry.root.shape, alias.output_index)
    if result is None or not result.is_array:
        return "the entry has no such output"
    taken = _parameter(parameters, alias.parameter, alias.parameter_index)
    if taken is None:
        return f"the entry has no parameter {alias.parameter} there"
    if result.unpacked_bytes != taken.unpacked_bytes:
        return (
            f"{show(result)} takes {result.unpacked_bytes:,} bytes, "
            f"and parameter {alias.parameter} has {taken.unpacked_bytes:,}"
        )
    layout = module.header.entry_computation_layout
    if alias.must and layout is not None:
        wanted = subshape(layout.result, alias.output_index)
        aliased = subshape(layout.parameters[alias.parameter], alias.parameter_index)
        if wanted != aliased:
            return f"must-alias of {wanted} with {aliased}, which differ"
    return ""


def _parameter(parameters: Sequence[Shape], number: int, index: Sequence[int]) -> Shape | None:
    """The array at a parameter's index; None if there is none."""
    if not 0 <= number < len(parameters):
        return None
    leaf = subshape(parameters[number], index)
    return leaf if leaf is not None and leaf.is_array else None


def verify_entry_layout(module: Module) -> None:
    """Check that `entry_computation_layout` has the entry's parameters and result.

    Raises
    ------
    HloError
        HLO077.
    """
    layout = module.header.entry_computation_layout
    if layout is None:
        return
    parameters = module.entry.parameters
    if len(layout.parameters) != len(parameters):
        raise HloError(
            "HLO077",
            f"entry_computation_layout has {counted(len(layout.parameters), 'parameter')}, "
            f"the entry {len(parameters)}",
            module.span,
        )
    for number, (said, parameter) in enumerate(zip(layout.parameters, parameters, strict=True)):
        if not compatible(said, parameter.shape):
            raise HloError(
                "HLO077",
                f"entry_computation_layout: parameter {number} is {show(said)}, "
                f"but {parameter.name} is {show(parameter.shape)}",
                parameter.span,
            )
    root = module.entry.root
    if not compatible(layout.result, root.shape):
        raise HloError(
            "HLO077",
            f"entry_computation_layout: the result is {show(layout.result)}, "
            f"but {root.name} is {show(root.shape)}",
            root.span,
        )
