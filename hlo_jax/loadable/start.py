"""The start of the plugin in a process of somebody else: what the loadable library runs."""

from __future__ import annotations

import sys

from hlo_jax.plugin.register import hook_into_jax, open_table


def start() -> int:
    """Open the table of PJRT's functions.

    If the process is JAX, its own functions are told of PyHLO, too: those of callbacks, say.

    Returns
    -------
    The address of the PJRT_Api.
    """
    address = open_table()
    if "jax" in sys.modules:
        hook_into_jax()
    return address
