"""`hlo jax`: a script of JAX, run, watched, compared and stepped through."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hlo_jax.engines.compiled import OnBackend
from hlo_tools import cli

SCRIPT = """
import jax, jax.numpy as jnp
@jax.jit
def scaled(x, factor):
    return jnp.sum(x * 1.0 * factor)
@jax.jit
def unequal(x):
    return jnp.log(x)
print(scaled(jnp.arange(4.0), 2.0), unequal(jnp.float32(1)))
"""


@pytest.fixture
def script(jax: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A script, run in this process: nothing that was compiled before is used again."""
    jax.clear_caches()
    monkeypatch.setenv("JAX_PLATFORMS", "pyhlo,cpu")
    monkeypatch.setenv("PYHLO_JAX_ENGINE", "interpreter")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


def test_a_module_is_stepped_through_with_the_script_s_own_arguments(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("next\nargs\nquit\n"))
    assert cli.main(["jax", script, "--step", "jit_scaled"]) == 0
    shown = capsys.readouterr().out
    assert "(hlo) next" in shown
    assert "multiply" in shown
    assert shown.endswith("12.0 0.0\n"), "the script goes on"


def test_a_module_to_step_through_that_is_not_there(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["jax", script, "--step", "jit_other"]) == 2
    assert "the script compiled no module jit_other; it compiled" in capsys.readouterr().err


def test_calls_are_compared_and_explained(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["jax", script, "--compare", "--explain", "--engine", "c"]) == 0
    err = capsys.readouterr().err
    assert "jit_scaled" in err
    assert "equal to the interpreter" in err
    assert "compared with the interpreter: 0 of " in err


def test_the_first_difference_is_shown_with_the_user_s_line(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = OnBackend.run

    def run_wrongly(self: OnBackend, per_device: Any) -> Any:
        more = 1 if self.name == "c" else 0
        return [[value + more for value in own] for own in run(self, per_device)]

    monkeypatch.setattr(OnBackend, "run", run_wrongly)
    assert cli.main(["jax", script, "--compare"]) == 1
    err = capsys.readouterr().err
    assert "jit_scaled: {0}: 21.0 instead of 20.0; 1 of 1 elements differ" in err
    assert f"the result is computed at {script}:5 (jit(scaled)/reduce_sum)" in err
    assert "compared with the interpreter: 4 of 4 modules differ" in err


def test_nan_is_found_where_it_arises(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Path(script).open("a") as file:
        file.write("print(unequal(jnp.float32(-1)))\n")
    assert cli.main(["jax", script, "--stop-at-nan"]) == 1
    shown = capsys.readouterr()
    assert shown.out == "12.0 0.0\n", "the script went on to there"
    assert "log: NaN arises in %log" in shown.err
    assert "script.py:8 (jit(unequal)/log)" in shown.err
    assert shown.err.splitlines()[1].endswith('script.py", line 10, in <module>')


def test_modules_are_written_to_files(script: str, tmp_path: Path) -> None:
    assert cli.main(["jax", script, "--dump-to", str(tmp_path / "modules")]) == 0
    """The names are XLA's, so that `hlo run DIR` and others find the modules."""
    names = [path.name for path in sorted((tmp_path / "modules").iterdir())]
    (found,) = [name for name in names if name.endswith("jit_scaled.before_optimizations.txt")]
    start, end = found.split("before")[0], "cpu_after_optimizations"
    assert re.fullmatch(r"module_000\d\.jit_scaled\.", start)
    assert {f"{start}{end}.txt", f"{start}{end}-buffer-assignment.txt"} <= {*names}
    assert not [name for name in names if ".before_pipeline-end" in name]


def test_xlas_own_option_writes_them_too(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--xla_dump_hlo_pass_re` asks for the modules around passes."""
    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to={tmp_path} --xla_dump_hlo_pass_re=fusion|dce")
    assert cli.main(["jax", script]) == 0
    names = [path.name for path in tmp_path.glob("module_*.jit_scaled.*")]
    assert any(name.endswith("cpu_after_optimizations.txt") for name in names)
    between = [name for name in names if ".after_" in name]
    assert between
    assert all("fusion" in name or "dce" in name for name in between)


def test_a_page_of_the_largest_program_is_written(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYHLO_VIEW", str(tmp_path / "page.html"))
    assert cli.main(["jax", script]) == 0
    assert "<title>jit_scaled: cpu-optimization</title>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("platforms", ["", "cpu"])
@pytest.mark.usefixtures("jax")
def test_a_variable_is_enough_for_the_page_of_a_program(tmp_path: Path, platforms: str) -> None:
    """The program runs on PyHLO for the page; where another platform is named it is told."""
    path, page = tmp_path / "train.py", tmp_path / "page.html"
    path.write_text("import jax; print(jax.jit(lambda x: x * x + 1)(2.0))")
    named = {"JAX_PLATFORMS": platforms, "PYHLO_VIEW": str(page)}
    command = [sys.executable, str(path)]
    done = subprocess.run(
        command, env=os.environ | named, capture_output=True, text=True, check=True
    )
    assert done.stdout == "5.0\n"
    assert page.exists() == (not platforms)
    told = "PYHLO_VIEW: no page is written: JAX runs on cpu, and not on pyhlo"
    assert (told in done.stderr) == bool(platforms)


@pytest.mark.slow
@pytest.mark.usefixtures("jax")
def test_devices_are_made(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("import jax; print(len(jax.devices()))")
    command = [sys.executable, "-m", "hlo_tools", "jax", str(path), "--devices", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"


def test_a_script_that_is_no_python_is_shown_as_python_shows_it(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(script).write_text("HloModule m\n")
    assert cli.main(["jax", script, "--compare"]) == 1
    err = capsys.readouterr().err
    assert err.lstrip().startswith(f'File "{script}", line 1')
    assert "hlo_tools" not in err


@pytest.mark.parametrize(
    "content",
    [b"m /* \xff */\n", b"x = 1\0", b"PK\x05\x06" + bytes(18)],
    ids=["bytes", "null", "zip"],
)
def test_a_script_that_cannot_be_read_is_an_error_without_traceback(
    script: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(script).write_bytes(content)
    assert cli.main(["jax", script]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error[HLO200]: cannot run {script}: ")
    assert "Traceback" not in err
