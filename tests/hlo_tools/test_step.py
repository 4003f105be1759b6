"""The stepper: sessions as they are read, and what a session cannot show.

`tests/sessions/NAME.txt` is a session with NAME.hlo, as it is on the screen: `pytest --bless`
writes it anew from its commands.
"""

import io
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hlo_tools.step import Stepper
from hlo_tools.step.console import Console
from hlo_tools.step.shown import Shown, StyledLine
from hlo_tools.trace.stops import Stops

SESSIONS = sorted((Path(__file__).parents[1] / "sessions").glob("*.txt"))
MEAN = Path(__file__).parents[1] / "sessions" / "mean_of_sum.hlo"
PROMPT = Console.prompt


def replayed(session: str, stepper: Stepper) -> str:
    output = io.StringIO()
    console = Console(stepper, output, echo=True)
    lines = session.splitlines()
    console.run_script(line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT))
    return output.getvalue()


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_session(path, bless) -> None:
    wanted = path.read_text()
    got = replayed(wanted, Stepper(path.with_suffix(".hlo"), kernels=False))
    if bless:
        path.write_text(got)
    assert got == path.read_text()
    assert "error[" not in got


def test_steps_forwards_and_backwards_meet() -> None:
    stepper = Stepper(MEAN)
    texts = [str(stepper.module)]
    while stepper._has(stepper.at + 1):
        stepper.next()
        texts.append(str(stepper.module))
    assert texts[-1] == str(stepper.recording.last)
    while stepper.at:
        assert str(stepper.module) == texts[stepper.at]
        stepper.back()
    assert str(stepper.module) == texts[0]


def test_source_shows_the_lines_of_the_rule() -> None:
    stepper = Stepper(MEAN)
    assert "Rule(divide(x, c), multiply(x, 1 / c)," in str(stepper.next(1) and stepper.source())
    assert "-> " in str(stepper.next(1) and stepper.source())
    assert "optimizer/rules/divide.py" in str(stepper.source("divide by a power of two"))


def test_kernel_passes_follow_the_rewrites() -> None:
    stepper = Stepper(MEAN)
    stepper.go(len(stepper.stops))
    shown = str(stepper.next())
    assert "kernel of %add_reduce_multiply_fusion, pass vectorize-reductions" in shown
    assert "\n+   f32 lanes_1[" in shown
    assert "KernelPass" in str(stepper.source()) or "lambda" in str(stepper.source())
    assert "the end" in str(stepper.next(100)) + str(stepper.next())
    assert "kernel of" not in str(stepper.go(3))


def test_breakpoints_stop_at_passes_without_rewrites_and_over_kernels() -> None:
    stepper = Stepper(MEAN)
    assert "rewrites done; passes over kernels follow" in str(stepper.where())
    stepper.breakpoint("vectorize-reductions")
    stepper.breakpoint("hlo-memory-scheduler")
    assert "breakpoint 2: pass hlo-memory-scheduler" in str(stepper.cont())
    assert "breakpoint 1: pass vectorize-reductions" in str(stepper.cont())
    assert "changes done" in str(stepper.where())
    stepper.go(len(stepper.stops) + len(stepper.kernels))
    assert "that was the pass's last change\nthe end: " in str(stepper.finish())


def test_kernels_that_cannot_be_made_are_told_of() -> None:
    stepper = Stepper(
        "ENTRY e {\nx = f32[] parameter(0) ROOT r = f32[] custom-call(x), "
        'custom_call_target="nobody" }',
        "dce",
    )
    assert "nobody" in str(stepper.next())


def test_every_command_is_explained_under_its_name(hlo, tmp_path) -> None:
    script = tmp_path / "script"
    script.write_text("help")
    lines = hlo("step", MEAN, "--script", script).out.splitlines()[1:]
    commands = [name.removeprefix("do_") for name in dir(Console) if name.startswith("do_")]
    assert [line.replace("(", "").replace(")", "").split()[0].rstrip(":") for line in lines] == [
        {"longlist": "ll"}.get(name, name) for name in sorted(commands)
    ]


def test_kernels_become_cuda_step_by_step() -> None:
    stepper = Stepper(MEAN, "priority-fusion", target="gpu")
    stepper.go(len(stepper.stops))
    mapped = str(stepper.next())
    assert "kernel of %multiply_add_reduce_fusion, pass map-to-threads" in mapped
    assert "-   for (s64 j = 0; j < 1024; j++) {" in mapped
    assert "+   const s32 lane = threadIdx.x;" in mapped
    assert "def reduction_stages(" in str(stepper.source())
    spelled = str(stepper.next())
    assert '+ extern "C" __global__ void' in spelled
    assert str(stepper.back()) == mapped


