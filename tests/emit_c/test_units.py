"""A module in several C files is the same module."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import emit_c
import hlo
from codegen.expressions import Name
from codegen.file_text import FileText, Section
from codegen.functions import Function
from codegen.statements import Call, For
from emit_c.code import prelude
from emit_c.code.definition import defined
from emit_c.contraction.library import exported
from emit_c.executable import building, built
from emit_c.executable.ahead import files
from emit_c.executable.profile import profile
from emit_c.program import step_table, units
from emit_c.program.clocks import with_clocks
from interpreter import evaluate
from optimizer import optimize, prepare

MODELS = Path(__file__).parents[1] / "models"

NUMBERS = ", ".join(str(n % 97) for n in range(2000))
SEVERAL = f"""HloModule m
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }}
less {{ a = f32[] parameter(0)  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=LT }}
ENTRY e {{
  x = f32[2000] parameter(0)
  large = f32[2000] constant({{{NUMBERS}}})
  small = bf16[3] constant({{1, 2, 3}})
  few = f32[4] constant({{5, 6, 7, 8}})
  zero = f32[] constant(0)
  sum = f32[2000] add(x, large)
  scaled = f32[2000] multiply(sum, large)
  sorted = f32[2000] sort(scaled), dimensions={{0}}, to_apply=less
  total = f32[] reduce(sorted, zero), dimensions={{0}}, to_apply=add
  doubled = bf16[3] add(small, small)
  powers = f32[4] multiply(few, few)
  ROOT r = (f32[2000], f32[], bf16[3], f32[4], f32[2000])
    tuple(sorted, total, doubled, powers, large)
}}"""


@pytest.fixture
def many(monkeypatch):
    """Spread over files whatever can be."""
    monkeypatch.setattr(units, "LEAST_TEXT", 1)
    monkeypatch.setattr(step_table, "LEAST_TABLE", 1)
    for module in (building, built):
        monkeypatch.setattr(module, "slots", lambda: 3)


@pytest.mark.usefixtures("many")
def test_the_values_are_the_same():
    module = hlo.parse(SEVERAL)
    made = emit_c.compile(module, optimize=False)
    x = np.random.default_rng(0).normal(size=2000).astype(np.float32)
    found, want = made(x), evaluate(module, x)
    assert [f.tobytes() for f in found if f.shape] == [w.tobytes() for w in want if w.shape]
    assert np.isclose(found[1], want[1])


def test_each_file_has_what_it_needs(monkeypatch):
    monkeypatch.setattr(units, "LEAST_TEXT", 1)
    program = emit_c.emit(prepare(hlo.parse(SEVERAL)))
    *kernels, rest = program.files(6)
    assert len(kernels) == 5
    defined = [re.findall(r"^void (\w+_kernel)\(.*\{$", text, re.MULTILINE) for text in kernels]
    declared = re.findall(r"^void (\w+_kernel)\(.*;$", rest, re.MULTILINE)
    assert all(defined)
    assert sorted(name for names in defined for name in names) == sorted(declared)
    assert sum("extern const f32 *large_constant;" in text for text in kernels) >= 1
    assert "\nconst f32 *large_constant;" in rest
    assert not any("int run(" in text for text in kernels)


@pytest.mark.usefixtures("many")
def test_many_steps_of_the_entry_are_a_table_with_their_calls_as_comments():
    text = """HloModule m
