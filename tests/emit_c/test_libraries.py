"""The system's compiler, the cache, and calls from several threads."""

import functools
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import emit_c
import hlo
from codegen.file_text import FileText, Section
from emit_c.executable import libraries as made
from emit_c.executable.runtime import runtime
from hlo.support import libraries as kept
from hlo.support.cache import read_sealed

TEXT = """HloModule m
ENTRY e {
  x = f32[1000] parameter(0)
  y = f32[1000] add(x, x)
  z = f32[1000] multiply(y, x)
  ROOT r = f32[1000] subtract(z, y)
}"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder of the process; what all modules share is compiled before."""
    runtime()
    monkeypatch.setattr(kept, "_own", functools.cache(kept._own.__wrapped__))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pyhlo" / "libraries"


def libraries(cache):
    return sorted(path.name for path in cache.glob("*.so"))


def test_a_module_is_compiled_once(cache, monkeypatch):
    emit_c.compile(hlo.parse(TEXT), optimize=False)
    assert len(libraries(cache)) == 1

    def refuse(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(made, "compilers", refuse)
    executable = emit_c.compile(hlo.parse(TEXT), optimize=False)
    x = np.arange(1000, dtype=np.float32)
    assert (executable(x) == x * 2 * x - x * 2).all()


def test_nothing_but_libraries_stays_in_the_cache(cache):
    emit_c.compile(hlo.parse(TEXT), optimize=False)
    assert [path.suffix for path in cache.iterdir()] == [".so"]
    assert stat.S_IMODE(cache.stat().st_mode) & 0o077 == 0


def test_other_text_is_another_library(cache):
    emit_c.compile(hlo.parse(TEXT), optimize=False)
    emit_c.compile(hlo.parse(TEXT.replace("subtract", "divide")), optimize=False)
    assert len(libraries(cache)) == 2


def test_a_full_cache_loses_what_was_used_longest_ago(cache, monkeypatch):
    emit_c.compile(hlo.parse(TEXT), optimize=False)
    (old,) = libraries(cache)
    os.utime(cache / old, (1, 1))
    monkeypatch.setattr("hlo.support.libraries.CACHE_BYTES", 20_000)
    emit_c.compile(hlo.parse(TEXT.replace("subtract", "divide")), optimize=False)
    assert old not in libraries(cache)
    assert len(libraries(cache)) == 1


@pytest.mark.parametrize(("size", "about"), [(1 << 14, 4), (1 << 18, 64), (1 << 24, 4096)])
def test_a_cache_is_tidied_once_for_some_megabytes(size, about):
    due = sum(kept.is_due(f"{k}.so", size) for k in range(4096))
    assert about / 2 <= due <= about * 2


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    executable = emit_c.compile(hlo.parse(TEXT), optimize=False)
    assert executable(np.zeros(1000, np.float32)).sum() == 0


def test_many_compile_the_same_at_once(cache):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(emit_c.compile, [hlo.parse(TEXT)] * 8))
    assert len(libraries(cache)) == 1
    x = np.ones(1000, np.float32)
    assert all((executable(x) == 0).all() for executable in made)


def test_several_threads_call_one_executable():
    executable = emit_c.compile(hlo.parse(TEXT), optimize=False)

    def call(k):
        x = np.full(1000, k, np.float32)
        return all((executable(x) == 2 * k * k - 2 * k).all() for _ in range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(16)))


@pytest.mark.parametrize("chosen", [None, "no-such-compiler -O2"])
def test_without_a_compiler_the_error_says_what_to_install(chosen, cache, monkeypatch):
    del cache
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", chosen or "")
    with pytest.raises(hlo.HloError, match="no C compiler") as caught:
        emit_c.compile(hlo.parse(TEXT), optimize=False)
    assert caught.value.code == "HLO180"
    assert any("install gcc" in note for note in caught.value.notes)


def test_a_compilers_message_is_shown_with_its_kernel(cache):
    del cache
    source = "static void add_kernel(void) {\n  wrong;\n}\n\n"
    run = "void run(void) {\n  add_kernel();\n}\n"
    with pytest.raises(hlo.HloError) as caught:
        made.library([FileText([Section(source, "add_kernel"), Section(run, "run")])])
    assert caught.value.code == "HLO182"
    assert any("add_kernel" in note and "wrong" in note for note in caught.value.notes)


