"""Kernels through PyCUDA: on a stand-in for the driver, and on a GPU where there is one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hlo
from emit_cuda.gpu import GpuDevice, missing

STAND_IN = Path(__file__).parent / "stand_in"
NO_PYCUDA = importlib.util.find_spec("pycuda") is None


def run(where, environment):
    """The script's output, in a process of its own."""
    command = [sys.executable, str(STAND_IN / "script.py"), where]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    return done.stdout.split(), done.stdout + done.stderr


@pytest.mark.skipif(NO_PYCUDA, reason="PyCUDA is not installed: `make pycuda` builds it")
@pytest.mark.skipif(not missing(), reason="a machine with a GPU has a driver of its own")
def test_pycuda_on_a_stand_in_for_the_driver(tmp_path):
    spec = importlib.util.spec_from_file_location("build", STAND_IN / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    build.stand_in(tmp_path)
    lines, shown = run("stand-in", {"LD_LIBRARY_PATH": str(tmp_path)})
    assert "all" in lines, shown


@pytest.mark.gpu
@pytest.mark.skipif(bool(missing()), reason=f"no GPU: {missing()}")
def test_pycuda_on_a_gpu():
    lines, shown = run("gpu", {})
    assert "all" in lines, shown


@pytest.mark.skipif(not missing(), reason="there is a GPU")
def test_without_a_gpu_the_error_says_what_still_works():
    with pytest.raises(hlo.HloError, match="no GPU: ") as caught:
        GpuDevice()
    assert caught.value.code == "HLO194"
    assert "--platform cuda-host" in caught.value.notes[0]
    assert "--stage ptx" in caught.value.notes[1]
