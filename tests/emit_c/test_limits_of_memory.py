"""What asks for more memory, or deeper calls, than there can be is refused before it is taken."""

import subprocess
import sys

import numpy as np
import pytest
from strategies.compiled import check, entry

import emit_c
import hlo
import interpreter
from codegen.program.check import MOST_CALLS
from interpreter.engine.memory import peak_bytes
from optimizer import prepare

HUGE = 2**40
LESS = """less { a = f32[] parameter(0)  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }"""


def refused(code, action, *arguments):
    with pytest.raises(hlo.HloError) as caught:
        action(*arguments)
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize("dims", [f"{HUGE}", "3000000000000"])
def test_an_elided_constant_is_counted_before_it_is_made_up(dims):
    module = hlo.parse(entry(f"ROOT c = f32[{dims}] constant({{...}})"))
    for action in (interpreter.evaluate, emit_c.compile):
        error = refused("HLO113", action, module)
        assert error.span.line == 4
        assert "the largest value is %c" in error.notes[0]


@pytest.mark.parametrize("kind", ["f32[300]", "s4[300]", "pred[2000]", "f64[3,100]"])
def test_made_up_numbers_are_the_same_made_in_parts(kind, monkeypatch):
    module = hlo.parse(entry(f"a = f32[7] constant({{...}})\nROOT c = {kind} constant({{...}})"))
    whole = interpreter.evaluate(module)
    monkeypatch.setattr("interpreter.plumbing._AT_ONCE", 7)
    np.testing.assert_array_equal(interpreter.evaluate(module), whole)


def test_copies_of_views_are_counted():
    row = "i = s32[40000] iota(), iota_dimension=0"
    wide = "b = s32[40000,40000] broadcast(i), dimensions={1}"
    copied = hlo.parse(entry(f"{row}\n{wide}\nROOT c = s32[1600000000] reshape(b)"))
    assert peak_bytes(copied) >= 6_400_000_000
    seen = hlo.parse(entry(f"{row}\nROOT c = s32[200,200] reshape(i)"))
    assert peak_bytes(seen) == 160_000


@pytest.mark.parametrize("optimize", [False, True])
def test_results_are_counted_before_the_first_call(optimize):
    text = entry(f"c = f32[] parameter(0)\nROOT b = f32[{HUGE}] broadcast(c), dimensions={{}}")
    executable = emit_c.compile(hlo.parse(text), optimize=optimize)
    assert refused("HLO113", executable, np.float32(1)).span.line == 5


