"""The dialects in which StableHLO's own tests are written: `check` and `interpreter`.

Their operations become custom calls by their names, which `interpreter.custom_calls.checks` has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.items import Integer
from hlo.frontends.stablehlo.operations.control import spelled
from hlo.frontends.stablehlo.table import given, translates
from hlo.types.literal import literal
from hlo.types.shape import tuple_of

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Computation, Instruction

    Operands = list[Instruction]

# The options that an operation may have, by name.
_OPTIONS = (
    *("tolerance", "max_ulp_difference", "min_ulp_difference", "probe_id", "iter", "iteration"),
)


def _call(
    scope: RegionScope, op: Operation, target: str, operands: Operands, *called: Computation,
    **more: Any,
) -> list[Instruction]:  # fmt: skip
    """A call that runs, though nothing may use its values."""
    options = {name: op.attributes[name] for name in _OPTIONS if name in op.attributes} | more
    shapes = op.result_shapes
    whole = scope.add(
        "custom-call",
        *operands,
        shape=shapes[0] if len(shapes) == 1 else tuple_of(*shapes),
        called=called,
        custom_call_target=target,
        custom_call_has_side_effect=True,
        api_version="API_VERSION_TYPED_FFI",
        annotations=scope.annotations(op, spelled(options)),
    )
    return scope.unpacked(whole, len(shapes))


@translates(
    "check.expect_eq", "check.expect_almost_eq", "check.expect_close",
    "check.expect_serialized_eq", "interpreter.print", "interpreter.probe",
)  # fmt: skip
def check(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """An error of the run if two values are not alike; or a value told of or kept."""
    op.attributes.pop("words", None)
    return _call(scope, op, op.name, operands)


@translates("check.expect_eq_const", "check.expect_almost_eq_const")
def check_constant(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """The same, for a value that the operation writes."""
    shape = operands[0].shape
    words: Any = given(op, "words", default=())
    value: Any = words[0] if words else given(op, "value")
    expected = scope.builder.constant(literal(np.asarray(value), shape))
    return _call(scope, op, op.name.removesuffix("_const"), [*operands, expected])


@translates("interpreter.run_parallel")
def run_parallel(scope: RegionScope, op: Operation, operands: Operands) -> list[Instruction]:
    """Functions that run on a grid of devices, replicas of partitions.

    Operands and values are those of one device after the other.
    """
    rows: Any = given(op, "programs")
    if not rows or len({len(row) for row in rows}) != 1:
        message = "`programs` is a list of as many functions for each replica"
        raise HloError("HLO013", message, op.span)
    infeed: Any = given(op, "infeed", default=())
    names = [*(str(name) for row in rows for name in row), *map(str, infeed)]
    called = [scope.whole.computation(name, op.span) for name in names]
    sizes = {"replicas": Integer(len(rows)), "partitions": Integer(len(rows[0]))}
    return _call(scope, op, op.name, operands, *called, **sizes)
