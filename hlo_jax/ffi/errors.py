"""Errors of handlers, and of their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo_jax.abi.numbers import ErrorCode


class HandlerError(Exception):
    """An error with the code that JAX shall see."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
