"""HLO becomes StableHLO text: what is written reads back with the same values, here and in XLA."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies.ops import NOT_EVALUATED, STARTS, modules_of
from strategies.values import values

import hlo
import interpreter
from hlo.errors.error import HloError
from hlo.frontends import stablehlo
from hlo.frontends.stablehlo.writing import write
from hlo.opcode import OPCODES
from hlo.verify import trust

MODELS = Path(__file__).parents[2] / "models"
few = settings(
    max_examples=4, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None
)


def test_the_text_is_that_of_mlir():
    """Reducers are regions, fusions are functions, the user's lines are locations."""
    module = hlo.parse("""
    HloModule m, num_partitions=2
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    fused { p = f32[4]{0} parameter(0)  ROOT n = f32[4]{0} negate(p) }
    ENTRY e {
      x = f32[4,8] parameter(0), sharding={devices=[2,1]<=[2]}
      zero = f32[] constant(0)
      s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add,
        metadata={op_name="jit(f)/sum" source_file="f.py" source_line=7}
      f = f32[4] fusion(s), kind=kLoop, calls=fused
      ROOT t = (f32[4], f32[4]) tuple(f, s)
    }""")
    assert (
        write(module)
        == """\
module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) \
-> (tensor<4xf32>, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32> loc("jit(f)/sum"("f.py":7:0))
    %f = "func.call"(%s) <{callee = @fused}> : (tensor<4xf32>) -> tensor<4xf32>
    return %f, %s : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @fused(%p: tensor<4xf32>) -> (tensor<4xf32>) {
    %n = stablehlo.negate %p : tensor<4xf32>
    return %n : tensor<4xf32>
  }
}
"""
    )


# Opcodes that StableHLO has nothing for, and those that the reader here has nothing for.
UNSAYABLE = {"stochastic-convert", "rng-get-and-update-state"}
ONLY_WRITTEN = {"scan", "recv-done", "send-done"}


@pytest.mark.parametrize("opcode", sorted(OPCODES.keys() - STARTS - UNSAYABLE - ONLY_WRITTEN))
@few
@given(data=st.data())
def test_each_opcode_reads_back_with_the_same_value(opcode: str, data: st.DataObject) -> None:
    module = data.draw(modules_of(opcode).filter(writable))
    again = stablehlo.parse(write(module))
    hlo.verify(again)
    if opcode in NOT_EVALUATED:
        assert opcode in {instr.opcode for instr in again.instructions()}
        return
    arguments = [data.draw(values(p.shape)) for p in module.entry.parameters]
    given_ = flat(arguments, tokens=True)
    assert_equal(interpreter.evaluate(again, *given_), interpreter.evaluate(module, *arguments))


def writable(module: hlo.Module) -> bool:
    """`i1` is the type of truth values, so that MLIR has none of integers of one bit."""
    constants = [i for i in module.instructions() if i.opcode == "constant"]
    names = {s.element_type.name for i in module.instructions() for _, s in i.shape.leaves()}
    if any(s.element_type.is_complex for i in constants for _, s in i.shape.leaves()):
        return False
    return not names & {"s1", "u1"}


def flat(value: Any, *, tokens: bool = False) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in flat(part, tokens=tokens)]
    return [value] if tokens or value is not None else []


