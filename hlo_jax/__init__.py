"""PyHLO as a backend of JAX: a PJRT plugin in Python.

JAX finds this package by its entry point and calls `initialize`. The folders and files, each of
which needs only those before it: `abi` (PJRT's structs and functions as
tables), `private` (what is called of JAX that is not public), `shim` (the part in C), `programs`
(what JAX sends), `engines` (what runs it), `plugin` (the functions that JAX calls) and `loadable`
(the same for programs that are not Python).
"""

from __future__ import annotations

__all__ = ["explain", "initialize"]


def explain() -> str:
    """The engine of each program that JAX holds, its calls, and why no other engine runs it."""
    from hlo_jax.explained import explain as explained  # noqa: PLC0415 - JAX may never need it

    return explained()


def initialize() -> None:
    """Register the plugin with JAX, which calls this when it looks for backends.

    Where that fails, JAX would only log why, and end with the message that it knows no such
    backend. So a backend is registered that raises the reason when it is started.
    """
    from hlo_jax.private.registration import choose_if_viewed, is_asked_for, register_failure  # noqa: PLC0415 - as above

    choose_if_viewed()
    if not is_asked_for():
        return
    try:
        from hlo_jax.plugin.register import register  # noqa: PLC0415 - imports all of PyHLO

        register()
    except Exception as error:
        register_failure(error)
