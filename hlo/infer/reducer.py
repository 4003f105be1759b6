"""The signature that a reducing computation must have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import compatible, expect_parameters, expect_same_dims, scalar_of, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation
    from hlo.types.shape import Shape


def arrays_and_initials(operands: Sequence[Shape]) -> tuple[Sequence[Shape], Sequence[Shape]]:
    """The n arrays that are folded together, and the n values that folding them begins with.

    Raises
    ------
    HloError
        HLO024 if one of them is left over, HLO021 if the arrays differ in size.
    """
    count, odd = divmod(len(operands), 2)
    if odd or not count:
        raise HloError("HLO024", f"takes n arrays and n initial values, not {len(operands)}")
    for operand in operands[:count]:
        expect_same_dims(operands[0], operand)
    return operands[:count], operands[count:]


def expect_reducer(
    computation: Computation, inits: Sequence[Shape], inputs: Sequence[Shape]
) -> tuple[Shape, ...]:
    """Check the type (acc_1, ..., acc_n, x_1, ..., x_n) -> (acc_1, ..., acc_n); scalars all.

    Returns
    -------
    tuple of Shape
        the scalars that the computation yields.

    Raises
    ------
    HloError
        HLO040 if the parameters are wrong, HLO041 if the result is.

    References
    ----------
    XLA, VerifyReducerShape in shape_inference.cc.
    """
    count = len(inputs)
    parameters = expect_parameters(computation, 2 * count)
    result = computation.root.shape
    results = result.elements if result.is_tuple else (result,)
    if len(results) != count or not all(r.is_array and not r.dims for r in results):
        wanted = "a scalar" if count == 1 else f"a tuple of {count} scalars"
        raise HloError("HLO041", f"{computation.name} must yield {wanted}, not {show(result)}")
    for i in range(count):
        if not compatible(results[i], parameters[i]):
            raise HloError(
                "HLO041",
                f"{computation.name} takes {show(parameters[i])} as parameter {i}, "
                f"but yields {show(results[i])}",
                notes=["what a reducer yields is given to it again"],
            )
        for noun, shape in (
            ("the initial value", inits[i]),
            ("an element", scalar_of(inputs[i])),
            (f"parameter {count + i}", parameters[count + i]),
        ):
            if not compatible(results[i], shape, precision=False):
                raise HloError(
                    "HLO040",
                    f"{computation.name} accumulates {show(results[i])}, "
                    f"but {noun} is {show(shape)}",
                )
    return results
