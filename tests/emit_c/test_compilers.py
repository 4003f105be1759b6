"""Compilers that are started early make what others make, and none of them is left behind."""

import ctypes
from dataclasses import replace
from pathlib import Path

import pytest

import emit_c
import hlo
from codegen.file_text import FileText, HloLine, Section, line_at
from emit_c.executable import compilers as processes
from emit_c.executable.libraries import compilers
from emit_c.executable.toolchain import OPTIMIZED, needs_mathematics, toolchain
from emit_c.program import units
from optimizer import prepare

TWO = (
    "int two(void) { return 2; }\n",
    "int two(void);\nint four(void) { return two() * two(); }\n",
)


def four(path, tmp_path):
    kept = path.rename(tmp_path / "four.so")
    return ctypes.CDLL(str(kept)).four()


def open_files():
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_files_are_compiled_while_others_are_written(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with compilers() as running:
        running.take(TWO[0])
        assert four(running.link(TWO), tmp_path) == 4


def test_what_is_not_linked_leaves_nothing():
    before = open_files()
    with compilers() as running:
        running.take(TWO[0])
        folder = Path(running.folder)
        assert folder.exists()
    assert not folder.exists()
    assert open_files() == before


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = __builtin_sqrtf(x); __builtin_memcpy(&x, &y, 4); x = __builtin_inff();", False),
        ("x = __builtin_assoc_barrier(x * y) + z;", False),
        ("x = __builtin_rintf(x);", True),
        ("x = __builtin_sqrt(x) + __builtin_pow(x, y);", True),
    ],
)
def test_what_may_call_the_mathematical_library_is_linked_with_it(text, wanted):
    assert needs_mathematics(text) is wanted


def linkers(monkeypatch):
    """The first words of the commands that are started."""
    started = []
    start = processes._process
    monkeypatch.setattr(
        processes, "_process", lambda *given: started.append(given[0][0]) or start(*given)
    )
    return started


@pytest.mark.skipif(toolchain().linker is None, reason="the compiler tells no linker")
def test_the_linker_is_run_without_the_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    started = linkers(monkeypatch)
    with compilers() as running:
        assert four(running.link(TWO), tmp_path) == 4
    assert started[2:] == [toolchain().linker[0]]


def test_a_compiler_with_flags_tells_them_to_its_linker(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiler = toolchain().command[0]
    monkeypatch.setenv("CC", f"{compiler} -O1")
    started = linkers(monkeypatch)
    with compilers() as running:
        assert four(running.link(TWO), tmp_path) == 4
    assert started == [compiler] * 3


@pytest.mark.parametrize("linker", [None, ("false", "none.a")])
def test_where_the_linker_does_not_run_alone_the_compiler_runs_it(linker, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    started = linkers(monkeypatch)
    with processes.Compilers(replace(toolchain(), linker=linker), OPTIMIZED, tmp_path) as running:
        assert four(running.link(TWO), tmp_path) == 4
    assert started[-1] == toolchain().command[0]
    assert len(started) == 3 + bool(linker)


def test_all_compilers_are_at_work_before_anything_else_is(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    started = []
    start = processes._process
    monkeypatch.setattr(
        processes, "_process", lambda *given: started.append(given) or start(*given)
    )
    with compilers() as running:
        running.link(TWO, begun=lambda: started.append("begun"))
    assert started[2] == "begun"
    assert len(started) == 4, "two compilers, and the linker"


def test_an_error_has_the_line_of_the_text():
    add = Section("void add(void) {\n  wrong;\n}\n", "add", (HloLine("a", "%a = add(%x, %y)"),))
    with compilers() as running, pytest.raises(hlo.HloError) as caught:
        running.link([FileText([Section("typedef float f32;\n"), add])])
    assert caught.value.code == "HLO182"
    (message, about) = caught.value.notes
    assert message.endswith(": line 3, in add: wrong;")
    assert about == "%a = add(%x, %y)"


def test_each_line_of_c_has_its_function():
    module = hlo.parse("""HloModule m
ENTRY e {
  x = f32[9] parameter(0)
  y = f32[9] exponential(x)
  ROOT r = f32[9] reverse(y), dimensions={0}
}""")
    source = emit_c.emit(prepare(module)).source
    lines = [line_at(source, n) for n in range(1, source.count("\n") + 1)]
    assert [line.text for line in lines] == [row.strip() for row in source.splitlines()]
    functions = [line for line in lines if line.text.endswith(") {") and ";" not in line.text]
    heads = {line.text.partition("(")[0].split()[-1]: line for line in functions}
    assert {"exp_f32", "y_kernel", "r_kernel", "run", "call"} <= heads.keys()
    assert all(line.function == name for name, line in heads.items())
    assert heads["y_kernel"].about == ("%y = f32[9]{0} exponential(%x)",)
    assert heads["exp_f32"].about == heads["run"].about == ()
    assert str(lines[0]).startswith("line 1, in the prelude: // HloModule m, ")


def test_files_that_are_handed_out_early_are_the_same(monkeypatch):
    monkeypatch.setattr(units, "FIRST_CUT", 1)
    lines = [f"a{k} = f32[{k},9] parameter({k})  b{k} = f32[{k},9] sine(a{k})" for k in range(1, 9)]
    lines[0] = "a0 = f32[3,9] parameter(0)  b0 = f32[3,9] tanh(a0)  " + lines[0]
    text = "HloModule m\nENTRY e {{\n{}\nROOT r = tuple({})\n}}"
    module = hlo.parse(text.format("\n".join(lines), ", ".join(f"b{k}" for k in range(9))))
    early: list[str] = []
    program = emit_c.emit(module, units=units.Units(2, early.append))
    files = program.files(2)
    assert len(early) > 2
    assert files[: len(early)] == tuple(early)
    assert emit_c.emit(module).files(2) == files


def test_a_file_of_several_is_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with compilers() as running:
        running.link(TWO)
    started = []
    start = processes._process
    monkeypatch.setattr(
        processes, "_process", lambda *given: started.append(given) or start(*given)
    )
    other = TWO[1].replace("* two()", "+ two()")
    with compilers() as running:
        assert four(running.link((TWO[0], other)), tmp_path) == 4
    assert len(started) == 2, "a compiler of the other file, and the linker"
    for kept in tmp_path.rglob("*.o"):
        kept.unlink()
    with compilers() as running:
        running.link(TWO)
    assert len(started) == 2 + 3, "none is in the cache any more"
