"""JAX's tests of this folder with other releases of JAX and jaxlib, a line for each.

    python tests/hlo_jax/releases.py [--folder DIR] [--tests "..."] [RELEASE ...]

Each release is installed into a folder of its own, whose packages hide those of the environment,
and stays there for the next time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The newest first.
RELEASES = ("0.10.2", "0.10.1", "0.10.0", "0.9.2", "0.9.1", "0.9.0")
ROOT = Path(__file__).parents[2]
# All but those that ask JAX for examples of HLO.
TESTS = (
    "test_abi.py", "test_buffers.py", "test_callbacks.py", "test_compilation_cache.py",
    "test_devices.py", "test_engines.py", "test_errors.py", "test_ffi.py", "test_process.py",
    "test_profiler.py", "test_running.py", "test_verb.py",
)  # fmt: skip


def install(release: str, folder: Path) -> Path:
    """The folder in which a release's packages are."""
    target = folder / release
    if not (target / "jaxlib").is_dir():
        wanted = [f"jax=={release}", f"jaxlib=={release}"]
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
        subprocess.run([*command, str(target), *wanted], check=True)
    return target


def run(packages: Path, tests: list[str]) -> tuple[bool, str]:
    """Run tests with some packages; gives whether they passed, and pytest's last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    done = subprocess.run(
        [*command, *tests], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    last = (done.stdout.strip() or done.stderr.strip() or "nothing was said").splitlines()[-1]
    return done.returncode == 0, "\n".join([last, *failed])


def main() -> int:
    """Run the tests with each release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=RELEASES, metavar="RELEASE")
    parser.add_argument("--folder", type=Path, help="where the releases are installed")
    parser.add_argument("--tests", help="words for pytest in place of the tests of this folder")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.gettempdir()) / "pyhlo-jax-releases"
    here = Path(__file__).parent
    tests = given.tests.split() if given.tests else [str(here / name) for name in TESTS]
    fine = True
    for release in given.releases:
        passed, told = run(install(release, folder), tests)
        fine &= passed
        print(f"jax {release:8} {told}", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
