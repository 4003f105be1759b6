"""Monoids: an identity leaves every value alone, to the bit, and is missing where none does."""

import numpy as np
import pytest

import hlo
import interpreter
from hlo.monoid import MONOIDS
from hlo.opcode import OPCODES
from hlo.types.element_type import ARRAY_TYPES

BITWISE = {"and", "or", "xor"}


def test_monoids_are_the_associative_opcodes() -> None:
    assert MONOIDS.keys() == {n for n, op in OPCODES.items() if "associative" in op.traits}


@pytest.mark.parametrize(
    ("opcode", "element_type"),
    [
        pytest.param(opcode, t, id=f"{opcode}-{t.name}")
        for opcode in MONOIDS
        for t in ARRAY_TYPES
        if opcode not in BITWISE or not (t.is_floating or t.is_complex)
    ],
)
def test_identities_leave_values_alone(opcode: str, element_type) -> None:
    identity = MONOIDS[opcode].identity(element_type)
    if identity is None:
        small = element_type.bits == 1 or (element_type.bits <= 8 and element_type.is_floating)
        assert small or (element_type.is_complex and opcode in ("maximum", "minimum"))
        return
    name = element_type.name
    text = (
        f"HloModule m\nENTRY e {{ x = {name}[4] parameter(0)  i = {name}[] parameter(1)\n"
        f"b = {name}[4] broadcast(i), dimensions={{}}\nROOT r = {name}[4] {opcode}(x, b) }}"
    )
    values = np.asarray([0, 1, 1, 0]).astype(element_type.dtype)
    # The product of two complex numbers adds up, and so loses the sign of zeros.
    if element_type.is_floating or (element_type.is_complex and opcode == "add"):
        values[3] = -values[0]
    got = interpreter.evaluate(hlo.parse(text), values, np.asarray(identity).astype(values.dtype))
    assert got.tobytes() == values.tobytes()
