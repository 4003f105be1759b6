"""PJRT's header for C, with all that PyHLO's table has of XLA's: `pjrt_c_api.h`."""

from __future__ import annotations

from hlo_jax.abi import structs
from hlo_jax.abi.functions import FUNCTIONS
from hlo_jax.abi.members import declaration
from hlo_jax.abi.numbers import MAJOR, MINOR, TYPE_NUMBERS

_HANDLES = ("Error", "Event", "Client", "Device", "Buffer", "LoadedExecutable")
_START = f"""/* The part of XLA's pjrt_c_api.h, version {MAJOR}.{MINOR}, that PyHLO has. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
"""
_TABLE = """typedef struct {
  size_t struct_size;
  void *extension_start;
  struct { size_t struct_size; void *extension_start; int major, minor; } version;
"""


def header() -> str:
    """The text of the header. Programs that include it also compile with XLA's."""
    named = {name: struct for name, struct in FUNCTIONS.items() if struct is not None}
    types = [f"  PJRT_Buffer_Type_{t.name.upper()} = {n}," for t, n in TYPE_NUMBERS.items()]
    # Each function takes a struct of its name, and returns an error or NULL.
    functions = [
        f"  PJRT_Error *(*{name})({name}_Args *);" if name in named else f"  void *{name};"
        for name in FUNCTIONS
    ]
    return "\n".join(
        [
            _START,
            *(f"typedef struct PJRT_{name} PJRT_{name};" for name in _HANDLES),
            *("enum {", *types, "};"),
            declaration(structs.PjrtProgram, "PJRT_Program"),
            declaration(structs.ExecuteOptions, "PJRT_ExecuteOptions"),
            *(declaration(struct, f"{name}_Args") for name, struct in named.items()),
            *(_TABLE, *functions, "} PJRT_Api;\n"),
        ]
    )
