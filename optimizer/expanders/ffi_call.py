"""A new custom call of XLA's typed foreign function interface (FFI)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.attributes.annotations import Annotations
from hlo.instruction import Instruction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.types.shape import Shape


def ffi_call(
    target: str, operands: Sequence[Instruction], shape: Shape, options: Mapping[str, int | bool]
) -> Instruction:
    """A custom call of a target, whose backend configuration holds options.

    Parameters
    ----------
    options : booleans, and small integers, such as the letters of LAPACK's options.
    """
    spelled = (
        f"{key} = {str(value).lower() if isinstance(value, bool) else f'{value} : ui8'}"
        for key, value in options.items()
    )
    return Instruction(
        target,
        "custom-call",
        shape,
        tuple(operands),
        CustomCall(custom_call_target=target, api_version="API_VERSION_TYPED_FFI"),
        annotations=Annotations(backend_config=f"{{{', '.join(spelled)}}}"),
    )
