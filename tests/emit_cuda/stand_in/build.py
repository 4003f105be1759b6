"""Builds PyCUDA, and a driver for it to talk to, on a machine without a GPU or a toolkit.

    python tests/emit_cuda/stand_in/build.py            # PyCUDA into this Python, some minutes

PyCUDA is there as source only. It wants the toolkit's headers, which NVIDIA's wheels have, and the
driver's library to link with, of which names are enough.
"""

import importlib.util
import re
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
HOST = HERE.parents[2] / "emit_cuda" / "host"
# Beside what cuda.h declares. The header of these three is in no wheel.
PROFILER = ("cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop")
PROFILER_HEADER = """#include <cuda.h>
typedef enum { CU_OUT_KEY_VALUE_PAIR, CU_OUT_CSV } CUoutput_mode;
extern "C" CUresult cuProfilerInitialize(const char *, const char *, CUoutput_mode);
extern "C" CUresult cuProfilerStart(void);
extern "C" CUresult cuProfilerStop(void);
"""
# The driver has neither graphics nor random numbers here.
CONFIGURATION = """
CUDA_ROOT = {root!r}
CUDA_INC_DIR = [{root!r}, {headers!r}]
CUDADRV_LIB_DIR = [{root!r}]
CUDADRV_LIBNAME = ["cuda"]
CUDA_ENABLE_GL = False
CUDA_ENABLE_CURAND = False
CXXFLAGS = ["-O1"]
"""


def headers():
    """The folder of cuda.h, from NVIDIA's wheels."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else []
    found = [path.parent for place in places for path in Path(place).glob("*/include/cuda.h")]
    if not found:
        sys.exit("cuda.h is missing: pip install nvidia-cuda-runtime")
    return found[0]


def functions():
    """The names of all functions of the driver, with their versions, as cuMemAlloc_v2."""
    text = (headers() / "cuda.h").read_text()
    declared = re.findall(r"\b(cu[A-Z]\w*)\s*\(", text)
    renamed = re.findall(r"#\s*define\s+cu\w+\s+(?:__CUDA_API_\w+\()?(cu[A-Z]\w+)", text)
    return sorted({*declared, *renamed, *PROFILER})


def compiled(folder, sources, name):
    """A library that calls itself libcuda.so.1."""
    rest = folder / "rest.cpp"
    # Every function that the sources leave out fails: CUDA_ERROR_NOT_SUPPORTED.
    weak = (
        f'extern "C" __attribute__((weak)) int {name}() {{ return 801; }}' for name in functions()
    )
    rest.write_text("\n".join(weak))
    command = ["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", f"-I{HOST}", str(rest)]
    command += [*map(str, sources), "-o", str(folder / name), "-Wl,-soname,libcuda.so.1", "-ldl"]
    subprocess.run(command, check=True)


def stand_in(folder):
    """The driver that runs kernels on the processor, as libcuda.so.1 in a folder."""
    compiled(folder, [HERE / "libcuda.cpp"], "libcuda.so.1")


def build_pycuda(folder):
    """PyCUDA's wheel, installed into the Python that runs this."""
    folder.mkdir(parents=True, exist_ok=True)
    compiled(folder, [], "libcuda.so")
    (folder / "cudaProfiler.h").write_text(PROFILER_HEADER)
    pip = [sys.executable, "-m", "pip"]
    tools = ["numpy", "setuptools", "wheel", "pytools", "mako", "platformdirs", "siphash24"]
    subprocess.run([*pip, "install", "-q", *tools], check=True)
    options = ["--no-deps", "--no-build-isolation"]
    source = [
        *pip,
        "download",
        "-q",
        *options,
        "--no-binary",
        "pycuda",
        "-d",
        str(folder),
        "pycuda",
    ]
    subprocess.run(source, check=True)
    (archive,) = folder.glob("pycuda-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    tree = folder / archive.name.removesuffix(".tar.gz")
    made = CONFIGURATION.format(root=str(folder), headers=str(headers()))
    (tree / "siteconf.py").write_text(made)
    subprocess.run([*pip, "install", "-q", *options, str(tree)], check=True)


if __name__ == "__main__":
    build_pycuda(Path("build/pycuda").resolve())
