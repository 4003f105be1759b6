"""Modules in XLA's own files: messages, snapshots, folders of dumps."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hlo as language
from hlo.frontends.protobuf.reading import read_message
from hlo.frontends.protobuf.schema import SCHEMA, message
from hlo.frontends.protobuf.writing import message_bytes
from hlo.write.print import Options
from hlo_tools.comparison.diff import diff
from hlo_tools.generate.seeds import all_seeds

pytest.importorskip("google.protobuf")
from google.protobuf import text_format

MODELS = Path(__file__).parents[1] / "models"
# All of a module but names of source files, whose numbers XLA gives anew when it prints.
NOT_TOLD = ("allow_spmd", "alias_passthrough_params", "num_partitions")  # by the message
MEANING = Options().without("print_metadata")
TEXT = """HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%yes (y.0: f32[4]) -> f32[4] {
  %y.0 = f32[4]{0} parameter(0)
  ROOT %y.1 = f32[4]{0} negate(%y.0)
}

%no (n.0: f32[4]) -> f32[4] {
  ROOT %n.0 = f32[4]{0} parameter(0)
}

%condition (s.0: (s32[], f32[4])) -> pred[] {
  %s.0 = (s32[], f32[4]{0}) parameter(0)
  %s.1 = s32[] get-tuple-element(%s.0), index=0
  %s.2 = s32[] constant(3)
  ROOT %s.3 = pred[] compare(%s.1, %s.2), direction=LT
}

%body (t.0: (s32[], f32[4])) -> (s32[], f32[4]) {
  ROOT %t.0 = (s32[], f32[4]{0}) parameter(0)
}

