"""Mistakes that students make, each in a kernel of its own, and each found in the right line.

A file says how it is launched, as `<<<grid, block, shared bytes>>>` with the arguments after it
and `cooperative` before it where its blocks wait for each other,
and marks the lines of its mistakes: `<- race`; and `<- or race`, where the order of threads decides
in which of several lines it is noticed.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from emit_cuda import host

FAULTS = sorted((Path(__file__).parent / "faults").glob("*.cu"))
DTYPES = {"f32": np.float32, "s32": np.int32}


def dims(text):
    return (*map(int, re.findall(r"\d+", text)), 1, 1)[:3]


def array(kind, shape):
    """An argument with the values 0, 1, 2 and so on, or the value that is given."""
    return np.arange(np.prod(shape), dtype=DTYPES[kind])


def launch(path, seed):
    """Run a file's kernel as its comment says."""
    text = path.read_text()
    library = host.compile(text, name=path.name, checked=True)
    line = re.search(r"// launch: (cooperative )?<<<(.*)>>>(.*)", text)
    grid, block, shared = ([*re.findall(r"\([^)]*\)|\d+", line[2]), "0"])[:3]
    arguments, memory, arrays = [], [], []
    for kind, shape, value in re.findall(r"(\w+)(?:\[([\d,]+)\]|=(\d+))", line[3]):
        if value:
            arguments.append(DTYPES[kind](value))
            continue
        arrays.append(array(kind, dims(shape)))
        arguments.append(arrays[-1].ctypes.data)
        memory.append(host.NamedMemory(arguments[-1], arrays[-1].nbytes, f"{kind}[{shape}]"))
    (kernel,) = library.kernels
    where, given = (dims(grid), dims(block), int(shared)), {"memory": memory, "seed": seed}
    return library.launch(kernel, *where, arguments, cooperative=bool(line[1]), **given)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_a_planted_fault_is_found_in_its_line(path, seed):
    marked = {
        (fault, number)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "// <- " in line
        for fault in line.partition("// <- ")[2].removeprefix("or ").split(", ")
    }
    found = {(each.fault, each.line) for each in launch(path, seed)}
    assert found & marked
    assert found <= marked


def test_there_are_faults_of_every_kind():
    text = "".join(path.read_text() for path in FAULTS)
    assert [fault for fault in host.FAULTS if f"// <- {fault}" not in text] == []
    assert len(FAULTS) >= 15
