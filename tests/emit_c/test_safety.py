"""Whatever HLO text says, the emitted C stays C, and what can't be emitted is refused clearly."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import emit_c
import hlo
import interpreter
from codegen.elements.names import comment, identifier
from emit_c.code.names import CNames
from emit_c.executable.built import build
from emit_c.executable.executable import Executable
from emit_c.table import emits_c
from hlo.attributes.annotations import Metadata
from hlo.build import Builder, module
from hlo.instruction import Computation
from hlo.types.element_type import F32
from hlo.types.shape import array
from hlo.verify import trust
from hlo.walk import rebuild, rebuild_module
from optimizer import prepare

NASTY = ["*/ int x; /*", 'a"b', "line\nbreak", "back\\", "??/", "int", "main", "exp_f32", "i0", "",
         "f32", "é", "x" * 200, "// ?", "%d%s", "out", "#define x y", "add_kernel"]  # fmt: skip


@given(st.text())
def test_a_comment_is_whole_lines_of_plain_ascii(text):
    for line in comment(text).splitlines():
        assert re.fullmatch(r"//[ -~]*", line)
        assert "\\" not in line
        assert "??" not in line


@given(st.lists(st.text() | st.sampled_from(NASTY), max_size=8))
def test_identifiers_are_identifiers_and_all_different(wanted):
    names = CNames()
    made = [names.unique(name) for name in wanted]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) for name in made)
    assert all(len(identifier(name)) <= 49 for name in wanted)


@pytest.mark.parametrize("name", NASTY)
def test_names_from_hlo_do_not_break_out(name):
    builder = Builder(name or "main")
    x = builder.parameter(array(F32, (3,)))
    y = builder.add("negate", x)
    y_named = replace(y, name=name)
    computation = builder.build(y)
    renamed = replace(
        computation,
        instructions=(replace(x, name=name + "x"), y_named),
        root=y_named,
    )
    y_named_with = replace(y_named, operands=(renamed.instructions[0],))
    renamed = replace(
        renamed, instructions=(renamed.instructions[0], y_named_with), root=y_named_with
    )
    executable = emit_c.compile(replace(module(renamed), name=name or "m"), optimize=False)
    assert (executable(np.array([1, -2, 0], np.float32)) == [-1, 2, 0]).all()


RICH = """HloModule m
more { p = (s32[], f32[9]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)  ROOT g = pred[] compare(i, n), direction=LT }
step { q = (s32[], f32[9]) parameter(0)  j = s32[] get-tuple-element(q), index=0
  v = f32[9] get-tuple-element(q), index=1  one = s32[] constant(1)  k = s32[] add(j, one)
  w = f32[9] negate(v)  ROOT t = (s32[], f32[9]) tuple(k, w) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT }
plus { c = f32[] parameter(0)  d = f32[] parameter(1)  ROOT s = f32[] add(c, d) }
yes { e = f32[9] parameter(0)  ROOT r = f32[9] sort(e), dimensions={0}, to_apply=less }
no { f = f32[9] parameter(0)  ROOT h = f32[9] copy(f) }
fused { x = f32[9] parameter(0)  y = f32[9] constant({1, 2, 3, 4, 5, 6, 7, 8, 9})
  ROOT z = f32[9] multiply(x, y) }
ENTRY main {
  o = f32[9] parameter(0)
  u = s32[] constant(0)
  first = (s32[], f32[9]) tuple(u, o)
  loop = (s32[], f32[9]) while(first), condition=more, body=step
  turned = f32[9] get-tuple-element(loop), index=1
  count = s32[] get-tuple-element(loop), index=0
  chosen = f32[9] conditional(count, turned, turned), branch_computations={yes, no}
  m = f32[9] fusion(chosen), kind=kLoop, calls=fused
  zero = f32[] constant(0)
  ROOT total = f32[] reduce(m, zero), dimensions={0}, to_apply=plus
}"""


@pytest.mark.parametrize("seed", range(4))
def test_no_name_of_a_rich_module_breaks_out(seed):
    plain = hlo.parse(RICH)
    shuffled = random.Random(seed)

    def renamed(computation):
        plan = {}
        for number, instr in enumerate(computation.instructions):
            name = f"{shuffled.choice(NASTY)}{shuffled.choice(['', number, '*/', '_kernel'])}"
            plan[instr] = replace(instr, name=name)
        made = rebuild(computation, plan)
        return replace(made, name=shuffled.choice(NASTY))

    nasty = rebuild_module(prepare(plain), renamed)
    x = np.arange(9, dtype=np.float32)[::-1].copy()
    expected = interpreter.evaluate(plain, x)
    # The verifier refuses names that occur twice; what is emitted must not rely on that.
    program = emit_c.emit(trust(nasty))
    assert Executable(nasty.entry, build(program), str)(x) == expected


@given(st.text().filter(lambda text: text != "x"))  # which is the parameter's name
def test_whatever_an_instruction_says_stays_in_its_comment(said):
    x, y = (i for i in hlo.parse("""HloModule m
