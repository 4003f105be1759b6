"""A program as PyHLO optimizes it, for `compiled.as_text()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import optimizer
from hlo_jax.abi.proto import bytes_field, fields
from hlo_jax.private.programs import hlo_of_text

if TYPE_CHECKING:
    from hlo_jax.programs.program import JaxProgram

# Fields of a HloModuleProto that its text does not have: how results and parameters are divided.
_SHARDINGS = (12, 14)


def optimized(program: JaxProgram) -> bytes:
    """The HloModuleProto of the optimized module; of the module as it came if XLA can't read it.

    XLA's parser does not know every form of HLO that its printer writes.
    """
    module = optimizer.optimize(program.module, target="cpu", observers=())
    kept = [
        bytes_field(k, v)
        for k, v in fields(program.proto)
        if k in _SHARDINGS and isinstance(v, bytes)
    ]
    try:
        return b"".join([hlo_of_text(str(module)), *kept])
    except Exception:
        return program.proto
