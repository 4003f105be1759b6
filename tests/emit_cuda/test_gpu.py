"""Kernels through PyCUDA: on a stand-in for the driver, and on a GPU where there is one."""

import ctypes
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hlo
from emit_cuda import nvrtc
from emit_cuda.gpu import GpuDevice, conditions, missing

STAND_IN = Path(__file__).parent / "stand_in"
NO_PYCUDA = importlib.util.find_spec("pycuda") is None


# Those of the script that pass, and each of those that end a process.
CHECKS = (), ("failures",), ("names",)


def run(where, environment, checks):
    """The script's output, in a process of its own."""
    command = [sys.executable, str(STAND_IN / "script.py"), where, *checks]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    return done.stdout.split(), done.stdout + done.stderr


@pytest.fixture
def build():
    """The script that builds the stand-in, as a Python module."""
    spec = importlib.util.spec_from_file_location("build", STAND_IN / "build.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def stand_in(build, tmp_path):
    """The folder of a driver that runs kernels on the processor."""
    build.stand_in(tmp_path)
    return tmp_path


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
def test_the_stand_in_is_built_and_loaded_where_there_is_no_pycuda_too(stand_in):
    # In another process: what is loaded here would be the driver of the tests below.
    load = f"import ctypes; assert not ctypes.CDLL({str(stand_in / 'libcuda.so.1')!r}).cuInit(0)"
    subprocess.run([sys.executable, "-c", load], check=True)


@pytest.mark.skipif(NO_PYCUDA, reason="PyCUDA is not installed: `make pycuda` builds it")
@pytest.mark.skipif(not missing(), reason="a machine with a GPU has a driver of its own")
def test_pycuda_on_a_stand_in_for_the_driver(stand_in):
    for checks in CHECKS:
        lines, shown = run("stand-in", {"LD_LIBRARY_PATH": str(stand_in)}, checks)
        assert lines[-1:] == ["all"], shown
        assert "WARNING" not in shown, shown


LAYOUT = """#include <cuda.h>
#include <cstddef>
#include <cstdio>
int main() {
  CUgraphNodeParams p;
  void *fields[] = {&p.type, &p.conditional.handle, &p.conditional.type, &p.conditional.size,
                    &p.conditional.phGraph_out, &p.conditional.ctx};
  printf("%zu", sizeof p);
  for (void *field : fields) printf(" %td", (char *)field - (char *)&p);
  printf(" %d %d %d %d", CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_COND_TYPE_IF,
         CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_ASSIGN_DEFAULT);
}"""


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
def test_conditional_nodes_are_laid_out_as_in_cuda_h(build, tmp_path):
    program = tmp_path / "layout"
    command = ["g++", "-xc++", f"-I{build.headers()}", "-", "-o", str(program)]
    subprocess.run(command, input=LAYOUT, text=True, check=True)
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    node = conditions._ConditionalNode
    names = ("type", "handle", "kind", "size", "graphs", "context")
    offsets = [getattr(node, name).offset for name in names]
    numbers = (conditions._CONDITIONAL, conditions.IF, conditions.WHILE)
    ours = [ctypes.sizeof(node), *offsets, *numbers, conditions._ASSIGN_DEFAULT]
    assert list(map(int, told.split())) == ours


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
def test_the_driver_links_what_sets_conditions():
    options = [conditions.LINKED]
    text = nvrtc.ptx(conditions.CONDITIONS, name=conditions.FILE, options=options)
    assert ".extern .func cudaGraphSetConditional" in " ".join(text.split())
    assert all(f".entry {kernel}(" in text for kernel in conditions.KERNELS)


@pytest.mark.gpu
@pytest.mark.skipif(bool(missing()), reason=f"no GPU: {missing()}")
@pytest.mark.parametrize("checks", CHECKS)
def test_pycuda_on_a_gpu(checks):
    lines, shown = run("gpu", {}, checks)
    assert "all" in lines, shown


@pytest.mark.skipif(not missing(), reason="there is a GPU")
def test_without_a_gpu_the_error_says_what_still_works():
    with pytest.raises(hlo.HloError, match="no GPU: ") as caught:
        GpuDevice()
    assert caught.value.code == "HLO194"
    assert "--platform cuda-host" in caught.value.notes[0]
    assert "--stage ptx" in caught.value.notes[1]
