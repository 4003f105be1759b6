"""Nothing that an answer does crashes the checker, hangs it, changes a file, or makes it right.

`test_sandbox` has attacks on all else.
"""

import tempfile
from pathlib import Path

import pytest

from hlo_tools.exercises.apart import Limits, check_apart, run_apart

# What an answer to exercise 10 does, and what may be told of it.
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
    "overwrites a file": ("open(FILE, 'w').write('gone')", "error wrong"),
    "moves a file": ("import os\n    os.rename(FILE, FILE + '2')", "error"),
    "prints garbage": (
        "import sys\n    sys.stdout.buffer.write(bytes(range(256)))\n    return '\\ud800\\x00'",
        "error",
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
        "wrong memory ended",
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
FORGED = '{"number": 10, "status": "right", "message": "right"}'
# What an answer does to the checker, which runs in another process; `test_forged` has more.
CHEATS = {
    "writes a result and ends": (
        f"""import os
    for n in range(3, 99):
        try:
            os.ftruncate(n, 0)
            os.pwrite(n, b'{FORGED}', 0)
        except OSError:
            pass
    os._exit(0)""",
        "ended",
    ),
    "writes a result later": (
        f"""import os, threading, time
    def write():
        while True:
            for n in range(3, 9):
                try:
                    os.pwrite(n, b'{FORGED}', 0)
                except OSError:
                    pass
    threading.Thread(target=write, daemon=True).start()
    return {{}}""",
        "ended wrong",
    ),
    "prints a result": (f"print('{FORGED}')\n    return {{}}", "wrong"),
    "replaces the comparison": (
        "from hlo_tools.exercises import calls\n    calls.equal = lambda *_: True",
        "error",
    ),
    "replaces the code of the comparison": (
        """from hlo_tools.exercises import calls
    calls.equal.__code__ = (lambda same, want, got: True).__code__""",
        "error",
    ),
    "replaces the solution": (
        "from hlo_tools.exercises import reading\n    reading.same_users = lambda *_: True",
        "error",
    ),
    "replaces a method": (
        """from hlo_tools.exercises import exercise
    exercise.Exercise.find = lambda *_: None
    return {}""",
        "wrong",
    ),
    "replaces the report": (
        """from hlo_tools.exercises import apart
    report = apart.GradedAnswer(10, 'right', 'right')
    apart.GradedAnswer = lambda *_: report
    return {}""",
        "wrong",
    ),
    "exits as if all were right": ("raise SystemExit(0)", "ended"),
    "prints without end": ("while True:\n        print('x' * (1 << 20))", "error time ended"),
    "deletes the temporary folder": (
        "import shutil, tempfile\n    shutil.rmtree(tempfile.gettempdir(), True)\n    return {}",
        "wrong",
    ),
    "waits at the end": (
        "import atexit, time\n    atexit.register(time.sleep, 10**6)\n    return {}",
        "wrong",
    ),
}
# Files that hold no function.
FILES = {
    "nothing": (b"", "missing"),
    "no Python": (b"def users(computation:", "error"),
    "bytes": (b"\x00\xff\xfe", "error"),
    "an end": (b"raise SystemExit(0)", "error"),
    "a loop": (b"while True: pass", "time"),
    "a process and a loop": (b"import os\nos.fork()\nwhile True: pass", "time"),
}
# Each starts two processes, which takes a second; some wait for their limit.
QUICK = ("deletes a file",)
WAYS = HOSTILE | CHEATS


def limits(wanted: str) -> Limits:
    """Few seconds for what does not end, and many for what ends, however busy the machine is."""
    return Limits(4 if "time" in wanted else 120, megabytes=2048)


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in WAYS]
)
def test_what_an_answer_does_stays_there(name: str, tmp_path: Path) -> None:
    body, wanted = WAYS[name]
    file, folder = tmp_path / "precious.txt", tmp_path / "folder"
    file.write_text("precious")
    folder.mkdir()
    names = f"FILE, FOLDER = {str(file)!r}, {str(folder)!r}\n\n\n"
    answer = tmp_path / "answer.py"
    answer.write_text(f"{names}def users(computation):\n    {body}\n")
    with tempfile.TemporaryFile() as printed:
        report = run_apart("mark", "10", answer, limits(wanted), printed)
    assert report.status in wanted.split(), report
    assert file.read_text() == "precious"
    assert folder.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_answer_is_told(name: str, tmp_path: Path) -> None:
    text, wanted = FILES[name]
    answer = tmp_path / "answer.py"
    answer.write_bytes(text)
    report = check_apart(10, answer, limits(wanted))
    assert report.status == wanted, report