def test_arguments_that_do_not_lie_in_order_are_copied():
    executable = emit_c.compile(hlo.parse(TEXT), optimize=False)
    x = np.arange(4000, dtype=np.float32)[::-4]
    assert (executable(x) == x * 2 * x - x * 2).all()


def test_memory_says_what_a_call_takes():
    memory = emit_c.compile(hlo.parse(TEXT), optimize=False).memory
    assert (memory.arguments, memory.results, memory.constants) == (4000, 4000, 0)
    assert 4000 <= memory.temporaries <= 4100  # the other temporary lies where the result will


def test_wrong_arguments_are_refused():
    executable = emit_c.compile(hlo.parse(TEXT), optimize=False)
    with pytest.raises(hlo.HloError):
        executable(np.zeros(999, np.float32))


PROGRAM = """
import numpy as np, emit_c, hlo
module = hlo.parse({text!r})
x, y = np.ones((28, 64), np.float32), np.ones((64, 96), np.float32)
assert (emit_c.compile(module)(x, y) == 64).all()
"""
DOT = """HloModule m
ENTRY e {
  x = f32[28,64] parameter(0)
  y = f32[64,96] parameter(1)
  ROOT d = f32[28,96] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""


def compute(home):
    """Compile and call a module in a process of its own, with a cache."""
    command = [sys.executable, "-c", PROGRAM.format(text=DOT)]
    subprocess.run(command, env={**os.environ, "XDG_CACHE_HOME": str(home)}, check=True)
    return {path.name for path in (home / "pyhlo").rglob("*") if read_sealed(path) is not None}


def test_broken_libraries_are_made_again(tmp_path):
    """Those of modules, of tiles, of threads and of calls: half a file would end the process."""
    whole = compute(tmp_path)
    paths = sorted((tmp_path / "pyhlo" / "libraries").glob("*.so"))
    assert len(paths) >= 4
    for number, path in enumerate(paths):
        data = path.read_bytes()
        path.unlink()  # others may have the file under another name
        path.write_bytes(data[: len(data) // 2] if number % 2 else b"")
    assert compute(tmp_path) == whole


def test_what_killed_processes_leave_goes_with_a_later_library(cache, monkeypatch):
    monkeypatch.setattr(kept, "is_due", lambda *_: True)
    cache.mkdir(parents=True)
    cache.chmod(0o700)
    cache.parent.chmod(0o700)
    (cache / "build-killed").mkdir()
    os.utime(cache / "build-killed", (1, 1))
    emit_c.compile(hlo.parse(TEXT), optimize=False)
    assert [path.suffix for path in cache.iterdir()] == [".so"]


@pytest.mark.parametrize("full", ["compilers", "link", "write_sealed"])
def test_a_full_disk_is_done_without(cache, monkeypatch, full):
    """Wherever it is noticed, a folder of the process takes the place of the cache."""
    real = made.Compilers

    class Full(real):
        def __init__(self, tools, flags, folder):
            if full == "compilers" and folder == cache:
                raise OSError(28, "No space left on device")
            super().__init__(tools, flags, folder)

        def link(self, *arguments):
            if full == "link" and self.folder.parent == cache:
                raise hlo.HloError("HLO182", "the C compiler refuses the emitted code")
            return super().link(*arguments)

    monkeypatch.setattr(made, "Compilers", Full)
    if full == "write_sealed":
        monkeypatch.setattr("hlo.support.libraries.write_sealed", lambda *_: False)
    x = np.arange(1000, dtype=np.float32)
    executable = emit_c.compile(hlo.parse(TEXT.replace("multiply", full_of(full))), optimize=False)
    assert executable(x)[0] == 0
    assert bool(libraries(cache)) == (full != "write_sealed")


def full_of(full):
    """Another module for each case: what was compiled in this process is found again."""
    return {"compilers": "multiply", "link": "maximum", "write_sealed": "minimum"}[full]


def test_the_folder_of_a_process_goes_with_it(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "tmp").mkdir()
    settings = {"XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-c", PROGRAM.format(text=DOT)]
    subprocess.run(command, env={**os.environ, **settings}, check=True)
    assert not list((tmp_path / "tmp").iterdir())