ENTRY e {
  x = f32[4,6] parameter(0)
  y = f32[6,4] parameter(1)
  one = f32[24] constant({1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24})
  t = f32[6,4] transpose(x), dimensions={1,0}
  a = f32[6,4] add(t, y)
  b = f32[24] reshape(a)
  c = f32[24] multiply(b, one)
  d = f32[24] reverse(c), dimensions={0}
  s = f32[24] sort(d), dimensions={0}, to_apply=less
  ROOT r = (f32[6,4], f32[24], f32[24]) tuple(a, s, d)
}"""
    less = SEVERAL[SEVERAL.index("less") : SEVERAL.index("ENTRY")]
    module = hlo.parse(text.replace("ENTRY", f"{less}\nENTRY"))
    program = emit_c.emit(prepare(module))
    assert "take_steps(0, " in program.source
    assert "  // c_kernel(c, t);\n  2, 2, -2, 0, -1, 0,\n" in program.source
    # A copy is no kernel, and stays a call.
    kernels = re.findall(r"^      case \d+: (\w+)\(a\[0\]", program.source, re.MULTILINE)
    assert kernels
    assert all(name.endswith("_kernel") for name in kernels)
    x, y = np.arange(24, dtype=np.float32).reshape(4, 6), np.ones((6, 4), np.float32)
    found, want = emit_c.compile(module, optimize=False)(x, y), evaluate(module, x, y)
    assert [f.tobytes() for f in found] == [w.tobytes() for w in want]


# What a file declares of others, and how others see its own: by a name, and by one for lanes.
LINKAGE = re.compile(
    r"^__attribute__\(\(simd.*\n|^#pragma GCC visibility.*\n|^((static|extern|inline) )*"
    r"(\w[^;{}=]*\([^;{}]*\);\n)?",
    re.MULTILINE,
)


def code_lines(file):
    """The lines of a file without declarations, and words about linkage."""
    return set(LINKAGE.sub("", file).splitlines())


@pytest.mark.parametrize("count", [1, 3])
def test_each_line_that_is_compiled_is_one_of_the_source(count, monkeypatch):
    """Of the module's files, and of the functions that are compiled once for all modules."""
    monkeypatch.setattr(units, "LEAST_TEXT", 2)
    monkeypatch.setattr(step_table, "LEAST_TABLE", 1)
    models = [path.read_text() for path in sorted(MODELS.glob("*.hlo"))]
    for text in [SEVERAL, *models]:
        program = emit_c.emit(optimize(hlo.parse(text)))
        source = code_lines(program.source)
        for file in (*program.files(count), *(exported([tile]) for tile in program.parts.tiles)):
            assert code_lines(file) - source == set()


@pytest.fixture
def compiled(monkeypatch):
    """The files that compilers were given, a list for each module."""
    given: list[list[str]] = []
    library = built.library

    def spied(files, **options):
        given.append(list(files))
        return library(files, **options)

    monkeypatch.setattr(built, "library", spied)
    return given


