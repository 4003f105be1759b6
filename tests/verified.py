"""Modules for the verifier: the module line, and the body of an entry computation."""

import pytest

import hlo

CALLED = """
add_f32 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
negated { x = f32[4] parameter(0)  ROOT r = f32[4] negate(x) }
pair { x = f32[4] parameter(0)  y = f32[4] parameter(1)  ROOT r = (f32[4]) tuple(x) }
waits { x = f32[] parameter(0)  ROOT r = pred[] constant(false) }
halves { x = f32[] parameter(0), sharding={maximal device=1}  ROOT r = f32[] negate(x) }
"""


def parsed(header: str, body: str) -> hlo.Module:
    """The module, whose body may call the computations above."""
    line = f"HloModule m, {header}" if header else "HloModule m"
    return hlo.parse(f"{line}\n{CALLED}\nENTRY main {{{body}}}")


def check_refused(code: str, header: str, body: str) -> None:
    """Whether the verifier refuses a module, and says where."""
    with pytest.raises(hlo.HloError) as error:
        hlo.verify(parsed(header, body))
    assert error.value.code == code
    assert error.value.span is not None
