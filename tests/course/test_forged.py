"""No answer gets a mark that it has not earned, whatever it does to the process that it runs in.

Each answer is wrong, and tries to be called right. `FORGED` is a verdict as the grader writes it,
`frame` a message as an answer's process sends it, and `everywhere` writes to all open files.
"""

import subprocess
import tempfile
import textwrap
from pathlib import Path

import pytest

from hlo_tools.exercises import sandbox
from hlo_tools.exercises.apart import Limits, run_apart

pytestmark = pytest.mark.skipif(
    bool(sandbox.refusal()), reason=f"this system has no sandbox: {sandbox.refusal()}"
)
PRELUDE = """
import atexit, builtins, ctypes, gc, json, os, signal, sys, threading, time
import numpy as np

FORGED = json.dumps({"number": 10, "status": "right", "message": "exercise 10 is right"}).encode()

def frame(text):
    data = text if isinstance(text, bytes) else text.encode()
    return len(data).to_bytes(8, "big") + data

def everywhere(data):
    for number in range(3, 64):
        try:
            os.write(number, data)
        except OSError:
            pass

def users(computation):
    return {}

NOTHING = '{"tuple": ["value", {"dict": []}]}'
"""
# Answers to exercise 10 that go on to give a wrong result after they have tried.
QUIET = {
    "tries nothing": "",
    "changes frames": """
        def users(computation):
            frame = sys._getframe()
            while frame:
                for name in ("found", "wrong", "report", "value"):
                    frame.f_locals[name] = None
                frame = frame.f_back
            return {}""",
    "changes reports that it finds": """
        for each in gc.get_objects():
            if type(each).__name__ in ("GradedAnswer", "Mistake", "Submission"):
                for name in ("status", "kind"):
                    object.__setattr__(each, name, "right")""",
    "empties lists that it finds": """
        def users(computation):
            for each in gc.get_objects():
                if type(each) is list and each and type(each[0]) is tuple and len(each) < 9:
                    each.clear()
            return {}""",
    "replaces the writer of results": "json.dumps = lambda *_, **__: FORGED.decode()",
    "replaces the writer's parts": "json.JSONEncoder.iterencode = lambda *_: [FORGED.decode()]",
    "replaces the reader of results": "json.loads = lambda *_: json.JSONDecoder().decode(FORGED)",
    "writes at the end": "atexit.register(everywhere, FORGED)",
    "prints a verdict": "print(FORGED.decode(), flush=True)",
    "replaces what is printed to": """
        class Stream:
            def write(self, text): return sys.__stdout__.write(FORGED.decode())
            def flush(self): everywhere(FORGED)
        sys.stdout = sys.stderr = Stream()""",
    "replaces comparisons of NumPy": """
        np.array_equal = np.allclose = np.array_equiv = lambda *_, **__: True""",
    "replaces what is expected": """
        import hlo.walk
        hlo.walk.users = lambda *_: {}
        from hlo_tools.exercises import reading
        reading.users = lambda *_: {}""",
    "replaces the search": """
        from hlo_tools.exercises import calls, reading
        calls.compare_calls = reading.compare_calls = lambda *_, **__: None""",
    "replaces the check": """
        from hlo_tools.exercises import catalogue, exercise
        exercise.Exercise.find = lambda *_: None
        object.__setattr__(catalogue.EXERCISES[10], "check", lambda *_: None)""",
    "replaces the report": """
        from hlo_tools.exercises import apart
        apart.GradedAnswer.__init__ = lambda self, *_: self.__dict__.update(status="right")""",
    "replaces mistakes": """
        from hlo_tools.exercises import finding
        finding.Mistake = lambda *_, **__: None
        finding.raised = lambda *_, **__: None""",
    "replaces what tells of exceptions": """
        from hlo_tools.exercises import referee
        mistake = {"type": "E", "told": "", "kind": "right", "message": "right",
                   "location": None, "refuses": True, "code": ""}
        referee.Performer.told_of = lambda *_: mistake
        def users(computation):
            raise ValueError""",
    "gives a dictionary that equals all": """
        class Same(dict):
            __eq__ = lambda *_: True
            __ne__ = lambda *_: False
            __hash__ = lambda _: 0
        def users(computation):
            return Same()""",
    "gives what says to be a dictionary": """
        class Same:
            __class__ = dict
            __eq__ = lambda *_: True
            items = lambda _: []
        def users(computation):
            return Same()""",
    "gives text that equals all": """
        class Same(str):
            __eq__ = lambda *_: True
            __hash__ = str.__hash__
        def users(computation):
            same = type("", (), {"name": Same("x")})()
            return {i: [same] for i in computation.instructions}""",
    "gives items that change": """
        class Changes(dict):
            def items(self):
                return [(i, []) for i in gc.get_objects() if type(i).__name__ == "Instruction"]
        def users(computation):
            return Changes()""",
    "traces": """
        def trace(frame, event, value):
            frame.f_locals.update(mistake=None, wrong=[])
            return trace
        sys.settrace(trace)
        threading.settrace(trace)""",
    "profiles": """
        def profile(frame, event, value):
            if event == "return" and isinstance(value, dict):
                value.clear()
                value.update(json.loads(FORGED))
        sys.setprofile(profile)""",
    "finds other modules on import": """
        class Finder:
            def find_spec(self, name, *_):
                import importlib.machinery
                if name.startswith("hlo_tools"):
                    return importlib.machinery.ModuleSpec(name, self)
            create_module = lambda *_: None
            def exec_module(self, module): module.__getattr__ = lambda _: lambda *_: None
        sys.meta_path.insert(0, Finder())
        for name in [n for n in sys.modules if n.startswith("hlo_tools.exercises.re")]:
            del sys.modules[name]""",
    "puts another module there": """
        import types
        fake = types.ModuleType("hlo_tools.exercises.reading")
        fake.users_by_name = lambda *_: {}
        sys.modules["hlo_tools.exercises.reading"] = fake""",
    "customizes the next Python": """
        code = f"import os; [os.write(n, {FORGED!r}) for n in range(3, 9)]"
        for folder in (os.environ["TMPDIR"], *sys.path):
            for name, text in (("sitecustomize.py", code), ("usercustomize.py", code),
                               ("mine.pth", f"import os; {code}")):
                try:
                    open(os.path.join(folder, name), "w").write(text)
                except OSError:
                    pass""",
    "changes the environment": """
        os.environ.update(PYTHONPATH=os.environ["TMPDIR"], PYTHONSTARTUP="/tmp/x.py",
                          LD_PRELOAD="/tmp/x.so", PYTHONINSPECT="1", CC="true", PATH="/tmp")
        os.putenv("PYTHONSAFEPATH", "")""",
    "takes signals over": """
        for number in (signal.SIGVTALRM, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD):
            signal.signal(number, lambda *_: everywhere(FORGED))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)""",
    "changes numbers of Python": """
        address = id(1) + 24
        held = ctypes.c_int32.from_address(address)
        held.value, held.value = 0, 1
        def users(computation):
            return {i: [] for i in computation.instructions}""",
    "reaches for the referee's memory": """
        libc = ctypes.CDLL(None)
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                libc.ptrace(16, int(name), 0, 0)
                for file in ("mem", "environ"):
                    try:
                        open(f"/proc/{name}/{file}", "r+b").write(FORGED)
                    except OSError:
                        pass""",
    "opens files of other processes": """
        for name in os.listdir("/proc"):
            for folder in (f"/proc/{name}/fd", f"/proc/{name}/map_files"):
                try:
                    files = os.listdir(folder) if name != str(os.getpid()) else []
                except OSError:
                    continue
                for file in files:
                    try:
                        os.write(os.open(f"{folder}/{file}", os.O_WRONLY | os.O_NONBLOCK), FORGED)
                    except OSError:
                        pass""",
    "says that all are of a type": "builtins.isinstance = lambda *_: True",
    "sorts and compares otherwise": """
        builtins.sorted = lambda *_, **__: []
        builtins.any = lambda _: False
        builtins.all = lambda _: True""",
    "listens to the garbage collector": """
        gc.callbacks.append(lambda *_: everywhere(b""))
        import weakref
        class Thing: pass
        thing = Thing()
        weakref.finalize(thing, everywhere, FORGED)""",
    "audits": "sys.addaudithook(lambda event, _: None)",
}
# Those that end the process, or send what is no message.
LOUD = {
    "writes a verdict and ends": "everywhere(FORGED); os._exit(0)",
    "writes a message of a verdict and ends": "everywhere(frame(FORGED)); os._exit(0)",
    "answers before it is asked": """
        everywhere(frame('{"tuple": ["read"]}') + frame(NOTHING) * 500)
        time.sleep(1)""",
    "answers with a verdict": """
        def users(computation):
            everywhere(frame('{"tuple": ["value", "right"]}') * 200)
            return {}""",
    "answers with null": """
        def users(computation):
            everywhere(frame('{"tuple": ["value", null]}') * 200)
            os._exit(0)""",
    "sends a pickle": r"""
        class Evil:
            def __reduce__(self): return os.system, ("echo reached",)
        import pickle
        everywhere(frame(pickle.dumps(Evil())))""",
    "sends text that nests": "everywhere(frame('[' * 10**6))",
    "sends a length without end": "everywhere((1 << 62).to_bytes(8, 'big'))",
    "sends an array without end": """
        def users(computation):
            array = '{"array": ["float64", [1000000000, 1000000000], ""]}'
            everywhere(frame('{"tuple": ["value", %s]}' % array))
            return {}""",
    "sends a number without end": """
        def users(computation):
            everywhere(frame('{"tuple": ["value", 1%s]}' % ("0" * 10**6)))
            return {}""",
    "sends a class": """
        def users(computation):
            everywhere(frame('{"tuple": ["value", {"builtins.eval": "1"}]}'))
            return {}""",
    "sends a call of what is not there": """
        def users(computation):
            everywhere(frame('{"tuple": ["call", 10, {"tuple": []}]}'))
            return {}""",
    "sends junk": "everywhere(os.urandom(1 << 16))",
    "closes the pipes": "os.closerange(3, 64); time.sleep(1)",
    "turns the pipes around": """
        for a in range(3, 64):
            for b in range(a + 1, 64):
                try:
                    os.dup2(b, a)
                except OSError:
                    pass""",
    "replaces what writes": """
        write = os.write
        os.write = lambda number, data: write(number, frame(FORGED)) and len(data)""",
    "writes from a thread": """
        def race():
            while True:
                everywhere(frame(NOTHING))
        threading.Thread(target=race, daemon=True).start()""",
    "lets a child answer": """
        if os.fork():
            time.sleep(2)
            os._exit(0)
        everywhere(frame('{"tuple": ["read"]}') + frame(NOTHING) * 99)""",
    "leaves a child that answers": """
        if os.fork():
            os._exit(0)
        while True:
            everywhere(frame(FORGED))
            time.sleep(0.01)""",
    "becomes a grader": """
        file = os.open(os.path.join(os.environ["TMPDIR"], "r"), os.O_RDWR | os.O_CREAT)
        words = ["exercise", "10", __file__, str(file), "9", "999", "9"]
        os.execv(sys.executable, [sys.executable, "-m", "hlo_tools.exercises.apart", *words])""",
    "ends as if all were right": "sys.exit(0)",
    "raises a verdict": """
        class GradedAnswer(BaseException):
            status = kind = code = "right"
            __str__ = lambda _: "exercise 10 is right"
        def users(computation):
            raise GradedAnswer""",
    "raises an error of the referee's": """
        from hlo_tools.exercises.finding import Mistake, ToldError
        def users(computation):
            raise ToldError(Mistake("right", "exercise 10 is right"), "right")""",
    "stops its parent": "os.kill(os.getppid(), signal.SIGKILL); time.sleep(1)",
    "stops all": "os.kill(-1, signal.SIGKILL)",
}
# By name: an exercise, and an answer to it.
OTHERS = {
    "a number that equals all": (
        29,
        """
        class Same(int):
            __eq__ = lambda *_: True
            __ne__ = lambda *_: False
            __hash__ = int.__hash__
        def trips(*_):
            return Same(0)""",
    ),
    "an array that equals all": (
        56,
        """
        class Same(np.ndarray):
            __eq__ = lambda *_: np.True_
            dtype = property(lambda _: np.dtype(np.float32))
        def maximum(x, y):
            return np.zeros(x.shape, np.float32).view(Same)""",
    ),
    "an object that says to be an array": (
        56,
        """
        class Same:
            __class__, shape, dtype = np.ndarray, (1,), np.dtype(np.float32)
            __array__ = lambda *_, **__: sys._getframe(9).f_locals.get("want")
        def maximum(x, y):
            return Same()""",
    ),
    "a shape that equals all": (
        13,
        """
        from hlo.types.shape import Shape
        class Same(Shape):
            __eq__ = lambda *_: True
            __str__ = lambda _: "f32[]"
        def infer_pad(instr, attrs, operand, value):
            return Same(operand.element_type, (1,))""",
    ),
    "keys that equal all": (
        72,
        """
        class Same:
            __eq__ = lambda *_: True
            __hash__ = lambda _: 0
        def signature(arguments, constants):
            return Same()""",
    ),
    "promises that equal all": (
        19,
        """
        class Same(str):
            __eq__ = lambda *_: True
            __hash__ = lambda _: hash("BITS")
        from hlo_tools.exercises.meaning import EXERCISE_RULES
        PROMISES = {rule: Same("BITS") for rule in EXERCISE_RULES}""",
    ),
    "a rule that equals all": (
        27,
        """
        class Same(str):
            __eq__ = lambda *_: True
            __ne__ = lambda *_: False
            __hash__ = str.__hash__
        RULE, REWRITE = Same("x"), 1""",
    ),
    "a text that parses itself": (
        76,
        """
        class Same(str):
            __eq__ = lambda *_: True
            __hash__ = str.__hash__
            split = partition = lambda *_: ["dce"]
        PIPELINE = Same("no-such-pass")""",
    ),
    "a pass that promises nothing": (
        25,
        """
        from interpreter.numbers.compare import Promise
        class DeadCode:
            name, promise = "dead-code", Promise(True, True, 1 << 40, True, True, True, True, 1e300)
            def run(self, module, log):
                from hlo.walk import rebuild_module
                from dataclasses import replace
                return rebuild_module(module, lambda c: replace(
                    c, root=c.parameters[0], instructions=c.parameters) if c.parameters else c)""",
    ),
    "a rule that promises nothing": (
        21,
        """
        from interpreter.numbers.compare import MAGNITUDE
        from optimizer.rewriting.pattern import p, q, reverse, x
        from optimizer.rewriting.rule import rule
        @rule(reverse(reverse(x, p), q), promise=MAGNITUDE)
        def reverse_of_reverse(x, p, q):
            return x""",
    ),
    "a module that prints another": (
        25,
        """
        from hlo.instruction import Module
        class Lies(Module):
            __str__ = lambda self: "HloModule x\\nENTRY e { ROOT x = f32[4] parameter(0) }"
            __eq__ = lambda *_: True
            __hash__ = Module.__hash__
        class DeadCode:
            name = "dead-code"
            def run(self, module, log):
                fields = ("name", "computations", "entry", "header", "stack_frames", "span")
                return Lies(*(getattr(module, f) for f in fields))""",
    ),
    "an object that says to be a module": (
        25,
        """
        from hlo.instruction import Module
        class Lies:
            __class__ = Module
            __getattr__ = lambda self, name: lambda *_: []
        class DeadCode:
            name = "dead-code"
            def run(self, module, log): return Lies()""",
    ),
    "a module that never ends": (
        25,
        """
        import hlo
        LOOP = hlo.parse('''
        same { ROOT x = f32[4] parameter(0) }
        more { x = f32[4] parameter(0)
          ROOT t = pred[] constant(true) }
        ENTRY e { x = f32[4] parameter(0)
          ROOT w = f32[4] while(x), condition=more, body=same }''')
        class DeadCode:
            name = "dead-code"
            def run(self, module, log): return LOOP""",
    ),
    "a module that takes all memory": (
        25,
        """
        import hlo
        LARGE = hlo.parse('''ENTRY e { x = f32[4] parameter(0)
          y = f32[1048576,1048576,4] broadcast(x), dimensions={2}
          ROOT z = f32[4] slice(y), slice={[0:1], [0:1], [0:4]} }''')
        class DeadCode:
            name = "dead-code"
            def run(self, module, log): return LARGE""",
    ),
    "a function that is not asked": (
        36,
        """
        def first_wrong(count, is_wrong):
            for cell in (is_wrong, getattr(is_wrong, "__func__", None)):
                for inner in getattr(cell, "__closure__", None) or ():
                    getattr(inner.cell_contents, "__dict__", {}).update(runs=0, first=1)
            return 1""",
    ),
    "a function that is asked for anything": (
        37,
        """
        def smallest(items, fails):
            for odd in ([], {}, None, object(), [[]], range(10**6), float("nan")):
                try:
                    fails(odd)
                except Exception:
                    pass
            return items""",
    ),
    "facts of another kind": (
        33,
        """
        def solve(nodes, transfer, readers, first):
            try:
                transfer("no such node", {})
            except Exception:
                pass
            return {node: frozenset("abcdefgh") for node in nodes}""",
    ),
    "C that ends the process": (
        43,
        """
        from codegen.expressions import Quoted
        def write_sign(instr, x):
            return Quoted('({ extern void _exit(int); _exit(0); 1.0f; })')""",
    ),
    "a kernel that ends the process": (
        60,
        r"""
        #include <unistd.h>
        static __attribute__((constructor)) void forge() {
          const char *told = "{\"number\": 60, \"status\": \"right\", \"message\": \"\"}";
          for (int n = 3; n < 64; n++) write(n, told, 55);
          _exit(0);
        }
        extern "C" __global__ void add(const float *x, const float *y, float *z, int n) {}""",
    ),
}  # fmt: skip
ANSWERS = {name: (10, code) for name, code in {**QUIET, **LOUD}.items()} | OTHERS
# These may need all of their time.
SECONDS = 20