LIMITED = """
import resource, sys
import numpy as np
import emit_c, hlo, interpreter
text = "c = f32[] parameter(0)  ROOT b = f32[400000000] broadcast(c), dimensions={}"
module = hlo.parse("ENTRY e { " + text + " }")
executable = emit_c.compile(module)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, resource.RLIM_INFINITY))
for run in (executable, lambda x: interpreter.evaluate(module, x) + 0):
    try:
        run(np.float32(1))
    except hlo.HloError as error:
        print(error.code)
    except MemoryError:
        print("MemoryError")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how many addresses are used")
def test_a_limit_of_addresses_is_obeyed():
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LIMITED], capture_output=True, text=True, check=False
    )
    # The interpreter's broadcast takes no memory; only the sum below it does.
    assert ran.stdout.split() == ["HLO113", "MemoryError"], ran.stderr


def test_memory_that_runs_out_in_a_call_is_an_error_of_its_own(monkeypatch):
    monkeypatch.setattr("emit_c.executable.executable.refuse_bytes", lambda *_: None)
    text = entry(f"c = f32[] parameter(0)\nROOT b = f32[{2**46}] broadcast(c), dimensions={{}}")
    executable = emit_c.compile(hlo.parse(text))
    for _ in range(2):
        error = refused("HLO114", executable, np.float32(1))
        assert "no memory for the" in error.message


def test_a_module_needs_no_more_bytes_than_there_are_addresses():
    lines = [f"x = f32[{10**18}] parameter(0)"]
    for name, opcode in (("s", "sine"), ("c", "cosine"), ("t", "tan")):
        lines += [f"{name} = f32[{10**18}] {opcode}(x)"]
        lines += [f"r{name} = f32[{10**18}] reverse({name}), dimensions={{0}}"]
    lines += [f"u = f32[{10**18}] add(rs, rc)", f"v = f32[{10**18}] add(rc, rt)"]
    lines += [f"o{n} = f32[{10**18}] sort({n}), dimensions={{0}}, to_apply=less" for n in "uv"]
    text = entry("\n".join([*lines, "ROOT r = tuple(ou, ov)"]), LESS)
    refused("HLO113", emit_c.compile, hlo.parse(text))


def loops(depth):
    """Loops inside of each other."""
    whiles = [
        f"b{i} {{\n  p = s32[] parameter(0)\n"
        f"  ROOT w = s32[] while(p), condition=c0, body=b{i - 1}\n}}"
        for i in range(1, depth)
    ]
    return hlo.parse(
        "HloModule m\n"
        "c0 {\n  p = s32[] parameter(0)\n  k = s32[] constant(5)\n"
        "  ROOT r = pred[] compare(p, k), direction=LT\n}\n"
        "b0 {\n  p = s32[] parameter(0)\n  k = s32[] constant(1)\n  ROOT r = s32[] add(p, k)\n}\n"
        + "\n".join(whiles)
        + "\nENTRY e {\n  p = s32[] parameter(0)\n"
        f"  ROOT w = s32[] while(p), condition=c0, body=b{depth - 1}\n}}"
    )


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("depth", [MOST_CALLS, 300])
def test_calls_are_nested_so_deep_and_no_deeper(depth, optimize):
    error = refused("HLO115", lambda: emit_c.compile(loops(depth), optimize=optimize))
    assert f"more than {MOST_CALLS} deep" in error.message
    assert error.span is not None


def test_the_deepest_calls_are_compiled():
    emit_c.emit(prepare(loops(MOST_CALLS - 1)))


@pytest.mark.parametrize("optimize", [False, True])
def test_a_fusion_that_folds_nothing_is_emitted(optimize):
    check(
        entry(
            "p = f32[8,0] parameter(0)\nROOT g = f32[8] fusion(p), kind=kLoop, calls=f",
            """add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }
f { p = f32[8,0] parameter(0)  c = f32[] constant(3)
  ROOT r = f32[8] reduce(p, c), dimensions={1}, to_apply=add }""",
        ),
        optimize=optimize,
    )


def test_a_sparse_product_of_run_time_size_is_refused():
    text = entry("""x = f32[1,4] parameter(0)
v = f32[<=1,1] parameter(1)
i = s32[<=1,1] parameter(2)
k = (f32[<=1,1], s32[<=1,1]) tuple(v, i)
ROOT c = f32[1,1] convolution(x, k), dim_labels=bf_io->bf, \
sparsity_config={ rhs={sparsity=1x4 dimension=0 stride=1} }""")
    assert "sparsity_config" in refused("HLO181", emit_c.compile, hlo.parse(text)).message


@pytest.mark.parametrize("kind", ["s8", "s32", "u32", "s64", "u64"])
def test_sizes_of_any_integer_type_are_clamped(kind):
    text = entry(f"""p = f32[300] parameter(0)
n = {kind}[] constant(5)
x = f32[<=300] custom-call(p, n), custom_call_target="SliceToDynamic"
ROOT r = f32[<=300] negate(x)""")
    for optimize in (False, True):
        check(text, optimize=optimize)


def test_the_sharding_of_a_value_of_run_time_size_is_no_matter():
    fold = """f { x = f32[] parameter(0)  y = f32[] parameter(1)
  a = f32[] parameter(2)  b = f32[] parameter(3)  c = f32[] add(x, a)  d = f32[] add(y, b)
  ROOT z = (f32[], f32[]) tuple(c, d) }"""
    text = entry(
        """p = f32[8] parameter(0)
n = s32[] constant(5)
x = f32[<=8] set-dimension-size(p, n), dimensions={0}
y = f32[] constant(0)
ROOT c = (f32[<=7], f32[<=7]) reduce-window(x, x, y, y), window={size=2}, to_apply=f, \
sharding={{replicated},{replicated}}""",
        fold,
    )
    for optimize in (False, True):
        check(text, optimize=optimize)
