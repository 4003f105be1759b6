"""Backends of one's own: found by name, run, and blamed at their lines."""

import os
from pathlib import Path

import numpy as np
import pytest

from hlo import HloError, parse
from hlo.backend import Backend
from hlo.backend_names import OWN, find, names

TEXT = """HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  y = s32[] parameter(1)
  z = f32[2] negate(x)
  ROOT t = (f32[2], s32[]) tuple(z, y)
}
"""
FILE = '''"""Backends of a test."""
import numpy as np
from hlo.backend import Backend, ModuleCompiler, StreamExecutor, TransferManager

def smallest(module):
    return lambda x, y: (-x, y)

class Parts:
    """All four parts in one object."""
    devices = 1
    waited = 0

    def optimize(self, module):
        self.seen = module
        return module

    def compile(self, module):
        assert module is self.seen
        return lambda x, y: [[-a for a in x], y]

    def to_device(self, value, shape, device):
        return list(value) if shape.rank else value

    def from_device(self, value, shape, device):
        return np.array(value, shape.element_type.dtype)

    def synchronize(self):
        self.waited += 1

class Inherits(ModuleCompiler):
    def compile(self, module):
        return lambda x, y: (-x, y)

whole = Backend("whole", Inherits(), TransferManager(), StreamExecutor())

def raises(module):
    return lambda x, y: x[5]

def refuses(module):
    raise NotImplementedError("there is no negate")

def leaves(module):
    raise SystemExit(0)

def returns_nothing(module):
    pass

def takes_nothing():
    pass

def one_result(module):
    return lambda x, y: -x

def three_results(module):
    return lambda x, y: (-x, y, y)

def wrong_type(module):
    return lambda x, y: (-x.astype(np.float64), y)

def wrong_dims(module):
    return lambda x, y: (-x[:1], y)

def no_array(module):
    return lambda x, y: (None, y)

def array_of_objects(module):
    return lambda x, y: (-x, object())

class Demanding:
    def __init__(self, number):
        pass

number = 7
'''
X, Y = np.float32([1, -2]), np.int32(3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name: str) -> tuple[list[float], int]:
    ((first, second),) = find(f"mine.py:{name}").load(parse(TEXT))([[X, Y]])
    return first.tolist(), int(second)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["smallest", "Parts", "Inherits", "whole"])
def test_every_form_of_a_backend_runs(name: str) -> None:
    assert run(name) == ([-1, 2], 3)


@pytest.mark.parametrize("name", ["interpreter", "c", "cuda-host"])
def test_our_own_run_by_the_same_protocol(name: str) -> None:
    backend = find(name)
    assert isinstance(backend, Backend)
    assert backend.summary
    ((first, second),) = backend.load(parse(TEXT))([[X, Y]])
    assert (first.tolist(), int(second)) == ([-1, 2], 3)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "code", "line", "told"),
    [
        ("raises", "HLO206", "lambda x, y: x[5]", "IndexError: index 5 is out of bounds"),
        ("refuses", "HLO181", "raise NotImplementedError", "there is no negate"),
        ("leaves", "HLO206", "raise SystemExit", "SystemExit: 0"),
        ("returns_nothing", "HLO206", "def returns_nothing", "returns nothing, not a function"),
        ("takes_nothing", "HLO206", "def takes_nothing", "does not take a module"),
        ("one_result", "HLO206", "def one_result", "an object of ndarray in the place of a tuple"),
        ("three_results", "HLO206", "def three_results", "there are 3 results, not 2"),
        ("wrong_type", "HLO206", "def wrong_type", "number 0: there are elements of float64, not"),
        ("wrong_dims", "HLO206", "def wrong_dims", "number 0: there is an array of [1], not of [2"),
        ("no_array", "HLO206", "def no_array", "number 0: there is nothing in the place of an"),
        ("array_of_objects", "HLO206", "def array_of", "number 1: there are elements of object"),
        ("Demanding", "HLO206", "class Demanding", "`Demanding()` fails: TypeError"),
        ("number", "HLO206", "", "`number` has no `compile`"),
        ("smalest", "HLO204", "", "mine.py has no `smalest`"),
    ],
)
def test_a_bad_backend_is_blamed_at_its_line(name: str, code: str, line: str, told: str) -> None:
    with pytest.raises(HloError) as caught:
        run(name)
    error = caught.value
    assert error.code == code
    assert told in error.message
    assert (line in error.span.excerpt()[0]) if error.span else not line


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [([X], "HLO110"), ([Y, X], "HLO111"), ([X[:1], Y], "HLO111"), ([X.astype("f8"), Y], "HLO111")],
)
def test_arguments_are_checked_for_the_backend(arguments: list[object], code: str) -> None:
    with pytest.raises(HloError) as caught:
        find("mine.py:smallest").load(parse(TEXT))([arguments])
    assert caught.value.code == code


@pytest.mark.usefixtures("folder")
def test_a_lone_device_is_not_asked_to_meet_others() -> None:
    collective = parse("""HloModule m, replica_count=2
ENTRY e {
  x = u32[] replica-id()
  ROOT y = u32[] not(x)
}
""")
    with pytest.raises(HloError, match="replica-id needs the other devices"):
        find("mine.py:smallest").load(collective)([[], []])
    with pytest.raises(HloError, match="has 1 device, not 2"):
        find("mine.py:Parts").load(parse(TEXT))([[X, Y], [X, Y]])


def test_a_file_is_read_again_once_it_has_changed(folder: Path) -> None:
    path = folder / "changing.py"
    path.write_text("def compile(module):\n    return lambda: 1\n")
    first = find("changing.py")
    assert find("changing.py") is first
    path.write_text("def compile(module):\n    return lambda: 2\n\n")
    os.utime(path, ns=(0, 0))
    assert find("changing.py") is not first


def test_a_file_that_raises_is_blamed(folder: Path) -> None:
    (folder / "broken.py").write_text("import hlo\nhlo.nonsense\n")
    with pytest.raises(HloError, match=r"broken.py:2:1: error\[HLO206\]: AttributeError"):
        find("broken.py:compile")
    with pytest.raises(HloError, match=r"cannot read none\.py"):
        find("none.py:compile")


def test_a_package_offers_a_backend_by_an_entry_point(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = folder / "theirs-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "[pyhlo.backends]\ntheirs = mine:smallest\nbroken = mine:nothing\n"
    )
    monkeypatch.syspath_prepend(folder)
    assert names() == [*OWN, "theirs", "broken"]
    assert find("theirs").load(parse(TEXT))([[X, Y]])[0][1] == 3
    with pytest.raises(HloError, match="mine:nothing, the entry point `broken`"):
        find("broken")
    with pytest.raises(HloError, match="did you mean `theirs`"):
        find("their")
