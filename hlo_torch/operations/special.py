"""Special functions, by the approximations with which StableHLO's reader writes those of CHLO."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo.frontends.stablehlo.operations import higher
from hlo_torch.operations.table import RULES, Value, aten, converted, floats_of, to_shape
from optimizer.derivative.table import Detached
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


class _SpecialScope:
    """A scope whose instructions belong to no computation yet, as those functions need one."""

    def __init__(self) -> None:
        self.builder = self
        self.add, self.number = Detached().add, Detached().number

    def __enter__(self) -> None:
        """Operators make instructions already."""

    def __exit__(self, *_: object) -> None:
        """They still do."""


def _of(function: Callable[..., Instruction], out: Shape, *operands: Value) -> Instruction:
    wide = out.with_type(floats_of(out.element_type))
    made = function(_SpecialScope(), *(to_shape(wide, x) for x in operands))
    return converted(made, out.element_type)


# fmt: off
FUNCTIONS = {
    "lgamma.default": higher.lgamma,
    "digamma.default": higher.digamma,
    "erfc.default": higher.erfc,
    "erfinv.default": higher.erf_inv,
    "erf_inv.default": higher.erf_inv,
    "special_zeta.default": higher.zeta,
    "special_zeta.self_scalar": higher.zeta,
    "special_zeta.other_scalar": higher.zeta,
    "zeta.default": higher.zeta,
    "special_i1e.default": higher.bessel_i1e,
    "bessel_i1e.default": higher.bessel_i1e,
}
# fmt: on
for _name, _function in FUNCTIONS.items():
    RULES[_name] = partial(_of, _function)


@aten("polygamma.default")
def polygamma(out: Shape, n: int, x: Instruction) -> Instruction:
    """The n-th derivative of digamma; the first one of small numbers by reflection."""
    if n != 1:
        return _of(higher.polygamma, out, n, x)
    x = to_shape(out, x)
    sine = make("sine", x * math.pi)
    small = make("compare", x, splat(0.5, x.shape), direction="LT")
    found = _of(higher.polygamma, out, 1, make("select", small, splat(1, x.shape) - x, x))
    return make("select", small, splat(math.pi**2, x.shape) / (sine * sine) - found, found)


@aten("special_i1.default", "bessel_i1.default")
def bessel_i1(out: Shape, x: Instruction) -> Instruction:
    """The modified Bessel function of order 1."""
    wide = to_shape(out.with_type(floats_of(out.element_type)), x)
    scaled = _of(higher.bessel_i1e, wide.shape, wide)
    return converted(scaled * make("exponential", make("abs", wide)), out.element_type)


@aten("nextafter.default")
def nextafter(out: Shape, x: Instruction, y: Instruction) -> Instruction:
    """The number next to x on the way to y."""
    function: Any = higher.next_after
    return function(_SpecialScope(), None, [to_shape(out, v) for v in (x, y)])
