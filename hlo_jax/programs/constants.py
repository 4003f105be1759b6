"""Large constants: read from the HloModuleProto, not as text.

jaxlib prints a module's text without them, `constant({...})`. To print a million numbers and to
read them again takes seconds; in the message they lie as they do in memory, but for integers of 32
and 64 bits, which are varints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import hlo
from hlo.attributes import Constant
from hlo.types.literal import literal
from hlo.walk import rebuild, rebuild_module
from hlo_jax.abi.proto import fields, varints
from hlo_jax.private.programs import text_of_hlo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape

    Bytes = bytes | memoryview

# Fields of HloModuleProto, HloComputationProto, HloInstructionProto and LiteralProto.
_COMPUTATIONS, _INSTRUCTIONS, _NAME, _LITERAL = 3, 2, 1, 8
# Of a LiteralProto, those that are no elements: shape, sparse_indices and dynamic_sizes.
_NO_ELEMENTS = (1, 14, 34)
_VARINTS = ("s32", "u32", "s64", "u64")


def module_of(proto: bytes) -> Module:
    """The module in a serialized HloModuleProto.

    Raises
    ------
    HloError
        HLO001 to HLO099 if PyHLO can't read its text.
    """
    try:
        return with_constants(hlo.parse(text_of_hlo(proto, constants=False)), proto)
    except ValueError:  # a form of constants that JAX does not send
        return hlo.parse(text_of_hlo(proto))


def with_constants(module: Module, proto: bytes) -> Module:
    """The module with the values of constants that its text elides.

    Raises
    ------
    ValueError
        If a constant is not in the message, or is no array.
    """
    elided = {i for i in module.instructions() if _is_elided(i)}
    if not elided:
        return module
    found = _literals(proto, {i.name for i in elided})

    def change(computation: Computation) -> Computation:
        own = [i for i in computation.instructions if i in elided]
        return rebuild(computation, {i: _with_value(i, found) for i in own})

    return rebuild_module(module, change, prune=False)


def _is_elided(instr: Instruction) -> bool:
    attrs = instr.attrs
    return isinstance(attrs, Constant) and attrs.literal.elided


def _with_value(instr: Instruction, found: Mapping[str, Bytes]) -> Instruction:
    if instr.name not in found or not instr.shape.is_array:
        raise ValueError(f"the value of {instr.name} is in no field of the message")
    value = literal(_array(found[instr.name], instr.shape), instr.shape)
    assert isinstance(instr.attrs, Constant)
    return instr.with_(attrs=replace(instr.attrs, literal=value))


def _literals(proto: bytes, names: set[str]) -> dict[str, Bytes]:
    """The LiteralProto of some instructions, by their names."""
    found: dict[str, Bytes] = {}
    for computation in _messages(memoryview(proto), _COMPUTATIONS):
        for instr in _messages(computation, _INSTRUCTIONS):
            # Their literal comes after their name.
            name = next((bytes(each).decode() for each in _messages(instr, _NAME)), "")
            if name in names:
                found[name] = next(_messages(instr, _LITERAL), b"")
    return found


def _messages(message: Bytes, field: int) -> Any:
    return (content for number, content in fields(message) if number == field)


def _array(message: Bytes, shape: Shape) -> np.ndarray:
    """The array of a LiteralProto, whose elements lie in the order of the shape's layout."""
    kind = shape.element_type
    # One field has the elements; numbers that are packed may come in several parts.
    numbers = [content for number, content in fields(message) if number not in _NO_ELEMENTS]
    parts = [_elements(each, kind.name) for each in numbers if not isinstance(each, int)]
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if kind.is_integer and kind.bits < 8:
        made = whole.view(np.int8 if kind.name[0] == "s" else np.uint8).astype(kind.dtype)
    else:
        made = whole.view(kind.dtype)
    if made.size != shape.size:
        raise ValueError(f"a literal of {shape} has {made.size} elements")
    major = shape.layout.minor_to_major[::-1] if shape.layout else range(len(shape.dims))
    return made.reshape([shape.dims[d] for d in major]).transpose(np.argsort(major))


def _elements(content: Bytes, kind: str) -> np.ndarray:
    """The bytes of elements."""
    if kind in _VARINTS:
        return varints(content).astype(f"u{int(kind[1:]) // 8}").view(np.uint8)
    return np.frombuffer(content, np.uint8)