def test_kernel_passes_follow_chosen_passes_too(hlo, tmp_path) -> None:
    script = tmp_path / "script"
    script.write_text("j 2\n")
    for target, told in (("cpu", "pass vectorize-reductions"), ("gpu", "pass map-to-threads")):
        words = ("--passes", "fusion", "--target", target, "--script", script)
        result = hlo("step", MEAN, *words)
        assert told in result.out


NAN = """HloModule m
ENTRY main {
  x = f32[2] parameter(0)
  one = f32[] constant(1)
  ones = f32[2] broadcast(one), dimensions={}
  up = f32[2] multiply(x, ones)
  ROOT out = f32[2] sqrt(up)
}
"""
WRONG = """
from optimizer.rewriting.pattern import multiply, negate, sqrt, x
from optimizer.rewriting.rule import Rule

RULES = [
    Rule(multiply(x, 1), x, name="fine"),
    Rule(sqrt(x), sqrt(negate(x)), name="wrong", where=None),
]
ONCE = Rule(sqrt(x.__class__("y")), negate(x.__class__("y")), name="negated")
"""


@pytest.fixture
def wrong(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "m.hlo").write_text(NAN)
    return tmp_path


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("divergence", "breakpoint 1: the result diverges"),
        ("negated", "breakpoint 1: rule negated"),
        ("sqrt", "breakpoint 1: opcode sqrt"),
        ("%out", "breakpoint 1: instruction %out"),
    ],
)
def test_breakpoints_stop_at_the_wrong_rewrite(wrong, condition, told) -> None:
    ones = [[np.array([1, 4], np.float32)]]
    passes = f"algebraic-simplifier,{wrong / 'wrong.py'}:ONCE"
    stepper = Stepper(wrong / "m.hlo", passes, inputs=lambda: ones)
    stepper.breakpoint(condition)
    shown = str(stepper.cont())
    assert told in shown
    assert "rule negated" in shown


def test_an_array_is_shown_row_by_row(tmp_path) -> None:
    path = tmp_path / "rows.hlo"
    path.write_text("ENTRY e { x = s32[2,3] parameter(0) ROOT y = s32[2,3] negate(x) }")
    given = [[np.array([[1, 2, 3], [4, 5, 6]], np.int32)]]
    shown = str(Stepper(path, "dce", inputs=lambda: given).value("y"))
    assert shown.splitlines() == ["%y = s32[2,3]", "[[-1, -2, -3],", " [-4, -5, -6]]"]


def test_nan_and_changes_are_met(wrong) -> None:
    text = NAN.replace("ROOT out = f32[2] sqrt(up)", "less = negate(up)\n  ROOT out = sqrt(less)")
    text = text.replace("less = negate", "less = f32[2] negate").replace(
        "out = sqrt", "out = f32[2] sqrt"
    )
    (wrong / "rules.py").write_text(
        "from optimizer.rewriting.pattern import abs_, negate, x\n"
        "from optimizer.rewriting.rule import Rule\n"
        "BACK = Rule(abs_(x), negate(x), name='back')\n"
    )
    text = text.replace("negate(up)", "abs(up)")
    stepper = Stepper(text, f"{wrong / 'rules.py'}:BACK", inputs=lambda: [[np.ones(2, np.float32)]])
    stepper.breakpoint("nan")
    assert "NaN arises in %out" in str(stepper.cont())
    stepper.go(0)
    stepper.clear()
    stepper.breakpoint("change %out")
    assert "breakpoint 1: %out changes" in str(stepper.cont())
    assert "rule back" in str(stepper.bisect())


def test_verb_reads_standard_input_and_scripts(hlo, tmp_path, monkeypatch) -> None:
    script = tmp_path / "script"
    script.write_text("# a comment\nn\n\nq\nnext\n")
    result = hlo("step", MEAN, "--script", script)
    assert result.status == 0
    assert result.out.startswith("(hlo) n\nrewrite 1 of 3: simplification.algebraic-simplifier\n")
    assert result.out.endswith("(hlo) q\n")
    monkeypatch.setattr("hlo_tools.verbs.step.standard_input", lambda: ["w", "nothing", "p mul"])
    result = hlo("step", MEAN)
    assert result.status == 2
    assert "there is no command `nothing`" in result.out
    assert "did you mean" in result.out


