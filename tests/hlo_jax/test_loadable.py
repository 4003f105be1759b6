"""`libpyhlo_pjrt.so`: programs that are not Python load it, and JAX does by its path."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from course.blocks import alike

from emit_c.executable.toolchain import toolchain
from hlo_jax import loadable
from hlo_tools import cli

pytestmark = pytest.mark.usefixtures("jax")
HOUR = Path(__file__).parents[2] / "docs/howto/first-hour-with-the-pjrt-library.md"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "libpyhlo_pjrt.so"
    assert cli.main(["pjrt", "-o", str(path)]) == 0
    return path


def test_the_first_hour(tmp_path: Path) -> None:
    """The commands of the page, `hlo pjrt --header` is one, print what it shows."""
    text = HOUR.read_text()
    for name, source in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(source)
    compiler = toolchain().command[0]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "PYHLO_JAX_DEVICES": "1"}
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, shown in re.findall(r"\$ (.*)\n((?:[^$].*\n)*)", block):
            done = subprocess.run(
                re.sub(r"^cc\b", compiler, command), shell=True, cwd=tmp_path, env=environment,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            )  # fmt: skip
            assert alike(shown, done.stdout), done.stdout


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
