"""Each verb that reads or lists, on good and bad input."""

import os
import re
from pathlib import Path

import pytest

from emit_c.executable.toolchain import toolchain
from hlo.errors.error import HloError
from hlo.opcode import OPCODES
from hlo.support.cache import cache_folder, write_sealed
from hlo_tools.explanations.codes import CODES
from hlo_tools.verbs import doctor, explain

PAGE = Path(__file__).parents[2] / "docs" / "codes.md"


def test_print_is_a_fixed_point(hlo, softmax: Path) -> None:
    once = hlo("print", softmax)
    assert once.status == 0
    assert once.out.startswith("HloModule jit_softmax_layer, entry_computation_layout=")
    assert hlo("print", "-", stdin=once.out.encode()).out == once.out


@pytest.mark.parametrize(
    ("option", "absent", "present"),
    [
        ("--no-layouts", "f32[8,16]{1,0} parameter", "f32[8,16] parameter"),
        ("--no-percent", "%", "  add.7 = "),
        ("--no-signatures", "->", "%region_0.1 {"),
        ("--operand-shapes", "dot(%", "dot(f32[8,16]{1,0} %x.1, f32[16,10]{1,0} %w"),
        ("--short-parsable", "%", "dot(x.1, w"),
    ],
)
def test_print_options(hlo, softmax: Path, option: str, absent: str, present: str) -> None:
    whole, shown = hlo("print", softmax).out, hlo("print", softmax, option).out
    body = shown.partition("\n")[2]
    assert absent not in body
    assert present in body.replace("weights", "w")
    assert present not in whole.replace("weights", "w")


def test_print_elides_large_constants_when_asked(hlo) -> None:
    numbers = ", ".join(map(str, range(11)))
    text = f"HloModule m\nENTRY e {{ ROOT c = s32[11] constant({{{numbers}}}) }}".encode()
    assert numbers in hlo("print", "-", stdin=text).out
    assert "constant({...})" in hlo("print", "-", "--elide-constants", stdin=text).out
    both = hlo("print", "-", "--elide-constants", "--large-constants", stdin=text)
    assert numbers in both.out


def test_print_to_a_file(hlo, softmax: Path, tmp_path: Path) -> None:
    result = hlo("print", softmax, "-o", tmp_path / "out.hlo")
    assert (result.status, result.out) == (0, "")
    assert (tmp_path / "out.hlo").read_text() == hlo("print", softmax).out
    assert "HLO200" in hlo("print", softmax, "-o", tmp_path / "no" / "out.hlo").err


def test_stats_counts(hlo, softmax: Path) -> None:
    out = hlo("stats", softmax, "--largest", 1).out
    assert "module jit_softmax_layer" in out
    assert re.search(r"parameter +7\n", out)
    # (8*16 + 16*10 + 10) floats come in, 8*10 go out.
    assert re.search(r"parameters +1.2 KiB\n", out)
    assert re.search(r"outputs +320 B\n", out)


