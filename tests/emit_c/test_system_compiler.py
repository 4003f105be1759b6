"""Which compiler is used, for which processor, and what is said where it is none."""

import platform

import pytest

import hlo
from emit_c.code import processor
from emit_c.code.processor import Processor
from emit_c.executable import toolchain
from hlo.support import compiler
from hlo.support.compiler import calls_with_vectors, machine_flags

GCC = "gcc version 12.2.0 (Debian 12.2.0-14)"
CLANG = "Debian clang version 14.0.6"
TOLD = {
    "gcc": f"Using built-in specs.\nTarget: x86_64-linux-gnu\nThread model: posix\n{GCC}\n",
    "clang": f"{CLANG}\nTarget: x86_64-pc-linux-gnu\nThread model: posix\n",
    "gcc-old": "Target: x86_64-linux-gnu\ngcc version 10.2.1 20210110 (Debian 10.2.1-6)\n",
    "gcc-arm": f"Target: aarch64-linux-gnu\n{GCC}\n",
    "clang-mac": "Apple clang version 17.0.0\nTarget: arm64-apple-darwin24.1.0\n",
}


@pytest.fixture
def told(monkeypatch):
    """Compilers that only talk, on an x86."""
    monkeypatch.setattr(compiler, "version_text", lambda command: TOLD[command[0]])
    monkeypatch.setattr(toolchain, "version_text", lambda command: TOLD[command[0]])
    monkeypatch.setattr(compiler.shutil, "which", lambda name, path=None: name)  # noqa: ARG005
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(("name", "own"), [("gcc", True), ("clang", False), ("gcc-arm", True)])
def test_only_gcc_is_given_the_flags_that_only_gcc_knows(monkeypatch, name, own):
    monkeypatch.setenv("CC", name)
    assert set(toolchain.OF_GCC).issubset(toolchain.toolchain().command) == own


WIDE = "-mprefer-vector-width=512"


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("machine", "command", "flags"),
    [
        ("x86_64", "gcc", ("-march=native", WIDE)),
        ("AMD64", "clang", ("-march=native", WIDE)),
        ("x86_64", "gcc -march=x86-64-v3", (WIDE,)),
        ("x86_64", "gcc-arm", ()),
        ("aarch64", "gcc-arm", ("-mcpu=native",)),
        ("arm64", "clang-mac", ("-mcpu=native",)),
        ("aarch64", "gcc-arm -mcpu=cortex-a72", ()),
        ("aarch64", "gcc", (WIDE,)),
    ],
)
def test_flags_are_those_of_the_processor(monkeypatch, machine, command, flags):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(compiler, "described", lambda: "")
    assert machine_flags(tuple(command.split())) == flags


TUNED = ("-march=native", "-mtune=sapphirerapids", WIDE)


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("command", "known", "flags"),
    [
        ("gcc", "avx512f amx_tile", TUNED),
        ("gcc", "avx512f", ("-march=native", WIDE)),
        ("gcc -march=x86-64-v4", "avx512f amx_tile", (WIDE,)),
        ("gcc-old", "avx512f amx_tile", ("-march=native", WIDE)),
        ("clang", "avx512f amx_tile", ("-march=native", WIDE)),
    ],
)
def test_a_processor_that_gcc_may_not_know_is_taken_for_the_one_before(
    monkeypatch, command, known, flags
):
    monkeypatch.setattr(compiler, "described", lambda: f"model name\t: new\nflags\t\t: {known}")
    assert machine_flags(tuple(command.split())) == flags


@pytest.mark.usefixtures("told")
def test_vectors_are_handed_over_by_gcc_on_x86(monkeypatch):
    found = []
    for name in TOLD:
        monkeypatch.setenv("CC", name)
        found.append(calls_with_vectors())
    assert found == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("level", "wanted"),
    [("v2", (16, 16, False)), ("v3", (32, 16, False)), ("v4", (64, 32, False))],
)
def test_code_is_written_for_the_processor_that_is_named(monkeypatch, level, wanted):
    """The compiler says which instructions there are, though this machine has others."""
    names = {"v2": (), "v3": ("__AVX__",), "v4": ("__AVX__", "__AVX512F__")}
    monkeypatch.setattr(processor, "family", lambda _: "x86_64")
    monkeypatch.setattr(processor, "find_compiler", lambda: ("cc", f"-march=x86-64-{level}"))
    monkeypatch.setattr(processor, "macros", lambda _: names[level])
    monkeypatch.setattr(processor, "machine_flags", lambda _: ())
    assert processor.here() == Processor(*wanted)


def test_without_a_compiler_the_system_says_what_there_is(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "")
    monkeypatch.setattr(compiler, "described", lambda: "flags\t: sse2 avx avx2")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert processor.here() == Processor(32, 16, sums_bytes=False)


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ("no-such-compiler -O2", "there is no C compiler: \\$CC is 'no-such-compiler'"),
        ("'gcc", "which no shell would understand: No closing quotation"),
        ("false", "'false' is no C compiler like gcc or clang: .* nothing, and its status is 1"),
        ("true", "'true' is no C compiler like gcc or clang: .* nothing, and its status is 0"),
        ("echo hello", "'echo hello' is no C compiler like gcc or clang: .* it says hello -v"),
        ("/dev", "there is no C compiler: \\$CC is '/dev'"),
    ],
)
def test_what_is_no_compiler_is_refused(monkeypatch, chosen, says):
    monkeypatch.setenv("CC", chosen)
    with pytest.raises(hlo.HloError, match=says) as caught:
        toolchain.toolchain()
    assert caught.value.code == "HLO180"
    assert any("install gcc" in note for note in caught.value.notes)
