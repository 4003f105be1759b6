"""Verbs on several files and on folders: all modules, a line for each."""

from pathlib import Path

import numpy as np
import pytest

from emit_cuda import nvrtc
from hlo.errors.error import HloError

FINE = "HloModule m\n\nENTRY e {{ x = f32[{n}] parameter(0)  ROOT y = f32[{n}] {op}(x) }}\n"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A folder as XLA leaves it, with modules 2 and 10."""
    for number, op in ((2, "negate"), (10, "exponential")):
        stem = tmp_path / f"module_{number}.jit_{op}"
        Path(f"{stem}.before_optimizations.txt").write_text(FINE.format(n=number, op=op))
        Path(f"{stem}.cpu_after_optimizations.txt").write_text("HloModule not_looked_at")
    return tmp_path


def test_verify_names_the_largest(hlo, dump):
    """Module 2 comes before module 10."""
    assert hlo("verify", dump).out == (
        "module_2.jit_negate: fine, 2 instructions\n"
        "module_10.jit_exponential: fine, 2 instructions\n"
        "2 modules; the largest is module_2.jit_negate\n"
    )


def test_stats_have_a_line_for_each(hlo, dump):
    first, second, last = hlo("stats", dump).out.splitlines()
    assert " ".join(first.split()) == "module_2.jit_negate 2 instructions 8 B computed 2 flops"
    assert second.split()[:3] == ["module_10.jit_exponential", "2", "instructions"]
    assert last == "2 modules; the largest is module_2.jit_negate"


def test_print_writes_all_so_that_they_read_back(hlo, dump):
    text = hlo("print", dump).out
    assert text.count("// -----\n") == 1
    found = hlo("run", "-", "--split-input", "--fill", 0, stdin=text.encode())
    assert found.out.startswith("f32[2] [-0., -0.]\n// -----\nf32[10] [1.")


def test_run_compares_all(hlo, dump):
    found = hlo("run", dump, "--platform", "c", "--reference", "interpreter")
    assert found.status == 0
    names = [line.partition(":")[0] for line in found.out.splitlines()]
    assert names == ["module_2.jit_negate", "module_10.jit_exponential"]
    assert all(": equal to interpreter, arrays: 1" in line for line in found.out.splitlines())


def test_run_goes_on_after_a_module_that_fails(hlo, dump):
    """Files and folders may be mixed; the exit status says that one was not run."""
    wrong = dump / "wrong.hlo"
    wrong.write_text("HloModule m\nENTRY e { ROOT x = f32[2] nagate() }")
    found = hlo("run", wrong, dump)
    assert found.status == 2
    assert found.err.startswith(f"{wrong}: not run\n")
    assert [line.partition(":")[2].split()[:2] for line in found.out.splitlines()] == [
        ["arrays:", "1,"],
        ["arrays:", "1,"],
    ]


def test_options_about_one_module_are_refused(hlo, dump):
    found = hlo("run", dump, "--output", dump / "x.npz")
    assert (found.status, found.out) == (2, "")
    assert "--output is for one module, not 2" in found.err
    found = hlo("print", dump, "-o", dump / "x.mlir")
    assert "x.mlir holds one module, not 2" in found.err


def test_a_file_is_written_in_the_language_of_its_name(hlo, softmax, tmp_path):
    """`hlo opt -o x.mlir` gives the same values as the module."""
    assert hlo("opt", softmax, "-o", tmp_path / "m.mlir").status == 0
    assert (tmp_path / "m.mlir").read_text().startswith("module @jit_softmax_layer attributes {")
    for file in (softmax, tmp_path / "m.mlir"):
        values = tmp_path / f"{file.suffix[1:]}.npz"
        hlo("run", file, "--quiet", "-o", values)
    one, other = (np.load(tmp_path / name)["out0"] for name in ("hlo.npz", "mlir.npz"))
    np.testing.assert_allclose(one, other, rtol=1e-5)
    found = hlo("print", softmax, "--no-metadata", "-o", tmp_path / "m.mlir")
    assert "--no-metadata has no effect on" in found.err


def test_an_archive_of_results_gives_no_inputs(hlo, tmp_path):
    """A module without parameters needs none of its arrays."""
    (tmp_path / "m.hlo").write_text("ENTRY e { ROOT c = f32[2] constant({1, 2}) }")
    np.savez(tmp_path / "x.npz", out0=np.array([1, 2], np.float32))
    words = ("--input", tmp_path / "x.npz", "--expect", tmp_path / "x.npz", "--quiet")
    assert hlo("run", tmp_path / "m.hlo", *words).status == 0


def test_memory_and_code_are_dumped_beside_the_modules(hlo, tmp_path):
    (tmp_path / "m.hlo").write_text(FINE.format(n=4, op="negate"))
    for target in ("cpu", "gpu"):
        hlo("opt", tmp_path / "m.hlo", "--target", target, "--dump-to", tmp_path)
    ends = [path.name.partition("m.")[2] for path in tmp_path.glob("module_0000.*")]
    of_gpu = ["cu", "gpu_after_optimizations.txt", *([] if nvrtc.missing() else ["ptx"])]
    assert sorted(end for end in ends if "before_" not in end) == [
        "c",
        "cpu_after_optimizations-buffer-assignment.txt",
        "cpu_after_optimizations.txt",
        *of_gpu,
        "s",
    ]
    parts = {
        "c": "static void y_kernel(",
        "s": "y_kernel:",
        "cu": "__global__",
        "ptx": ".entry y_k",
    }
    for end, part in parts.items():
        if end in ends:
            assert part in (tmp_path / f"module_0000.m.{end}").read_text()


def test_a_dump_without_nvrtc_says_what_to_install(hlo, tmp_path, monkeypatch):
    def absent() -> None:
        raise HloError("HLO195", "NVRTC is not installed", notes=["pip install it"])

    monkeypatch.setattr("emit_cuda.nvrtc.ptx", lambda *_: absent())
    (tmp_path / "m.hlo").write_text(FINE.format(n=4, op="negate"))
    found = hlo("opt", tmp_path / "m.hlo", "--target", "gpu", "--dump-to", tmp_path)
    assert found.err == "--dump-to writes no .ptx file: NVRTC is not installed; pip install it\n"
    assert (tmp_path / "module_0000.m.cu").exists()


def test_a_dump_without_a_compiler_says_what_to_install(hlo, tmp_path, monkeypatch):
    """The other files are there."""
    monkeypatch.setenv("CC", "no-compiler")
    (tmp_path / "m.hlo").write_text(FINE.format(n=4, op="negate"))
    found = hlo("opt", tmp_path / "m.hlo", "--dump-to", tmp_path / "d")
    assert found.status == 0
    assert found.err.startswith("--dump-to writes no .s file: there is no C compiler: $CC is 'no-c")
    assert "apt install gcc" in found.err
    assert (tmp_path / "d" / "module_0000.m.c").exists()
    assert not (tmp_path / "d" / "module_0000.m.s").exists()
    shown = hlo("opt", tmp_path / "m.hlo", "--stage", "asm")
    assert shown.err.startswith("error[HLO180]: there is no C compiler: $CC is 'no-compiler'")
