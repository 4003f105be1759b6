"""Functions that a program calls: of Python, and foreign ones of `jax.ffi`."""

from __future__ import annotations

import dataclasses
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_jax.private.versions import PLATFORM, module

if TYPE_CHECKING:
    from collections.abc import Callable


def emit_callbacks(whole: str, shards: str, enter: Callable[[Any], tuple[int, Any]]) -> None:
    """Let `pure_callback`, `io_callback` and `jax.debug` become a custom call of PyHLO's.

    JAX emits callbacks into Python for platforms of a list only. Its own custom call finds the
    function through a part of jaxlib that plugins can't reach.

    Parameters
    ----------
    whole : the name of the custom call; its attribute `index` is the function's number.
    shards : the same, for functions that each device calls with its part of an array.
    enter : takes a function; gives its number, and what the program keeps as long as it may call.
    """
    callback = module("jax._src.callback")
    emit = callback.emit_python_callback

    def emit_ours(
        ctx: Any, function: Any, token: Any, operands: Any, operand_avals: Any, result_avals: Any,
        *, has_side_effect: bool, sharding: Any = None, **others: Any,
    ) -> Any:  # fmt: skip
        if tuple(ctx.module_context.platforms) != (PLATFORM,):
            more = {"has_side_effect": has_side_effect, "sharding": sharding, **others}
            return emit(ctx, function, token, operands, operand_avals, result_avals, **more)
        if others.get("partitioned") and result_avals:
            raise ValueError("Partitioned callback not supported with return values.")
        number, kept = enter(_checked(function, result_avals))
        ctx.module_context.add_keepalive(kept)
        if token:
            abstract = module("jax._src.core").abstract_token
            operands = [token, *operands]
            # Without results, the sharding that every operation must have is the token's.
            sharding = _with_token(sharding) if result_avals else sharding
            avals_in, avals_out = [abstract, *ctx.avals_in], [abstract, *ctx.avals_out]
            ctx = dataclasses.replace(ctx, avals_in=avals_in, avals_out=avals_out)
        build = module("jax._src.ffi").build_ffi_lowering_function
        target = shards if others.get("partitioned") else whole
        called = build(target, has_side_effect=has_side_effect)(
            ctx, *operands, index=np.uint64(number)
        )
        if sharding is not None:
            _set_sharding(ctx, called, sharding)
        results = list(called.results)
        return results[bool(token) :], results[0] if token else token, function

    callback.emit_python_callback = emit_ours


def _set_sharding(ctx: Any, operation: Any, sharding: Any) -> None:
    """Say how an operation's results are divided; before 0.10 it took no context."""
    set_sharding = module("jax._src.interpreters.mlir").set_sharding
    context = [ctx.module_context] if len(signature(set_sharding).parameters) > 2 else []
    set_sharding(*context, operation, sharding)


def _with_token(sharding: Any) -> Any:
    """The shardings of results, with one for a token in front of them."""
    if not hasattr(sharding, "shardings"):
        return sharding
    sdy, first = module("jax._src.sharding_impls"), sharding.shardings[0]
    own = sdy.SdyArray(mesh_shape=(), dim_shardings=(), logical_device_ids=first.logical_device_ids)
    return sdy.SdyArrayList((own, *sharding.shardings))


def _checked(function: Any, result_avals: Any) -> Callable[..., list[Any]]:
    """A callback whose results are arrays, and of the shapes that were promised."""
    dtypes = module("jax._src.dtypes")

    def call(*arguments: Any) -> list[Any]:
        made = function(*arguments)
        if len(made) != len(result_avals):
            counts = f"Expected: {len(result_avals)}, Actual: {len(made)}"
            raise RuntimeError(f"Mismatched number of outputs from callback. {counts}")
        arrays = [dtypes.canonicalize_value(np.asarray(value)) for value in made]
        for k, (array, aval) in enumerate(zip(arrays, result_avals, strict=True)):
            for what in ("shape", "dtype"):
                found, wanted = getattr(array, what), getattr(aval, what)
                if found != wanted:
                    start = f"Incorrect output {what} for return value #{k}"
                    raise RuntimeError(f"{start}: Expected: {wanted}, Actual: {found}")
        return arrays

    return call


def hear_of_foreign_functions(target: Callable[..., None], type_: Callable[..., None]) -> None:
    """Be told of handlers registered with `jax.ffi` for this platform, earlier ones included.

    Parameters
    ----------
    target : takes a name, capsules, the platform, the version of the interface, and traits.
    type_ : takes a name and capsules.
    """
    client = module("jaxlib.xla_client")
    client.register_custom_call_handler(PLATFORM, target)
    client.register_custom_type_handler(PLATFORM, type_)


def targets_of_cpu() -> dict[str, Any]:
    """The foreign functions that are registered for XLA's CPU backend: capsules, by stage."""
    return module("jaxlib.xla_client").custom_call_targets("cpu")