def assert_equal(found: Any, wanted: Any) -> None:
    for one, other in zip(flat(found), flat(wanted), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


SINGLE = [path for path in sorted(MODELS.glob("*.hlo")) if path.stem != "data_parallel_step"]


@pytest.mark.parametrize("path", SINGLE, ids=lambda path: path.stem)
def test_models_mean_the_same_here_and_in_xla(path: Path) -> None:
    """Read by XLA and printed as HLO, the interpreter gives the value of before."""
    module = hlo.load(path)
    arrays = np.load(path.with_suffix(".npz"))
    arguments = [arrays[f"in{k}"] for k, _ in enumerate(module.entry.parameters)]
    text, wanted = write(module), interpreter.evaluate(module, *arguments)
    assert_equal(interpreter.evaluate(stablehlo.parse(text), *arguments), wanted)
    pytest.importorskip("jaxlib")
    assert_equal(interpreter.evaluate(in_xla(text), *arguments), wanted)


def in_xla(text: str) -> hlo.Module:
    from hlo_jax.private.programs import hlo_of_mlir, text_of_hlo  # noqa: PLC0415

    return hlo.parse(text_of_hlo(hlo_of_mlir(text.encode())))


# XLA makes others of these before it prints: approximations, and its own loops and tokens.
OF_XLA = {"acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "mulhi", "sinh", "topk"} | {
    "reduce",  # over no dimensions leaves out the initial value
}
# Of complex numbers it makes real arithmetic, which rounds at each step.
OF_XLA_FOR_COMPLEX = {"exponential", "log", "log-plus-one", "sqrt"}


@pytest.mark.slow
@pytest.mark.parametrize("opcode", sorted(OPCODES.keys() - STARTS - UNSAYABLE - OF_XLA))
@few
@given(data=st.data())
def test_each_opcode_means_the_same_in_xla(opcode: str, data: st.DataObject) -> None:
    pytest.importorskip("jaxlib")
    module = data.draw(modules_of(opcode).filter(writable))
    if any(s.size == 0 for i in module.instructions() for _, s in i.shape.leaves()):
        return  # XLA's checks of StableHLO refuse some of these, and abort on others
    root = module.entry.root.shape
    if opcode in OF_XLA_FOR_COMPLEX and root.is_array and root.element_type.is_complex:
        return
    text = write(module)
    if "f6E" in text and "dense" in text:
        return  # XLA aborts on constants of these
    again = in_xla(text)
    if opcode not in NOT_EVALUATED:
        arguments = [data.draw(values(p.shape)) for p in module.entry.parameters]
        given_ = flat(arguments, tokens=True)
        assert_equal(interpreter.evaluate(again, *given_), interpreter.evaluate(module, *arguments))


def test_a_bitcast_is_the_reshape_of_what_lies_in_memory():
    text = write(
        hlo.parse("""
    HloModule m
    ENTRY e { x = f32[2,3]{0,1} parameter(0)  ROOT b = u16[3,2,2]{2,1,0} bitcast(x) }""")
    )
    assert [line.split('"')[1] for line in text.splitlines() if '"' in line] == [
        "stablehlo.transpose", "stablehlo.reshape", "stablehlo.bitcast_convert",
        "stablehlo.reshape",
    ]  # fmt: skip


def test_what_is_started_is_called_where_it_is_waited_for():
    module = hlo.parse("""
    HloModule m
    f { a = f32[4] parameter(0)  b = f32[4] parameter(1)  ROOT s = f32[4] subtract(a, b) }
    ENTRY e {
      x = f32[4] parameter(0)
      y = f32[4] parameter(1)
      start = ((f32[4]), f32[4], s32[]) async-start(x), calls=f
      update = ((f32[4], f32[4]), f32[4], s32[]) async-update(start, y)
      ROOT done = f32[4] async-done(update)
    }""")
    assert '%done = "func.call"(%x, %y) <{callee = @f}>' in write(module)


def test_bodies_with_several_callers_are_written_once():
    """Text would double with each level otherwise: 2 to the power of 40 lines."""
    parts = ["HloModule m", "c0 { p = pred[] parameter(0)  ROOT r = pred[] not(p) }"]
    parts += [
        f"c{n} {{ p = pred[] parameter(0)  ROOT r = pred[] conditional(p, p, p), "
        f"true_computation=c{n - 1}, false_computation=c{n - 1} }}"
        for n in range(1, 41)
    ]
    parts.append("ENTRY e { p = pred[] parameter(0)  ROOT r = pred[] call(p), to_apply=c40 }")
    module = hlo.parse("\n".join(parts))
    text = write(module)
    assert len(text.splitlines()) < 500
    again = stablehlo.parse(text)
    wanted = interpreter.evaluate(module, np.True_)
    assert interpreter.evaluate(again, np.True_) == wanted


def test_nesting_is_written_without_recursion():
    parts = ["HloModule m", "w0 { s = s32[] parameter(0)  ROOT n = s32[] negate(s) }"]
    parts += [
        f"until{n} {{ s = s32[] parameter(0)  z = s32[] constant({n})  "
        "ROOT r = pred[] compare(s, z), direction=LT }\n"
        f"w{n} {{ s = s32[] parameter(0)  "
        f"ROOT l = s32[] while(s), condition=until{n}, body=w{n - 1} }}"
        for n in range(1, 1100)
    ]
    parts.append("ENTRY e { s = s32[] parameter(0)  ROOT l = s32[] call(s), to_apply=w1099 }")
    assert write(trust(hlo.parse("\n".join(parts)))).count("stablehlo.while") == 1099


REFUSED = {
    "ROOT s = u64[2] rng-get-and-update-state(), delta=1":
        "StableHLO has nothing for rng-get-and-update-state",
    "x = f32[4] parameter(0)  r = u32[4] parameter(1)  ROOT y = s8[4] stochastic-convert(x, r)":
        "StableHLO has nothing for stochastic-convert",
    "ROOT x = s1[4] parameter(0)": "StableHLO has no element type s1: `i1` is pred",
    "ROOT c = f32[100] constant({...})": "constant: StableHLO has no number for `{...}`",
    "x = f32[4] parameter(0)  ROOT y = f32[4]{0:T(2)} bitcast(x)":
        "bitcast: StableHLO has no bitcast of arrays in tiles, or of tuples",
    "x = bf16[4] parameter(0)  ROOT y = f32[2] slice(x), slice={[0:2]}":
        "slice: StableHLO has no slice that gives f32[2]{0} of such operands",
}  # fmt: skip


@pytest.mark.parametrize("body", REFUSED)
def test_what_stablehlo_has_nothing_for_is_refused_with_its_line(body: str) -> None:
    module = hlo.parse(f"HloModule m\nENTRY e {{\n{body.replace('  ', chr(10))}\n}}")
    with pytest.raises(HloError) as caught:
        write(module)
    assert (caught.value.code, caught.value.message) == ("HLO014", REFUSED[body])
    assert caught.value.span is not None
    assert caught.value.span.line == 3 + body.count("  ")