def test_what_makes_no_sense_is_told(hlo, tmp_path) -> None:
    assert "HLO200" in hlo("step", MEAN, "--script", tmp_path / "none").err
    assert "standard input holds the module, or the commands" in hlo("step", "-").err
    script = tmp_path / "script"
    wrong = (
        "n x",
        "p",
        "why mul",
        "b nowhere",
        "cl 7",
        "j 99",
        "source qq",
        "why qq mul.4",
        "l qq",
        "n 0",
        "u 0",
        "cl 0",
        "b nan mul.4",
        "b change qq",
        "b transpose-folding",
        "b transpose_of_transpose",
        *(f"{command} 5" for command in ("c", "r", "bisect", "w", "ll", "d", "a", "q")),
    )
    script.write_text("\n".join(wrong))
    result = hlo("step", MEAN, "--script", script)
    assert result.status == 2
    assert result.out.count("error[HLO204]") == len(wrong)
    assert "internal error" not in result.out + result.err


def test_failing_pass_is_told_at_the_end(wrong) -> None:
    (wrong / "bad.py").write_text(
        "class Bad:\n    name = 'bad'\n    def run(self, m, log):\n        return 1 // 0\n"
    )
    stepper = Stepper(wrong / "m.hlo", f"algebraic-simplifier,{wrong / 'bad.py'}:Bad")
    stepper.next(100)
    assert "bad.py:4:9: error[HLO206]: ZeroDivisionError" in str(stepper.next())


def test_terminal_session() -> None:
    """On a terminal there are colours and completed names, and Ctrl-C ends a command only."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "", "COLUMNS": "120"}
    words = [sys.executable, "-m", "hlo_tools", "step", str(MEAN)]
    ends = {"stdin": secondary, "stdout": secondary, "stderr": secondary}
    # Whoever runs the tests in the background ignores the signal, and so would the program.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(words, env=environment, start_new_session=True, **ends)
    finally:
        signal.signal(signal.SIGINT, before)
    os.close(secondary)
    shown, seen = "", 0

    def wait_for(text: str) -> None:
        nonlocal shown, seen
        while text not in shown[seen:]:
            assert select.select([primary], [], [], 30)[0], f"there is no {text!r} behind {shown!r}"
            shown += os.read(primary, 1000).decode()
        seen = shown.index(text, seen) + len(text)

    try:
        wait_for("(hlo) ")
        os.write(primary, b"n\n")
        wait_for("(hlo) ")
        os.write(primary, b"\n")  # the last command again
        wait_for("(hlo) ")
        process.send_signal(signal.SIGINT)
        os.write(primary, b"\n")  # a signal that comes too early for readline waits for a line
        wait_for("interrupted; q quits")
        os.write(primary, b"w\n")
        wait_for(" done")  # of rewrites, or of all changes where the line was a step more
        wait_for("(hlo) ")
        os.write(primary, b"q\n")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        os.close(primary)
    assert "jit_mean_of_sum: 3 rewrites by 3 runs of passes" in shown
    assert "\x1b[32m+   ROOT %multiply" in shown
    assert "rewrite 2 of 3: fusion" in shown


def test_names_are_completed() -> None:
    console = Console(Stepper(MEAN), io.StringIO())
    assert console.completenames("wh") == ["whatis", "where", "why"]
    assert console.completedefault("mul") == ["mul.4", "mul.3", "mul.5"]


def test_notebook_escapes_names() -> None:
    stepper = Stepper(MEAN)
    assert "&lt;" not in stepper._repr_html_()
    assert "<pre" in stepper.next()._repr_html_()
    hostile = Shown([StyledLine("<b>\x1b[2J", "came")])
    assert "<b>" not in hostile._repr_html_()
    assert "\x1b[2J" not in str(hostile) + hostile.ansi()


def test_breakpoints_of_names_make_no_modules(monkeypatch) -> None:
    """A large module takes a second for each of thousands of rewrites."""
    stepper = Stepper(MEAN)
    asked = []
    module = Stops.module
    monkeypatch.setattr(Stops, "module", lambda self, n: asked.append(n) or module(self, n))
    stepper.breakpoint("post-order")
    asked.clear()
    stepper.cont()
    assert stepper.at == 3
    assert 1 not in asked


def test_long_runs_of_lines_are_folded(tmp_path) -> None:
    """A computation that is inlined goes as a whole, and nobody reads all of it."""
    body = "\n".join(f"n{i + 1} = f32[] negate(n{i})" for i in range(20))
    path = tmp_path / "called.hlo"
    path.write_text(f"""HloModule m
f {{ n0 = f32[] parameter(0)
{body} }}
ENTRY e {{ x = f32[] parameter(0)  ROOT c = f32[] call(x), to_apply=f }}""")
    told = replayed(f"{PROMPT}n", Stepper(path, kernels=False))
    assert "rewrite 1 of" in told
    assert "(19 lines more)" in told
    assert told.count("negate") < 5