ENTRY e {
  x = f32[3,3] parameter(0)
  ROOT r = (f32[3,3], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi",
    backend_config={uplo = 76 : ui8}
}""").entry.instructions)  # fmt: skip
    told = replace(y.annotations, metadata=Metadata(said))
    made = replace(y, name=said, annotations=told)
    source = emit_c.emit(module(Computation(said or "c", (x, made), made))).source
    code = [line for line in source.split("\n") if not line.startswith("//")]
    assert all(re.fullmatch(r"[\t -~]*", line) for line in source.split("\n"))
    assert sum("LAPACKE_spotrf_(" in line for line in code) == 1
    assert not any("??" in line or line.endswith("\\") for line in code)


def test_metadata_does_not_break_out():
    text = r"""HloModule m
ENTRY e {
  x = f32[3] parameter(0), metadata={op_name="*/ int evil; /*" source_file="a\"b??/" source_line=1}
  ROOT n = f32[3] negate(x), metadata={op_name="line\nbreak \\"}, frontend_attributes={a="*/"}
}"""
    executable = emit_c.compile(hlo.parse(text), optimize=False)
    assert (executable(np.array([1, -2, 0], np.float32)) == [-1, 2, 0]).all()


def test_a_module_with_wrong_shapes_is_refused():
    text = "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT n = f32[300] negate(x)\n}"
    with pytest.raises(hlo.HloError) as caught:
        emit_c.compile(hlo.parse(text), optimize=False)
    assert caught.value.code < "HLO100"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('ROOT r = f32[3] custom-call(x), custom_call_target="unheard"', "unheard"),
        ("t = token[] after-all()\n  ROOT r = (f32[3], token[]) infeed(t)", "r: infeed"),
    ],
)
def test_what_cannot_be_compiled_is_said_before_compiling(line, reason):
    text = f"""HloModule m
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }}
ENTRY e {{
  x = f32[3] parameter(0)
  {line}
}}"""
    with pytest.raises(hlo.HloError, match=reason) as caught:
        emit_c.compile(hlo.parse(text), optimize=False)
    assert caught.value.code == "HLO181"
    assert caught.value.span is not None


def test_the_table_has_no_gap_without_a_reason():
    assert emits_c.gaps() == []
    assert not [opcode for opcode in emits_c.not_supported if opcode in emits_c]


def test_an_opcode_that_means_nothing_for_a_type_is_refused():
    text = "HloModule m\nENTRY e {\n  x = c64[3] parameter(0)\n  ROOT n = c64[3] maximum(x, x)\n}"
    with pytest.raises(hlo.HloError):
        emit_c.compile(hlo.parse(text), optimize=False)


@pytest.mark.parametrize("optimize", [False, True])
def test_a_bitcast_to_more_bytes_is_refused(optimize):
    text = "HloModule m\nENTRY e {\n  x = f32[2] constant({1, 2})\n  ROOT b = f32[3] bitcast(x)\n}"
    with pytest.raises(hlo.HloError, match="64 bits") as caught:
        emit_c.compile(hlo.parse(text), optimize=optimize)
    assert caught.value.code == "HLO036"


def test_operands_of_which_elements_are_missing_are_refused():
    module = hlo.parse(
        """HloModule m
ENTRY e {
  x = f32[1,8] parameter(0)
  v = f32[2,1] parameter(1)
  i = s32[2,1] parameter(2)
  k = (f32[2,1], s32[2,1]) tuple(v, i)
  ROOT c = f32[1,1] convolution(x, k), dim_labels=bf_io->bf,
    sparsity_config={ rhs={sparsity=1x4 dimension=0 stride=1} }
}"""
    )
    with pytest.raises(hlo.HloError, match="sparsity_config") as caught:
        emit_c.compile(module)
    assert caught.value.code == "HLO181"
    zeros = [np.zeros(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters]
    with pytest.raises(hlo.HloError, match="sparsity_config") as caught:
        interpreter.evaluate(module, *zeros)
    assert caught.value.code == "HLO100"


def test_operands_that_are_whole_may_be_called_sparse():
    text = """HloModule m
ENTRY e {
  x = f32[1,2] parameter(0)
  k = f32[2,2] parameter(1)
  ROOT c = f32[1,2] convolution(x, k), dim_labels=bf_io->bf,
    sparsity_config={ rhs={sparsity=3x4 dimension=0 stride=1} }
}"""
    x, k = np.ones((1, 2), np.float32), np.ones((2, 2), np.float32)
    assert interpreter.evaluate(hlo.parse(text), x, k).tolist() == [[2, 2]]
    assert emit_c.compile(hlo.parse(text))(x, k).tolist() == [[2, 2]]
