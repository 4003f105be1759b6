"""Run the tests as on other machines: other BLAS kernels, threads, Pythons, compilers, processors.

`make everywhere` prints a line for each row; a row whose tools are missing says which, and counts
as neither passed nor failed. `ROWS="python clang"` chooses rows by parts of their names, and
`TESTS=...` other tests than a row's own. Nothing is shared with the user's cache.

    python tests/everywhere.py [--list] [--quick] [--tests "..."] [ROW ...]

With --quick, a row runs the few tests that have told machines apart.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
# For a processor: the level of x86-64 that its kernels of OpenBLAS need, and the vector loops of
# NumPy that it lacks.
PROCESSORS = {
    "Prescott": ("v2", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"),
    "Haswell": ("v3", "X86_V4 AVX512_ICL AVX512_SPR"),
    "Zen": ("v3", "X86_V4 AVX512_ICL AVX512_SPR"),
    "SkylakeX": ("v4", "AVX512_ICL AVX512_SPR"),
}
# Emitted code, and what it is compared with.
COMPILED = ("tests/emit_c", "tests/hlo_tools", "tests/test_models.py")
# What differed on some machine once: vectors, signs of zeros, tiles, calls; and sums, which no
# compiler of C has a part in.
QUICK_COMPILED = ("tests/emit_c/test_extremes.py", "tests/emit_c/test_processor.py")
QUICK = (
    *("tests/optimizer/test_rules.py::test_next_stronger_promise_fails", "tests/test_models.py"),
    *QUICK_COMPILED,
)


@dataclass(frozen=True)
class Row:
    """One machine.

    Attributes
    ----------
    settings : of the environment.
    tests : what is run there.
    quick : what is run with --quick; empty for all of it.
    python : the command of an interpreter that has what the tests need; empty for this one.
    version : of an interpreter that is to be found, and given what the tests need.
    needs : programs, each of which must be installed.
    level : the level of x86-64 that its code needs; empty for none.
    emulated : whether a slow machine: it gets no helpers.
    """

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ("tests",)
    quick: tuple[str, ...] = QUICK
    python: str = ""
    version: str = ""
    needs: tuple[str, ...] = ()
    level: str = ""
    emulated: bool = False


def rows() -> list[Row]:
    """All machines."""
    made = [Row("this machine")]
    for core, (level, left_out) in PROCESSORS.items():
        known = {"OPENBLAS_CORETYPE": core, "NPY_DISABLE_CPU_FEATURES": left_out}
        made.append(Row(f"blas {core}", known, level=level))
    for count in ("1", "2"):
        known = {"PYHLO_THREADS": count, "OPENBLAS_NUM_THREADS": count}
        made.append(Row(f"threads {count}", known))
    made += [Row(f"python 3.{minor}", version=f"3.{minor}") for minor in range(11, 15)]
    for compiler in ("gcc", "clang"):
        tests = COMPILED, QUICK_COMPILED
        made.append(Row(compiler, {"CC": compiler}, *tests, needs=(compiler,)))
        for level in ("v2", "v3", "v4"):
            command = f"{compiler} -march=x86-64-{level}"
            made.append(Row(command, {"CC": command}, *tests, needs=(compiler,), level=level))
    # Programs made ahead of time, for all levels of x86 and for ARM.
    made.append(Row("programs", {}, ("tests/emit_c/test_ahead_machines.py", "-m", ""), ()))
    arm = os.environ.get("ARM_PYTHON", "")
    made.append(
        Row("arm python", {}, ("tests/emit_c",), python=arm or "$ARM_PYTHON", emulated=True)
    )
    return made


def interpreter(version: str) -> str:
    """A Python of a version, from PATH or pyenv; empty if there is none."""
    found = shutil.which(f"python{version}")
    places = [Path(found)] if found else []
    places += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for place in places:
        # A shim of pyenv is there for versions that are not.
        if not subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode:
            return str(place)
    return ""


def missing(row: Row) -> str:
    """What a row lacks here; empty if it can run."""
    for name in row.needs:
        if not shutil.which(name):
            return f"{name} is not installed"
    if row.version and not interpreter(row.version):
        return f"there is no Python {row.version}"
    if row.python == "$ARM_PYTHON":
        return "ARM_PYTHON names no Python of an ARM machine, as `qemu-aarch64 -L ROOT ROOT/...`"
    if row.level and not can_run(row.level):
        return f"this processor is not an x86-64-{row.level}; `programs` compiles for it"
    return ""


def can_run(level: str) -> bool:
    """Whether this processor runs code of a level of x86-64."""
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/a"
        text = f'int main(void) {{ return !__builtin_cpu_supports("x86-64-{level}"); }}'
        told = ["cc", "-x", "c", "-o", made, "-"]
        built = subprocess.run(told, input=text, text=True, capture_output=True, check=False)
        # A compiler that does not know the levels by name leaves it to the tests.
        return bool(built.returncode) or not subprocess.run([made], check=False).returncode


def python_of(row: Row, folder: Path) -> list[str]:
    """The command of a row's interpreter; one of another version gets an environment."""
    if row.python:
        return shlex.split(row.python)
    if not row.version:
        return [sys.executable]
    place = folder / f"python{row.version}"
    if not (place / "ready").exists():
        subprocess.run([interpreter(row.version), "-m", "venv", place], check=True)
        wanted = [place / "bin/python", "-m", "pip", "install", "-q", "-e", f"{ROOT}[test,dev]"]
        subprocess.run(wanted, check=True, capture_output=True)
        (place / "ready").touch()
    return [str(place / "bin/python")]


