"""Programs made ahead of time for many machines give XLA's values on each.

A machine of another family is emulated by qemu, where that and its compiler are installed: Debian's
packages qemu-user and gcc-aarch64-linux-gnu. A processor with more instructions than this one has
is only compiled for.
"""

import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import hlo
import optimizer
from emit_c.executable.ahead import files, signature
from emit_c.executable.calling import converted
from emit_c.executable.sanitize import _main, _value
from hlo.support.compiler import family_named, processor_flags
from hlo_tools.options.inputs import deal
from hlo_tools.values.arrays import load
from interpreter.numbers.compare import ROUNDING, compare

MODELS = Path(__file__).parents[1] / "models"
HERE = family_named(platform.machine())


@dataclass(frozen=True)
class Machine:
    """What code is made for.

    Attributes
    ----------
    compiler : a command; the beginning of it is what must be installed.
    needed : an instruction set that the processor must have to run the code, as Linux calls it.
    """

    family: str
    compiler: str
    needed: str = ""


MACHINES = {
    "gcc": Machine(HERE, "gcc"),
    "clang": Machine(HERE, "clang"),
    "x86-64-v2": Machine("x86_64", "gcc -march=x86-64-v2"),
    "x86-64-v3": Machine("x86_64", "gcc -march=x86-64-v3", "avx2"),
    "x86-64-v4": Machine("x86_64", "gcc -march=x86-64-v4", "avx512f"),
    "clang x86-64-v2": Machine("x86_64", "clang -march=x86-64-v2"),
    "clang x86-64-v3": Machine("x86_64", "clang -march=x86-64-v3", "avx2"),
    "clang x86-64-v4": Machine("x86_64", "clang -march=x86-64-v4", "avx512f"),
    "aarch64": Machine("aarch64", "gcc"),
    "aarch64 neoverse-v1": Machine("aarch64", "gcc -mcpu=neoverse-v1"),
}
# What is tried always; the rest takes minutes.
QUICK = {("aarch64", "mixed_precision"), ("aarch64", "sorting"), ("clang x86-64-v3", "spectrum")}
SINGLE = [p for p in sorted(MODELS.glob("*.hlo")) if "num_partitions" not in p.read_text()]


def tools(machine):
    """The compiler's command, and the emulator's, () if there is no need of one."""
    command, emulator = machine.compiler.split(), ()
    if machine.family != HERE:
        system = f"{machine.family}-linux-gnu"
        command[0] = f"{system}-{command[0]}"
        emulator = (f"qemu-{machine.family}", "-cpu", "max", "-L", f"/usr/{system}")
    for needed in (command[0], "make", *emulator[:1]):
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    return " ".join(command), emulator


def can_run(machine):
    known = machine.family != HERE or not machine.needed or not processor_flags()
    return known or machine.needed in processor_flags()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param(name, path, marks=[] if (name, path.stem) in QUICK else pytest.mark.slow)
        for name in MACHINES
        for path in SINGLE
    ],
    ids=lambda value: getattr(value, "stem", value),
)
def test_values_are_those_of_xla(name, path, tmp_path, monkeypatch):
    machine = MACHINES[name]
    compiler, emulator = tools(machine)
    monkeypatch.setenv("CC", compiler)
    module = hlo.parse(path.read_text())
    arrays = str(path.with_suffix(".npz"))
    (inputs,) = deal(load(arrays, "in"), [p.shape for p in module.entry.parameters], 1)
    ((want,),) = deal(load(arrays, "out"), [module.entry.root.shape], 1)
    made = optimizer.optimize(module, target="cpu")
    head = signature(made, "model")
    texts = files(made, "model") | {"example.c": _main(head)}
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    for number, array in enumerate(converted(made.entry, (), *inputs)):
        if array is not None:
            (tmp_path / f"in{number}_0").write_bytes(np.ascontiguousarray(array).tobytes())
    # A machine that is named is not to be taken for this one.
    own = [f"CC={compiler}", *(["ARCH="] if "-m" in compiler or emulator else [])]
    subprocess.run(["make", "-s", "-C", tmp_path, "example", *own], check=True)
    if can_run(machine):
        subprocess.run([*emulator, "./example"], cwd=tmp_path, check=True)
        assert compare(_value(made, head, tmp_path, 0), want, ROUNDING) is None