# What a profile's file has besides: how to look at the clock.
CLOCKS = (Path(prelude.__file__).parent / "profile.c").read_text().splitlines()


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("name", ["several", "collatz", "recurrent_scan"])
def test_a_profile_compiles_the_text_that_runs(name, compiled):
    """Its last file has macros in one place, and no line is another one."""
    text = SEVERAL if name == "several" else (MODELS / f"{name}.hlo").read_text()
    module = optimize(hlo.parse(text))
    emit_c.compile(module, optimize=False, remember=False)
    profile(
        module, [np.ones(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters]
    )
    (*kernels, callers), (*same, timed), *_ = compiled
    assert same == kernels
    clocks = with_clocks(emit_c.emit(module)).parts.calls.clocks
    assert "#define " in clocks
    assert timed.count(clocks) == 1
    left = [line for line in timed.replace(clocks, "").splitlines() if line not in CLOCKS]
    assert left == [line for line in callers.splitlines() if line]


def test_files_ahead_of_time_have_the_text_that_is_compiled():
    """Every line of it in one piece; what is around it only calls it."""
    for text in [SEVERAL, *(path.read_text() for path in sorted(MODELS.glob("*.hlo")))]:
        module = optimize(hlo.parse(text))
        source = emit_c.emit(module).source
        before, after = files(module, "m")["m.c"].split(source)
        assert all(line[:1] in ("", "#", "/") for line in before.splitlines())
        assert "_kernel(" not in after


def test_a_small_module_is_one_file():
    """But for the sorts of words, which are compiled once for all modules."""
    program = emit_c.emit(prepare(hlo.parse(SEVERAL)))
    (file,) = program.files(8)
    assert program.files(1) == (file,)
    left_out = set(program.source.splitlines()) - set(file.splitlines())
    assert {name for line in left_out for name in re.findall(r"\w+_kernel", line)} == set()


@pytest.mark.usefixtures("many")
def test_the_state_of_random_numbers_stays_one():
    text = """HloModule m
ENTRY e {
  a = u64[2] rng-get-and-update-state(), delta=1
  b = u64[2] rng-get-and-update-state(), delta=1
  c = u64[2] add(a, b)
  d = u64[2] multiply(c, c)
  e = u64[2] subtract(c, d)
  ROOT r = (u64[2], u64[2], u64[2]) tuple(a, b, e)
}"""
    a, b, _ = emit_c.compile(hlo.parse(text), optimize=False)()
    assert (a != b).any()


@pytest.mark.usefixtures("many")
def test_kernels_that_may_be_interrupted_are_spread_as_well():
    text = """HloModule m
holds { s = (s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(7)  ROOT c = pred[] compare(i, n), direction=LT }
iteration { s = (s32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  two = s32[] constant(2)  j = s32[] multiply(i, two)  ROOT r = (s32[]) tuple(j) }
ENTRY e {
  x = s32[] parameter(0)
  s = (s32[]) tuple(x)
  w = (s32[]) while(s), condition=holds, body=iteration
  y = s32[] get-tuple-element(w), index=0
  z = s32[] add(y, y)
  ROOT r = (s32[], s32[]) tuple(y, z)
}"""
    for optimized in (False, True):
        assert emit_c.compile(hlo.parse(text), optimize=optimized)(1) == (8, 16)


def test_what_a_kernel_calls_counts_as_its_text(monkeypatch):
    called = Function("dot", (), (Call(Name("tile"), ()),))
    loop = Function("add", (), (For("i", 4, ()),))
    kernels = {f.name: defined(f) for f in (Function("tile", (), ()), called, loop)}
    text = "int run(void) {\n  dot();\n  add();\n  return 0;\n}\n"
    run = FileText([Section(text, "run")])
    calls: Any = SimpleNamespace(text=run, clocks="", mentions=dict.fromkeys(("dot", "add")))
    parts = units.Parts(str, {}, "", (), kernels, {"dot", "add"}, calls)
    whole = sum(len(each.text) for each in kernels.values()) + len(text) // units.CALLERS_TEXT
    monkeypatch.setattr(units, "LEAST_TEXT", whole // 3)
    with_tile, without, rest = units.Units(3).files(parts)
    assert "void dot(void) {" in with_tile
    assert "void tile(void) {" in with_tile
    assert "void add(void) {" in without
    assert "int run(void) {" in rest


@pytest.mark.usefixtures("many")
def test_kernels_of_a_few_scalars_stay_with_their_callers():
    module = hlo.parse("""HloModule m
    halves { state = (s32[], f32[2000]) parameter(0)
      n = s32[] get-tuple-element(state), index=0
      x = f32[2000] get-tuple-element(state), index=1
      one = s32[] constant(1)
      next = s32[] subtract(n, one)
      half = f32[] constant(0.5)
      all = f32[2000] broadcast(half), dimensions={}
      less = f32[2000] multiply(x, all)
      ROOT both = (s32[], f32[2000]) tuple(next, less) }
    goes_on { state = (s32[], f32[2000]) parameter(0)
      n = s32[] get-tuple-element(state), index=0
      zero = s32[] constant(0)
      ROOT p = pred[] compare(n, zero), direction=GT }
    ENTRY e { state = (s32[], f32[2000]) parameter(0)
      ROOT r = (s32[], f32[2000]) while(state), condition=goes_on, body=halves }""")
    *kernels, callers = emit_c.emit(prepare(module)).files(3)
    assert "static void next_kernel" in callers
    assert "static void p_kernel" in callers
    assert "void less_kernel" in "".join(kernels)