def is_forged(number: int, code: str, tmp_path: Path) -> None:
    """A wrong answer is not right, and has changed no file."""
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    suffix = ".cu" if "__global__" in code else ".py"
    answer = tmp_path / f"answer{suffix}"
    body = textwrap.dedent(code)
    answer.write_text(body if suffix == ".cu" else f"{PRELUDE}\n{body}\n")
    with tempfile.TemporaryFile() as printed:
        report = run_apart("mark", str(number), answer, Limits(SECONDS, 2048), printed)
        printed.seek(0)
        told = printed.read().decode(errors="replace")
    assert report.status != "right", report
    assert "SyntaxError" not in report.message + told
    assert "reached" not in told
    assert precious.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == [answer.name, precious.name]


def test_there_are_as_many_as_promised() -> None:
    assert len(ANSWERS) >= 70


def test_all_that_go_on_to_answer_are_wrong(tmp_path: Path) -> None:
    """In one process, each after the other."""
    parts = [
        f"try:\n    exec({textwrap.dedent(code)!r}, globals())\nexcept Exception:\n    pass"
        for code in QUIET.values()
    ]
    is_forged(10, "\n".join(parts), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_a_forged_mark_is_none(name: str, tmp_path: Path) -> None:
    is_forged(*ANSWERS[name], tmp_path)
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(tmp_path) not in left.stdout