def test_diff_shows_what_changed(hlo, softmax: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.hlo"
    text = softmax.read_text()
    other.write_text(text.replace("maximum(reduce_max.3", "minimum(reduce_max.3"))
    assert hlo("diff", softmax, softmax)[:2] == (0, "")
    result = hlo("diff", softmax, other)
    assert result.status == 1
    removed, added = (line for line in result.out.splitlines() if line[0] in "-+")
    assert "maximum" in removed
    assert "minimum" in added
    assert result.out.endswith("1 changed, 0 added, 0 removed\n")


RENUMBERED = """HloModule m

ENTRY e {
  first.9 = f32[4] parameter(0)
  ROOT sum.7 = f32[4] add(first.9, first.9)
}
"""


def test_diff_is_by_structure(hlo, tmp_path: Path) -> None:
    before, after = tmp_path / "a.hlo", tmp_path / "b.hlo"
    before.write_text(RENUMBERED.replace("first.9", "x").replace("sum.7", "y"))
    after.write_text(RENUMBERED)
    same = hlo("diff", before, after)
    assert (same.status, same.out) == (0, "the same, but 2 instructions under another name\n")
    named = hlo("diff", before, after, "--names")
    assert named.status == 1
    assert named.out.endswith("0 changed, 2 added, 2 removed\n")
    after.write_text(RENUMBERED.replace("add(", "subtract("))
    changed = hlo("diff", before, after)
    assert changed.status == 1
    assert (
        "- ROOT %y = f32[4]{0} add(%x, %x)\n+ ROOT %y = f32[4]{0} subtract(%x, %x)" in changed.out
    )
    assert "1 changed, 0 added, 0 removed\n2 instructions under another name\n" in changed.out


def test_diff_makes_a_page(hlo, softmax: Path, tmp_path: Path) -> None:
    other, page = tmp_path / "a<b>.hlo", tmp_path / "diff.html"
    other.write_text(softmax.read_text().replace("exponential", "tanh"))
    assert hlo("diff", softmax, other, "--html", page).status == 1
    text = page.read_text()
    assert "<b>exponential</b>" in text
    assert "<b>tanh</b>" in text
    assert "a&lt;b&gt;.hlo" in text
    assert "http" not in text
    assert " unchanged</summary>" in text


def test_diff_reads_standard_input_and_refuses_bad_files(hlo, softmax: Path) -> None:
    assert hlo("diff", softmax, "-", stdin=softmax.read_bytes()).status == 0
    assert hlo("diff", softmax, "-", stdin=b"HloModule").status == 2


def test_ops_lists_all(hlo) -> None:
    lines = hlo("ops").out.splitlines()
    assert {line.split()[0] for line in lines[1:-2]} == set(OPCODES)
    assert f"of {len(OPCODES)}" in lines[-1]


def test_ops_shows_one(hlo) -> None:
    out = hlo("ops", "dot").out
    assert "lhs_contracting_dims" in out
    wrong = hlo("ops", "reduce_window")
    assert wrong.status == 2
    assert "did you mean `reduce-window`" in wrong.err


@pytest.mark.parametrize("written", ["HLO200", "hlo200", "200"])
def test_explain_takes_a_code_in_any_spelling(hlo, written: str) -> None:
    result = hlo("explain", written)
    assert result.status == 0
    assert result.out.startswith(f"HLO200: {CODES['HLO200'].title}")


def test_explain_lists_and_refuses(hlo) -> None:
    assert len(hlo("explain").out.splitlines()) == len(CODES)
    assert hlo("explain", "HLO999").status == 2


def test_page_of_codes_is_up_to_date(bless: bool) -> None:
    if bless:
        PAGE.write_text(explain.page())
    assert PAGE.read_text() == explain.page(), "run `make docs`"


def test_doctor_finds_what_the_tests_need(hlo) -> None:
    result = hlo("doctor")
    assert result.status == 0
    assert re.search(r"ok +numpy", result.out)


def test_doctor_fails_if_something_needed_is_missing(hlo, monkeypatch) -> None:
    missing = doctor.InstalledPart("numpy", "", "pip install numpy", needed=True)
    monkeypatch.setattr(doctor, "examine", lambda: iter([missing]))
    result = hlo("doctor")
    assert result.status == 2
    assert re.search(r"MISSING +numpy +pip install numpy", result.out)


def test_doctor_takes_the_compiler_from_the_environment(monkeypatch, tmp_path: Path) -> None:
    compiler = tmp_path / "mycc"
    compiler.write_text("#!/bin/sh\necho Target: x86_64-linux-gnu\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", f"{compiler} -O2")
    assert doctor.c_compiler() == str(compiler)


@pytest.mark.parametrize("chosen", ["", "no-such-compiler", "'cc", "false"])
def test_doctor_says_what_run_would_say_of_the_compiler(hlo, monkeypatch, chosen: str) -> None:
    monkeypatch.setenv("CC", chosen)
    if not chosen:
        monkeypatch.setenv("PATH", "")
    (told,) = (line for line in hlo("doctor").out.splitlines() if "C compiler" in line)
    with pytest.raises(HloError) as caught:
        toolchain()
    assert told.startswith("absent")
    assert caught.value.message in told


def test_doctor_shows_and_cleans_the_cache(hlo, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cache_folder("libraries")
    assert folder
    write_sealed(folder / "a.so", b"whole")
    (folder / "b.so").write_bytes(b"half")
    (folder / "c.cuda.o").write_bytes(b"half")
    (folder / "build-killed").mkdir()
    (folder / "build-killed" / "part0.c").touch()
    os.utime(folder / "build-killed", (1, 1))
    (folder / "build-running").mkdir()
    shown = hlo("doctor", "--cache")
    assert shown.status == 0
    assert "compiled libraries: 1, 0.0 MB; removed: 2 broken, 1 unfinished\n" in shown.out
    assert sorted(p.name for p in folder.iterdir()) == ["a.so", "build-running"]
    assert "removed" not in hlo("doctor", "--cache").out
    assert hlo("doctor", "--clear-cache").status == 0
    assert not list((tmp_path / "pyhlo").iterdir())


def test_doctor_says_why_the_cache_is_not_used(hlo, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "pyhlo").mkdir()
    (tmp_path / "pyhlo").chmod(0o777)
    assert re.search(r"absent +cache +.* is not used: others can write to it", hlo("doctor").out)
    shown = hlo("doctor", "--cache")
    assert shown.status == 2
    assert "is not used: others can write to it: chmod 700" in shown.out


def test_where_opcodes_passes_and_rules_are_defined(hlo) -> None:
    root = Path(__file__).parents[2]

    def line(text: str, file: str) -> str:
        number = int(re.search(rf"{file}:(\d+)", text)[1])
        return (root / file).read_text().splitlines()[number - 1]

    told = hlo("ops", "reduce").out
    assert "reduce" in line(told, "hlo/infer/reduction.py")
    assert "interpreter/fold.py:" in told
    told = hlo("passes", "dce").out
    assert "def run" in line(told, "optimizer/cleanup/dce.py")
    told = hlo("rules", "add(x, 0) => x").out
    assert "Rule(add(x, 0), x" in line(told, "optimizer/rules/add.py")


STABLEHLO = """module @m {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %cs = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %r = stablehlo.divide %x, %cs : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("step m.mlir --script script", "rule divide by a power of two"),
        ("view m.mlir -o page.html", "page.html"),
        ("graph m.mlir --format dot", "divide"),
        ("diff m.mlir other.mlir", "constant(4)"),
        ("minimize m.mlir --command false", "exit status 1"),
        ("stats m.mlir", "4 instructions"),
        ("bisect m.mlir", "equal after"),
        ("accuracy m.mlir", "divide"),
        ("opt m.mlir --log", "divide by a power of two"),
        ("timeline m.mlir", "microsecond"),
    ],
)
def test_verbs_read_stablehlo(hlo, tmp_path: Path, monkeypatch, words: str, told: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.mlir").write_text(STABLEHLO)
    (tmp_path / "other.mlir").write_text(STABLEHLO.replace("<2.0>", "<4.0>"))
    (tmp_path / "script").write_text("n\n")
    result = hlo(*words.split())
    assert told in result.out + result.err
    assert result.status == int(words.startswith("diff"))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"PK\x03\x04\x14\x00", "a zip archive"),
        (b"\xff\xfeH\x00l\x00o\x00", "text in UTF-16"),
    ],
)
def test_other_formats_are_named_without_protobuf(
    hlo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, raw: bytes, told: str
) -> None:
    """Where the library is not installed, as for a first user."""

    def missing(_: str) -> None:
        raise ModuleNotFoundError("No module named 'google.protobuf'")

    monkeypatch.setattr("hlo.frontends.protobuf.reading.message", missing)
    path = tmp_path / "module.pb"
    path.write_bytes(raw)
    result = hlo("print", path)
    assert result.status == 2
    assert f"{path} is {told}" in result.err
