"""`hlo cuda-host`: a student's own kernel, on the processor."""

from pathlib import Path

import numpy as np
import pytest

from emit_cuda import nvrtc
from emit_cuda.gpu import missing
from hlo_tools.cli import main

SOFTMAX = Path(__file__).parents[1] / "models" / "softmax_layer.hlo"
FAULTS = Path(__file__).parents[1] / "emit_cuda" / "faults"
ADD = """
__global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + c;
}
"""


@pytest.fixture
def hlo_cuda(tmp_path, capsys):
    """Run the verb on a text; gives the status and what it prints."""

    def run(text, *words):
        path = tmp_path / "own.cu"
        path.write_text(text)
        status = main(["cuda-host", str(path), *words])
        shown = capsys.readouterr()
        return status, shown.out + shown.err

    return run


def test_arrays_come_from_files_and_go_to_files(hlo_cuda, tmp_path):
    x = np.arange(1000, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "y.npy"
    words = f"--grid 4 --block 256 --arg {tmp_path}/x.npy --arg f32[1000] --arg 1000 --arg 0.5"
    status, shown = hlo_cuda(ADD, *words.split(), "--out", str(out))
    assert status == 0
    assert shown.startswith("f32[1000] = [5.000e-01 1.500e+00 2.500e+00 ")
    assert (np.load(out) == x + 0.5).all()


def test_a_mistake_is_told_and_is_the_exit_status(capsys):
    words = "--grid 4 --block 256 --arg f32[1000]=iota --arg f32[1000] --checked --seed 2"
    assert main(["cuda-host", str(FAULTS / "ragged_edge.cu"), *words.split()]) == 1
    shown = capsys.readouterr().out
    assert "ragged_edge.cu:5: out of bounds in twice" in shown
    assert "y[i] = 2 * x[i];" in shown
    assert "1 mistake found" in shown


def test_blocks_that_wait_for_each_other(hlo_cuda):
    words = ["--grid", "3", "--block", "32", "--checked", "--arg", "f32[96]=iota"]
    words += ["--arg", "f32[96]"]
    text = (FAULTS / "missing_grid_barrier.cu").read_text()
    status, shown = hlo_cuda(text, *words, "--cooperative")
    assert status == 1
    assert "race between blocks in turned" in shown
    whole = text.replace("x[i] = y[i];", "x[i] = y[i]; cooperative_groups::this_grid().sync();")
    status, shown = hlo_cuda(whole, *words, "--cooperative")
    assert status == 0, shown
    status, shown = hlo_cuda(whole, *words)
    assert "a grid waits that was not launched as cooperative" in shown
    status, shown = hlo_cuda(whole, *words, "--cooperative", "--grid", "17")
    assert "17 blocks, of which 16 are there at once" in shown


def test_a_kernel_that_leaves_its_arrays_does_not_end_the_command(hlo_cuda):
    text = "__global__ void f(float *x) { x[1 << 29] = 1; }"
    status, shown = hlo_cuda(text, "--arg", "f32[8]")
    assert status == 2
    assert "error[HLO192]: the kernel ended its process by SIG" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--arg f32[8] --arg f32[8] --arg 8", "kernel add has 4 parameters, not 3"),
        ("--arg f32[8] --arg f32[8] --arg 8.5 --arg 1", "'8.5' is not an integer of 4 bytes"),
        ("--arg 7 --arg f32[8] --arg 8 --arg 1", "'7' is not an array"),
        ("--arg f33[8] --arg f32[8] --arg 8 --arg 1", "no element type 'f33'"),
        ("--block 2,512,2 --arg f32[8] --arg f32[8] --arg 8 --arg 1", "more than 1024"),
        ("--kernel sub", "has no kernel 'sub'; it has add"),
    ],
)
def test_a_launch_that_does_not_fit_is_refused(hlo_cuda, words, message):
    status, shown = hlo_cuda(ADD, *words.split())
    assert status == 2
    assert message in shown