def run(row: Row, tests: list[str], folder: Path, helpers: int = 2) -> bool:
    """Run a row and print its line; whether nothing failed.

    Parameters
    ----------
    helpers : processes that share its tests; none for one that runs them itself.
    """
    began = time.monotonic()
    told = missing(row)
    if told:
        print(f"{row.name:24} left out: {told}", flush=True)
        return True
    shared = ("-n", str(helpers)) if helpers and not row.emulated else ()
    options = ("-q", "-p", "no:cacheprovider", *shared, "-m", "not slow", "--tb=short")
    command = [*python_of(row, folder), "-m", "pytest", *options, *(tests or row.tests)]
    cache = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": python_path(row)}
    log = folder / f"{re.sub('[^A-Za-z0-9.]+', '-', row.name)}.log"
    with log.open("w") as out:
        ended = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **cache, **row.settings},
            stdout=out, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    lines = log.read_text().splitlines()
    last = re.sub(r" in [\d.]+s.*", "", lines[-1].strip("= ")) if lines else "nothing was said"
    print(f"{row.name:24} {last}, {time.monotonic() - began:.0f} s", flush=True)
    if ended.returncode:
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        print("".join(f"  {line[:150]}\n" for line in failed) + f"  {log}", flush=True)
    return not ended.returncode


def python_path(row: Row) -> str:
    """Where modules are found: the emulated interpreter has no environment of its own."""
    given = os.environ.get("ARM_PYTHONPATH", "")
    return f"{given}:{ROOT}" if row.emulated else os.environ.get("PYTHONPATH", "")


def main() -> int:
    """Run the chosen rows; 1 if any failed."""
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told.add_argument("rows", nargs="*", metavar="ROW", help="parts of names; all rows without any")
    told.add_argument("--list", action="store_true", help="print the rows, and what they lack here")
    told.add_argument("--quick", action="store_true", help="the tests that told machines apart")
    told.add_argument("--tests", default="", help="pytest's arguments, instead of a row's own")
    chosen = told.parse_args()
    found = [r for r in rows() if not chosen.rows or any(n in r.name for n in chosen.rows)]
    if chosen.list:
        for row in found:
            print(f"{row.name:24} {missing(row) or 'can run'}")
        return 0
    folder = Path(os.environ.get("EVERYWHERE", tempfile.gettempdir())) / "pyhlo-everywhere"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    tests = shlex.split(chosen.tests)
    if chosen.quick:
        # Two rows at once, each a process: to begin takes as long as a row's few tests.
        with ThreadPoolExecutor(2) as pool:
            passed = list(pool.map(lambda r: run(r, tests or [*r.quick], folder, 0), found))
    else:
        passed = [run(row, tests, folder) for row in found]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
