"""Several processes, with the library of MPI that is installed: by `pip install mpich`, say."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.stress import build_stress

SCRIPT = Path(__file__).with_name("in_processes.py")
# Options, and a command before the command, with which processes that are left say why they end.
# MPICH's launcher kills all processes of a machine once a signal has ended one, whatever its
# options; a shell that waits for the process ends by itself. SIGUSR1, by which the launcher tells
# the others, would end a shell; MPI handles it. Open MPI's ends all if one, as that shell, gives an
# error.
LAUNCHERS: dict[str, tuple[list[str], list[str]]] = {
    "MPICH": (["-disable-auto-cleanup"], ["sh", "-c", 'trap "" USR1; "$@" || exit', "sh"]),
    "Open MPI": (["--enable-recovery", "--allow-run-as-root", "--oversubscribe"], []),
}
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")

pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")


def run(processes: int, *parts: str, timeout: float = 120) -> list[list[str]]:
    """The lines of each process."""
    assert MPIEXEC
    about = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False)
    options, before = LAUNCHERS["Open MPI" if "Open" in about.stdout else "MPICH"]
    command = [*before, sys.executable, str(SCRIPT), *parts]
    launch = [MPIEXEC, *options, "-n", str(processes), *command]
    made = subprocess.run(launch, capture_output=True, text=True, check=False, timeout=timeout)
    lines = [line.partition(" ") for line in made.stdout.splitlines()]
    told = [[text for rank, _, text in lines if rank == str(r)] for r in range(processes)]
    assert any(told), made.stdout + made.stderr
    return told


@pytest.fixture
def stress(tmp_path: Path) -> Path:
    """The library of random schedules."""
    return build_stress(tmp_path / "stress.so", "-shared", "-fPIC")


def test_four_processes_compute_what_the_interpreter_does(
    stress: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit by bit, small arrays and large ones, again and again; `hlo run` prints once for all.

    Random schedules end as they must, one after another.
    """
    monkeypatch.setenv("STRESS", f"{stress} 5150 20")
    printed = [line for d in range(4) for line in (f"device {d}:", "s32[4] [12, 12, 12, 12]")]
    none = ["None"] * 4
    others = [[*none, "20"]] * 3
    assert run(4, "values", "verb", "schedules") == [[*none, *printed, "20"], *others]


def test_two_processes_that_go_wrong() -> None:
    """Errors are the same in all, which go on after them; a dead process is named at once."""
    first, second = run(2, "values", "errors", "death")
    good = str(2 * np.arange(4))
    assert second == [*["None"] * 4, *first[4:9]]
    assert first == [
        *["None"] * 4,
        "HLO117 r: deadlock: no device can go on",
        good,
        "HLO116 e is for 3 devices, and is run by 2 processes",
        "HLO126 process 0 and process 1 run different programs",
        good,
        "HLO126 process 1 has ended before the others",
        "soon",
    ]


@pytest.mark.slow
def test_random_schedules_end(stress: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With delays, and devices that fail, skip a collective, or meet in another one."""
    monkeypatch.setenv("STRESS", f"{stress} 5000 10000")
    assert run(3, "schedules", timeout=3600) == [["10000"]] * 3