def test_what_a_kernel_prints_is_shown(tmp_path, capfd):
    path = tmp_path / "hello.cu"
    path.write_text('__global__ void hello() { printf("hello from thread %u\\n", threadIdx.x); }')
    assert main(["cuda-host", str(path), "--block", "2"]) == 0
    assert "hello from thread 0\nhello from thread 1\n" in capfd.readouterr().out


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
def test_a_launch_is_explained(hlo_cuda):
    words = "--grid 4 --block 256 --arg f32[1000] --arg f32[1000] --arg 1000 --arg 0"
    status, shown = hlo_cuda(ADD, *words.split(), "--explain-launch", "sm_90")
    assert status == 0
    assert "add on sm_90: 4 blocks of 256 threads; " in shown
    assert "a multiprocessor holds 8 blocks, 64 of 64 warps (100%); limited by warps" in shown


def test_a_launch_in_the_file_is_no_part_of_a_kernel(hlo_cuda):
    status, shown = hlo_cuda(ADD + "int main() { add<<<1, 2>>>(0, 0, 0, 0); }")
    assert status == 2
    assert "leave the file's main() out" in shown


def test_a_modules_kernels_are_clean_in_checked_mode():
    words = ["--platform", "cuda-host", "--checked", "--seed", "3", "--reference", "interpreter"]
    assert main(["run", str(SOFTMAX), *words, "--quiet"]) == 0


def test_checked_mode_is_of_the_processor(capsys):
    assert main(["run", str(SOFTMAX), "--platform", "c", "--checked"]) == 2
    assert "--checked has no effect without --platform cuda-host" in capsys.readouterr().err


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
def test_ptx_of_a_module(capsys):
    assert main(["opt", str(SOFTMAX), "--stage", "ptx", "--arch", "sm_80"]) == 0
    shown = capsys.readouterr().out
    assert ".target sm_80" in shown
    assert ".entry reduce_divide_multiply_fusion_kernel(" in shown


def test_an_architecture_is_for_ptx_and_sass(capsys):
    assert main(["opt", str(SOFTMAX), "--arch", "sm_80"]) == 2
    assert "--arch asks for --stage ptx or sass" in capsys.readouterr().err


def test_launches_of_a_module_are_explained(capsys):
    assert main(["opt", str(SOFTMAX), "--stage", "cuda", "--explain-launch", "H100"]) == 0
    shown = capsys.readouterr().out
    assert "): 1 block of " in shown
    assert "load of 4 bytes by 32 threads, 4 sectors" in shown
    assert "us on H100" in shown
    assert main(["opt", str(SOFTMAX), "--explain-launch", "H100"]) == 2
    assert "--explain-launch asks for --stage cuda" in capsys.readouterr().err
    assert main(["opt", str(SOFTMAX), "--stage", "cuda", "--explain-launch", "sm_1"]) == 2
    assert "A100 (sm_80), H100 (sm_90)" in capsys.readouterr().err


@pytest.mark.skipif(not missing(), reason="there is a GPU")
def test_libraries_are_for_a_gpu(capsys):
    assert main(["run", str(SOFTMAX), "--platform", "c", "--no-library"]) == 2
    assert "--no-library has no effect without --platform cuda" in capsys.readouterr().err
    assert main(["run", str(SOFTMAX), "--platform", "cuda", "--no-library"]) == 2
    assert "HLO194" in capsys.readouterr().err


def test_dynamic_shared_memory_has_the_bytes_that_are_asked_for(tmp_path, capsys):
    kernel = tmp_path / "turn.cu"
    kernel.write_text("""
extern "C" __global__ void turn(const float *x, float *y) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}""")
    words = ["cuda-host", str(kernel), "--grid", "1", "--block", "64", "--arg", "f32[64]=iota"]
    words += ["--arg", "f32[64]", "--checked"]
    assert main([*words, "--shared", "256"]) == 0
    assert "[63. 62. 61." in capsys.readouterr().out
    assert main(words) == 1
    assert "bounds" in capsys.readouterr().out
