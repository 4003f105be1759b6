"""Nothing that an answer does crashes the checker, hangs it, or changes a file."""

from pathlib import Path

import pytest

from hlo_tools.exercises.apart import Limits, check_apart

# What an answer to exercise 6 does, and what may be told of it.
HOSTILE = {
    "loops": ("while True:\n        pass", "time"),
    "sleeps": ("import time\n    time.sleep(10**6)", "time"),
    "takes much memory": ("return bytearray(1 << 40)", "error"),
    "takes more and more memory": (
        "x = []\n    while True:\n        x.append(bytes(1 << 24))",
        "error time",
    ),
    "gives much": ("return 'x' * (1 << 28)", "error wrong memory"),
    "ends the process": ("import os\n    os._exit(0)", "ended"),
    "exits": ("import sys\n    sys.exit('good bye')", "ended"),
    "kills itself": ("import os\n    os.kill(os.getpid(), 9)", "time ended"),
    "kills its parent": ("import os\n    os.kill(os.getppid(), 15)", "error"),
    "reads nowhere": ("import ctypes\n    ctypes.string_at(0)", "ended"),
    "goes to the network": (
        "import socket\n    socket.create_connection(('127.0.0.1', 9))",
        "error",
    ),
    "deletes a file": ("import os\n    os.remove(FILE)", "error"),
    "deletes a folder": ("import shutil\n    shutil.rmtree(FOLDER)", "error"),
    "overwrites a file": ("open(FILE, 'w').write('gone')", "error"),
    "moves a file": ("import os\n    os.rename(FILE, FILE + '2')", "error"),
    "prints garbage": (
        "import sys\n    sys.stdout.buffer.write(bytes(range(256)))\n    return '\\ud800\\x00'",
        "wrong",
    ),
    "asks": ("return input('more? ')", "error"),
    "recurses": ("return users(computation)", "error"),
    "nests": (
        "x = []\n    for _ in range(10**6):\n        x = [x]\n    return x",
        "wrong ended error time",
    ),
    "raises what cannot be told": (
        "class Odd(BaseException):\n        __str__ = None\n    raise Odd",
        "error ended",
    ),
    "gives what cannot be shown": (
        "class Odd:\n        __repr__ = __eq__ = None\n    return Odd()",
        "wrong error ended",
    ),
    "never ends giving": ("import itertools\n    return itertools.count()", "wrong error"),
    "closes files": ("import os\n    os.closerange(0, 256)\n    return {}", "ended"),
    "starts a process": (
        "import os, time\n    if os.fork() == 0:\n        time.sleep(10**6)\n    return {}",
        "wrong",
    ),
    "starts a thread": (
        "import threading as t\n    t.Thread(target=t.Event().wait).start()\n    return {}",
        "wrong time",
    ),
    "changes what it is given": (
        "root = computation.root\n    object.__setattr__(root, 'operands', ())\n    return {}",
        "wrong error right",
    ),
}
# Files that hold no function.
FILES = {
    "nothing": (b"", "missing"),
    "no Python": (b"def users(computation:", "error"),
    "bytes": (b"\x00\xff\xfe", "error"),
    "an end": (b"raise SystemExit(0)", "error"),
}
# Each starts a process, which takes a second; some wait for their limit.
QUICK = ("deletes a file", "starts a process", "ends the process")
LIMITS = Limits(seconds=8, megabytes=2048)


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in HOSTILE]
)
def test_what_an_answer_does_stays_there(name: str, tmp_path: Path) -> None:
    body, wanted = HOSTILE[name]
    file, folder = tmp_path / "precious.txt", tmp_path / "folder"
    file.write_text("precious")
    folder.mkdir()
    names = f"FILE, FOLDER = {str(file)!r}, {str(folder)!r}\n\n\n"
    answer = tmp_path / "answer.py"
    answer.write_text(f"{names}def users(computation):\n    {body}\n")
    report = check_apart(6, answer, LIMITS)
    assert report.status in wanted.split(), report
    assert file.read_text() == "precious"
    assert folder.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_answer_is_told(name: str, tmp_path: Path) -> None:
    text, wanted = FILES[name]
    answer = tmp_path / "answer.py"
    answer.write_bytes(text)
    report = check_apart(6, answer, LIMITS)
    assert report.status == wanted, report