ENTRY %e (x: f32[4], z: bf16[2,8]) -> f32[4] {
  %x = f32[4]{0} parameter(0), sharding={devices=[2]0,1}
  %z = bf16[2,8]{0,1} parameter(1), frontend_attributes={key="va\\"lue"}
  %i = s32[2,2]{1,0} constant({ { 1, -2 }, { 3, 4 } })
  %h = bf16[3]{0} constant({nan, -inf, 0.5})
  %l = pred[2]{0} constant({false, true})
  %o = s32[2,3,2]{1,0,2} constant({ { {1, 2}, {3, 4}, {5, 6} }, { {7, 8}, {9, 10}, {11, 12} } })
  %q = s4[3]{0} constant({-8, 0, 7})
  %p = pred[] constant(true)
  %k = c64[2]{0} constant({(1, 2), (-1, nan)})
  %br = f32[4]{0} conditional(%p, %x, %x), true_computation=%yes, false_computation=%no
  %n = s32[] constant(0)
  %t = (s32[], f32[4]{0}) tuple(%n, %br)
  %w = (s32[], f32[4]{0}) while(%t), condition=%condition, body=%body
  %g = f32[4]{0} get-tuple-element(%w), index=1
  %f = f32[] constant(-1.5)
  %d = f32[9]{0} pad(%g, %f), padding=1_1_1
  %u = f32[3]{0} slice(%d), slice={[1:8:3]}
  %v = f32[] reduce(%u, %f), dimensions={0}, to_apply=%add
  %rw = f32[4]{0} reduce-window(%d, %f), window={size=3 stride=2}, to_apply=%add
  %m = f32[4]{0} broadcast(%v), dimensions={}
  %cc = f32[4]{0} custom-call(%m), custom_call_target="a\\"b", api_version=API_VERSION_TYPED_FFI
  %f0 = f32[1,4]{1,0} broadcast(%f), dimensions={}
  %f1 = f32[4,2]{1,0} broadcast(%f), dimensions={}
  %cv = f32[1,2]{1,0} convolution(%f0, %f1), dim_labels=bf_io->bf,
    sparsity_config={lhs={sparsity=1x2 dimension=1 stride=1}
      rhs={sparsity=3x4 dimension=0 stride=2}}
  %cs = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(%x), cross_program_prefetch_index=0
  %cd = f32[4]{0} copy-done(%cs)
  ROOT %r = f32[4]{0} add(%cc, %rw), control-predecessors={%z}, backend_config={"a":[1]}
}
"""


def message_of(text: str) -> bytes:
    """What XLA writes for a text."""
    hlo = pytest.importorskip("jaxlib._hlo")
    return hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()


def changes(before: language.Module, after: language.Module) -> list[str]:
    found = [c for section in diff(before, after, MEANING) for c in section.changes]
    kept = [c for c in found if not str(c.before).startswith(NOT_TOLD)]
    return [str(c) for c in kept]


# What says where values come from and lie, and the order of a schedule, which is not that of names.
ORIGINS = """HloModule m, is_scheduled=true, origin_recovery_table={
  {"gone"} : {"b" {1}},
  "
    HloModule recovery, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

    ENTRY %e (p: f32[4]) -> f32[4] {
      %p = f32[4]{0} parameter(0)
      ROOT %q = f32[4]{0} negate(%p)
    }

  "
}

ENTRY %e (x: f32[4,2]) -> (f32[4,2], (f32[4,2])) {
  %x = f32[4,2] parameter(0), sharding={mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2}], manual={'y':(2)2}}
  %z = f32[4,2]{1,0} cosine(%x), sharding={mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{?}, {}]}
  %a = f32[4,2]{1,0} sine(%x), statistics={visualizing_index=1,flops=1.5,bytes=33}, origin={{"x"}}
  %in = (f32[4,2]{1,0}) tuple(%a), origin={({"b\\"" {1}})}
  ROOT %t = (f32[4,2]{1,0}, (f32[4,2]{1,0})) tuple(%z, %in), origin={({}, ({"b" {0,1}}))}
}
"""


@pytest.mark.parametrize("text", [TEXT, ORIGINS], ids=["opcodes", "origins"])
def test_a_message_says_what_its_text_says(text: str) -> None:
    assert changes(language.parse(text), read_message(message_of(text), "m.pb")) == []


ANNOTATED = """HloModule m

FileNames
1 "f.py"

FunctionNames
1 "<module>"
2 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=4 end_column=10}
2 {file_name_id=1 function_name_id=2 line=5 end_line=5 column=16 end_column=58}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

ENTRY %e {
  %x = f32[] parameter(0), metadata={op_name="x" stack_frame_id=2 metadata_payload="abc"}
  %y = f32[] negate(%x), metadata={metadata_payload="d\\"e"}
  %z = f32[] sine(%y), metadata={metadata_payload="abc"}
  %l = s32[256,8]{1,0:T(8,128)(2,1)L(16)E(4)S(5)SC(0:4,8)M(1024)} parameter(1)
  %i = f32[1,4]{1,0} parameter(2)
  %k = f32[4,2,4]{2,1,0} parameter(3)
  %c = f32[1,2] custom-call(%i, %k), dim_labels=bf_io?->bf, custom_call_target="c"
  ROOT %d = f32[] domain(%z), domain={kind="sharding", entry={maximal device=1}, exit={}}
}
"""


def test_metadata_frames_and_domains_are_those_of_the_text() -> None:
    """As XLA itself prints the message."""
    raw = message_of(ANNOTATED)
    printed = pytest.importorskip("jaxlib._hlo").HloModule.from_serialized_hlo_module_proto(raw)
    text = str(read_message(raw, "m.pb"))
    assert text == str(language.parse(printed.to_string()))
    assert "parent_frame_id=2}" in text
    assert text.count('metadata_payload="abc"') == 2
    assert "entry={maximal device=1}" in text


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.hlo")), ids=lambda p: p.stem)
def test_models_are_read_from_messages(path: Path) -> None:
    text = path.read_text()
    assert changes(language.parse(text), read_message(message_of(text), "m.pb")) == []


def test_a_compiled_module_of_jax_is_run(hlo, tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    compiled = jax.jit(lambda x: jax.nn.softmax(x @ x.T)).lower(x).compile()
    raw = compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
    (tmp_path / "m.hlo.pb").write_bytes(raw)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "want.npy", np.asarray(compiled(x)))
    words = ("--input", tmp_path / "x.npy", "--expect", tmp_path / "want.npy", "--quiet")
    result = hlo("run", tmp_path / "m.hlo.pb", *words)
    assert result.status == 0, result
    # The same through a pipe, where there is no name to tell by.
    assert hlo("print", "-", stdin=raw).out == hlo("print", tmp_path / "m.hlo.pb").out


def test_snapshots_have_arguments(hlo, tmp_path: Path) -> None:
    snapshot = message("HloSnapshot")()
    text = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"
    snapshot.hlo.hlo_module.ParseFromString(message_of(text))
    argument = snapshot.arguments.add()
    argument.shape.element_type = 11
    argument.shape.dimensions.append(2)
    argument.f32s.extend([1, -2])
    for name, content in {
        "s.pb": snapshot.SerializeToString(),
        "s.pbtxt": text_format.MessageToString(snapshot).encode(),
        "m.pb": snapshot.hlo.SerializeToString(),
    }.items():
        (tmp_path / name).write_bytes(content)
    for name in ("s.pb", "s.pbtxt"):
        result = hlo("run", tmp_path / name, "--input", tmp_path / name)
        assert result.out == "f32[2] [-1.,  2.]\n"
    assert hlo("run", tmp_path / "m.pb", "--input", tmp_path / "s.pb").out == result.out
    wrong = hlo("run", tmp_path / "m.pb", "--input", tmp_path / "m.pb")
    assert "is no snapshot: it has no arguments" in wrong.err


def test_a_folder_of_dumps_stands_for_its_module(hlo, tmp_path: Path) -> None:
    assert "without a module before optimizations" in hlo("print", tmp_path).err
    module = "ENTRY e { ROOT x = f32[] parameter(0) }"
    for end in ("before_optimizations.txt", "cpu_after_optimizations.txt"):
        (tmp_path / f"module_0000.m.{end}").write_text(module)
    assert "parameter(0)" in hlo("print", tmp_path).out
    (tmp_path / "module_0001.k.before_optimizations.txt").write_text(module)
    wrong = hlo("opt", tmp_path)
    assert (wrong.status, wrong.out) == (2, "")
    assert "has 2 modules" in wrong.err
    assert "name one: module_0001.k.before_optimizations.txt" in wrong.err


WRITTEN = {"opcodes": TEXT, "origins": ORIGINS}


@pytest.mark.parametrize("name", ["m.pb", "m.hlo.pb", "m.pbtxt"])
@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_message_is_written(hlo, tmp_path: Path, text: str, name: str) -> None:
    """It reads back here, whatever form the file's name asks for."""
    (tmp_path / "m.hlo").write_text(text)
    assert hlo("print", tmp_path / "m.hlo", "-o", tmp_path / name).status == 0
    again = read_message((tmp_path / name).read_bytes(), name)
    assert changes(language.parse(text), again) == []


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.hlo")), ids=lambda p: p.stem)
def test_xla_reads_the_messages(path: Path) -> None:
    """XLA prints the same text for it as for the text."""
    theirs = pytest.importorskip("jaxlib._hlo")
    module = language.load(path)
    read = theirs.HloModule.from_serialized_hlo_module_proto(message_bytes(module, "m.pb"))
    options = theirs.HloPrintOptions()
    options.print_large_constants, options.print_metadata = True, False
    printed = language.parse(read.to_string(options))
    assert changes(module, printed) == []


def test_golden_modules_read_back_from_their_messages() -> None:
    """One in eight of the golden modules, with the opcodes and annotations of all passes."""
    for seed in all_seeds()[::8]:
        module = seed.module
        # Messages hold neither constants that are left out nor dynamic roots.
        if module is None or "{...}" in seed.text or "has_dynamic_root" in seed.text:
            continue
        again = read_message(message_bytes(module, "m.pb"), "m.pb")
        assert changes(module, again) == [], seed.name


def test_what_a_message_cannot_say_is_refused(hlo, tmp_path: Path) -> None:
    file = tmp_path / "m.hlo"
    file.write_text("HloModule m\nENTRY e {\n  ROOT c = f32[100] constant({...})\n}")
    found = hlo("print", file, "-o", tmp_path / "m.pb")
    assert found.status == 2
    assert "m.hlo:3:21: error[HLO201]: constant: its numbers are left out" in found.err
    assert not (tmp_path / "m.pb").exists()


def test_the_order_is_that_of_the_schedule() -> None:
    text = """HloModule m, is_scheduled=true
    ENTRY e { x = f32[] parameter(0) b = f32[] sine(x) a = f32[] cosine(x)
      ROOT t = (f32[], f32[]) tuple(a, b) }"""
    read = read_message(message_of(text), "m.pb")
    assert [instr.name for instr in read.entry.instructions] == ["x", "b", "a", "t"]


def test_nothing_is_left_out_in_silence(hlo, tmp_path: Path) -> None:
    text = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"
    raw = message_of(text)
    profile, field_77 = b"\x6a\x02\x08\x01", b"\xe8\x04\x05"
    (tmp_path / "m.pb").write_bytes(raw + profile + field_77)
    result = hlo("print", tmp_path / "m.pb")
    assert result.status == 0
    assert result.err.endswith("m.pb: left out: profiles, field 77 of HloModuleProto\n")
    made = text_format.MessageToString(message("HloModuleProto").FromString(raw))
    (tmp_path / "m.pbtxt").write_text(made + "profile_info { }\n")
    told = hlo("print", tmp_path / "m.pbtxt").err
    assert "left out" in told
    assert "profile_info" in told
    (tmp_path / "m.pbtxt").write_text(made)
    assert hlo("print", tmp_path / "m.pbtxt").err == ""


def test_snapshots_have_results_and_partitions(hlo, tmp_path: Path) -> None:
    text = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"

    def fill(literal, *numbers: float) -> None:
        literal.shape.element_type = 11
        literal.shape.dimensions.append(2)
        literal.f32s.extend(numbers)

    snapshot = message("HloSnapshot")()
    snapshot.hlo.hlo_module.ParseFromString(message_of(text))
    fill(snapshot.arguments.add(), 1, 2)
    file = tmp_path / "s.pb"
    words = ("run", file, "--input", file, "--expect", file)
    file.write_bytes(snapshot.SerializeToString())
    assert "has no result" in hlo(*words).err
    fill(snapshot.result, -1, -2)
    file.write_bytes(snapshot.SerializeToString())
    assert hlo(*words).status == 0
    snapshot.result.f32s[1] = 9
    file.write_bytes(snapshot.SerializeToString())
    assert hlo(*words).status == 1
    several = message("HloUnoptimizedSnapshot")()
    several.hlo_module.ParseFromString(message_of(text))
    for number in (1, 3):
        fill(several.partitions.add().arguments.add(), number, number)
    file.write_bytes(several.SerializeToString())
    shown = hlo("run", file, "--input", file, "--replicas", 2).out
    assert "[-1., -1.]" in shown
    assert "[-3., -3.]" in shown
    assert "no snapshot with a result" in hlo(*words, "--replicas", 2).err


def test_what_is_broken_is_refused() -> None:
    raw = message_of("ENTRY e { ROOT x = f32[2] constant({1, 2}) }")
    for wrong in (raw[: len(raw) // 2], b"\0", b"", raw.replace(b"constant", b"canstant")):
        with pytest.raises(language.HloError):
            read_message(wrong, "m.pb")
    made = message("HloModuleProto").FromString(raw)
    made.computations[0].instructions[0].literal.f32s.append(3)
    with pytest.raises(language.HloError, match="has 3 elements"):
        read_message(made.SerializeToString(), "m.pb")
    made.computations[0].instructions[0].operand_ids.append(77)
    with pytest.raises(language.HloError, match="uses 77, which its computation has not"):
        read_message(made.SerializeToString(), "m.pb")


def test_the_schema_is_a_real_one(tmp_path: Path) -> None:
    """The file is in the language of protocol buffers, and not only in what is read of it."""
    pytest.importorskip("grpc_tools")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{SCHEMA.parent}", f"-o{tmp_path}/x"]
    assert subprocess.run([*command, SCHEMA.name], check=False).returncode == 0


def test_a_message_that_contradicts_itself_is_refused() -> None:
    text = "HloModule m\nENTRY e { ROOT x = f32[4,2] parameter(0) }"
    found = message("HloModuleProto").FromString(message_of(text))
    (instr,) = found.computations[0].instructions
    instr.shape.is_dynamic_dimension.append(True)
    with pytest.raises(language.HloError, match="holds a message that is broken") as caught:
        read_message(found.SerializeToString(), "m.pb")
    assert caught.value.code == "HLO201"
