"""XLA as a backend, through jaxlib: named as any other, and its refusals are errors."""

import numpy as np
import pytest

from hlo import HloError, parse
from hlo.backend_names import find
from hlo_tools import cli
from interpreter import evaluate
from interpreter.numbers.compare import compare

NESTED = """HloModule nested
ENTRY e {
  x = f32[2,3] parameter(0)
  y = s4[3] parameter(1)
  z = f32[2,3] multiply(x, x)
  t = (s4[3], bf16[]) tuple(y, bf16[] constant(1.5))
  ROOT r = (f32[2,3], (s4[3], bf16[])) tuple(z, t)
}
"""


@pytest.mark.usefixtures("jax")
def test_xla_gives_nested_values_of_any_type() -> None:
    module = parse(NESTED)
    given = [np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, -8, 7])]
    given[1] = given[1].astype(module.entry.parameters[1].shape.element_type.dtype)
    (got,), want = find("xla").load(module)([given]), evaluate(module, *given)
    np.testing.assert_array_equal(got[0], want[0])
    assert got[1][0].tolist() == want[1][0].tolist()
    assert got[1][1].dtype == want[1][1].dtype


@pytest.mark.usefixtures("jax")
def test_xla_computes_as_for_jax() -> None:
    """By its own default (`xla_cpu_enable_fast_min_max`), 0 would be the maximum of 0 and NaN."""
    text = "x = f32[4] parameter(0)\ny = f32[4] parameter(1)\nROOT z = f32[4] maximum(x, y)"
    module = parse(f"HloModule m\nENTRY e {{ {text} }}")
    given = np.float32([0, np.nan, -0.0, 0.0]), np.float32([np.nan, 0, 0.0, -0.0])
    (got,) = find("xla").load(module)([given])
    assert compare(got, evaluate(module, *given)) is None


@pytest.mark.usefixtures("jax")
def test_the_command_compares_with_xla(tmp_path, capsys) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(NESTED)
    words = ["run", str(path), "--seed", "1", "--quiet", "--platform", "c", "--reference", "xla"]
    assert cli.main(words) == 0
    assert "equal to xla, arrays: 3" in capsys.readouterr().out


@pytest.mark.usefixtures("jax")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ROOT x = s1[2] parameter(0)", "x: jaxlib passes no s1"),
        ("ROOT x = (f32[]) parameter(0)", "x: jaxlib passes no (f32"),
        ('ROOT x = f32[] custom-call(), custom_call_target="no"', "XLA refuses m: "),
        # XLA gave the value of another program: x itself.
        ("x = f32[2,2] parameter(0) ROOT b = f32[2,2]{0,1} bitcast(x)", "b: XLA chooses"),
    ],
)
def test_what_xla_refuses_is_an_error(line: str, told: str) -> None:
    with pytest.raises(HloError) as caught:
        find("xla").load(parse(f"HloModule m\nENTRY e {{ {line} }}"))
    assert caught.value.code == "HLO181"
    assert caught.value.message.startswith(told)
