"""`libpyhlo_pjrt.so`: programs that are not Python load it, and JAX does by its path."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from emit_c.executable.toolchain import toolchain
from hlo_jax import loadable
from hlo_jax.abi import structs
from hlo_jax.abi.functions import FUNCTIONS
from hlo_jax.abi.members import declaration
from hlo_tools import cli

pytestmark = pytest.mark.usefixtures("jax")
HOST = Path(__file__).with_name("host.c")
# For each function: `PJRT_Error* NAME(NAME_Args*)`, in PJRT_Api in this order.
HEADER = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
"""
HANDLES = ("Error", "Event", "Client", "Device", "Buffer", "LoadedExecutable")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "libpyhlo_pjrt.so"
    assert cli.main(["pjrt", "-o", str(path)]) == 0
    return path


def own_header() -> str:
    """`pjrt_c_api.h` as PyHLO's table has it."""
    names = {name: struct for name, struct in FUNCTIONS.items() if struct is not None}
    functions = "".join(
        f"  PJRT_Error *(*{name})({name}_Args *);\n" if name in names else f"  void *{name};\n"
        for name in FUNCTIONS
    )
    return "".join(
        [
            HEADER,
            *(f"typedef struct PJRT_{name} PJRT_{name};\n" for name in HANDLES),
            declaration(structs.PjrtProgram, "PJRT_Program"),
            declaration(structs.ExecuteOptions, "PJRT_ExecuteOptions"),
            *(declaration(struct, f"{name}_Args") for name, struct in names.items()),
            "typedef struct {\n  size_t struct_size;\n  void *extension_start;\n",
            "  struct { size_t struct_size; void *extension_start; int major, minor; } version;\n",
            functions,
            "} PJRT_Api;\n",
        ]
    )


def header(folder: Path, whose: str) -> Path:
    """The folder of `pjrt_c_api.h`: XLA's, which TensorFlow's wheel has, or PyHLO's own."""
    if whose == "XLA":
        found = find_spec("tensorflow")
        if found is None or found.origin is None:
            pytest.skip("TensorFlow's wheel, which has XLA's header, is not installed")
        return Path(found.origin).parent / "include/xla/pjrt/c"
    (folder / "pjrt_c_api.h").write_text(own_header())
    return folder


@pytest.mark.parametrize("whose", ["PyHLO", "XLA"])
def test_a_program_in_c(library: Path, tmp_path: Path, whose: str) -> None:
    program = tmp_path / "host"
    include = f"-I{header(tmp_path, whose)}"
    compiler = toolchain().command[0]
    subprocess.run([compiler, include, str(HOST), "-o", str(program), "-ldl"], check=True)
    # Python finds its files without the shell's help.
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [program, library], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert re.fullmatch("Client_Compile: error 3: .*undeclared SSA value.*", lines[1]), lines[1]
    assert [lines[0], *lines[2:]] == [
        "devices: 1",
        "0.000000 0.761594 0.964028 0.999329",
        "fetch into 3 bytes: error 3: 16 bytes of a buffer to 3 bytes of the host",
    ]
    assert done.returncode == 0


BY_PATH = """
import jax, jax.numpy as jnp
print(jax.devices(), jax.jit(lambda x: jnp.tanh(x).sum())(jnp.arange(3.0)))
jax.debug.callback(lambda x: print("called with", x), jnp.float32(2))
"""


def test_jax_loads_it_by_its_path(library: Path) -> None:
    environment = {
        **os.environ,
        "PJRT_NAMES_AND_LIBRARY_PATHS": f"pyhlo:{library}",
        "JAX_PLATFORMS": "pyhlo",
        "PYHLO_JAX_DEVICES": "1",
    }
    command = [sys.executable, "-c", BY_PATH]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "[PyhloDevice(id=0)] 1.7256217\ncalled with 2.0\n", done.stderr


def test_a_python_that_lacks_pyhlo_is_told_which_one_built_it(
    library: Path, tmp_path: Path
) -> None:
    """The folders of packages are still there; but what they hold can't be imported."""
    (tmp_path / "hlo_jax.py").write_text("raise ImportError('another package of that name')")
    script = f"""
import ctypes
get = ctypes.CDLL({str(library)!r}).GetPjrtApi
get.restype = ctypes.c_void_p
print(get())
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "None\n"
    start = "libpyhlo_pjrt.so: PyHLO can't start: ImportError: another package of that name"
    assert done.stderr == (
        f"{start} (Python is that of {sys.prefix}; the library was built by that of {sys.prefix})\n"
    )


def test_a_python_without_a_shared_library(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loadable.sysconfig, "get_config_var", lambda name: f"no{name}.a")
    assert cli.main(["pjrt", "-o", "libpyhlo_pjrt.so"]) == 2
    assert "has no shared library, so no other program can start it" in capsys.readouterr().err
