"""The command as a whole: help, verbs that do not exist, errors, pipes, start-up."""

import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hlo_tools import cli

COMMAND = [sys.executable, "-m", "hlo_tools"]
NAMES_READ = {"print", "verify", "run", "stats"}


def start(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own."""
    plain = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")
    }
    return subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        check=False,
        env=plain | environment,
        stdin=subprocess.DEVNULL,
    )


def test_help_names_every_verb(hlo) -> None:
    result = hlo("--help")
    assert result.status == 0
    assert all(verb in result.out for verb in cli.VERBS)


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_has_help(hlo, verb: str) -> None:
    result = hlo(verb, "--help")
    assert result.status == 0
    assert f"usage: hlo {verb}" in result.out


def test_version(hlo) -> None:
    assert hlo("--version").out.startswith("hlo 0.")


def test_no_verb_and_wrong_verb_are_bad_usage(hlo) -> None:
    assert hlo().status == 2
    wrong = hlo("prnt")
    assert wrong.status == 2
    assert "did you mean `print`" in wrong.err


def test_wrong_option_is_bad_usage(hlo, softmax: Path) -> None:
    assert hlo("print", softmax, "--no-such-option").status == 2


@pytest.mark.parametrize("verb", sorted(NAMES_READ))
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("absent.hlo", None, "HLO200"),
        ("binary.pb", b"\x0a\x00\x01", "HLO201"),
        ("empty.hlo", b"", "HLO001"),
        ("torn.hlo", b"HloModule m\n\nENTRY e {\n  ROOT a = f32[] add(b", "HLO0"),
        ("latin.hlo", b"HloModule m\xe9 {", "HLO0"),
        ("marked.hlo", b"\xef\xbb\xbfHloModule m\n", "HLO001"),
        ("wide.hlo", "HloModule m\n".encode("utf-16"), "HLO201"),
        ("text.hlo.gz", b"\x1f\x8b\x08\0\0\0", "HLO201"),
        ("report.zip", b"PK\x03\x04\x14\0", "HLO201"),
    ],
)
def test_bad_input_is_one_message(
    hlo, tmp_path: Path, verb: str, name: str, content: bytes | None, code: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    result = hlo(verb, path)
    assert (result.status, result.out) == (2, "")
    assert f"error[{code}" in result.err
    assert name in result.err


def test_a_name_that_the_system_refuses_is_no_internal_error(hlo) -> None:
    result = hlo("verify", "x" * 5000)
    assert result.status == 2
    assert result.err.startswith("error[HLO200]: cannot use xxx")


def test_hints_say_what_a_file_is(hlo, tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    for content, hint in ((b"\xef\xbb\xbfHloModule m\n", "mark"), (b"\xff\xfeH\0", "UTF-16")):
        path.write_bytes(content)
        assert hint in hlo("print", path).err


def test_an_excerpt_does_not_move_the_cursor(hlo, tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    path.write_bytes(b"HloModule m\r\rENTRY \x1b[2J\xe9 {")
    shown, carets = hlo("print", path).err.splitlines()[1:3]
    assert shown == "   1 | HloModule m␍␍ENTRY ␛[2J\ufffd {"
    assert shown[carets.index("^")] == "␛"
    path.write_bytes(b"HloModule m\nENTRY e {\n  a\x1b = f32[] parameter(0)\n}")
    assert "`␛` can't be part of a name" in hlo("print", path).err


def test_an_unexpected_error_is_one_line(hlo, softmax: Path, monkeypatch) -> None:
    monkeypatch.setattr("hlo_tools.verbs.print.read_module", lambda *_: 1 // 0)
    result = hlo("print", softmax)
    assert result.status == 2
    assert result.err.count("\n") == 1
    assert "please report" in result.err


def test_debugging_shows_the_traceback(hlo, softmax: Path, monkeypatch) -> None:
    monkeypatch.setattr("hlo_tools.verbs.print.read_module", lambda *_: 1 // 0)
    monkeypatch.setenv("HLO_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        hlo("print", softmax)


def test_an_interrupt_is_quiet(hlo, softmax: Path, monkeypatch) -> None:
    def interrupt(*_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hlo_tools.verbs.print.read_module", interrupt)
    result = hlo("print", softmax)
    assert (result.status, result.err) == (130, "hlo: interrupted\n")


def test_a_closed_pipe_is_quiet(softmax: Path) -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen([*COMMAND, "print", "-"], stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdout
    # The reader goes before the command has anything to write.
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(softmax.read_bytes())
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize(
    ("words", "closed", "status"),
    [("verify {}", ">&-", 0), ("verify -", "<&-", 2), ("verify absent.hlo", "2>&-", 2)],
)
def test_streams_may_be_closed(softmax: Path, words: str, closed: str, status: int) -> None:
    script = f"{shlex.join([*COMMAND, *words.format(softmax).split()])} {closed}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (status, False)


def test_head_ends_a_command_without_a_word() -> None:
    """More than a pipe holds is left to write when its reader goes."""
    script = f"{shlex.join([*COMMAND, 'rules'])} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (141, b"", 1)


def test_paths_have_spaces(hlo, softmax: Path, tmp_path: Path, monkeypatch) -> None:
    """Those of modules, arrays, passes, traces, dumps; of the cache and the compiler's folder."""
    place = tmp_path / "a dir; $HOME 'or' two"
    place.mkdir()
    for variable in ("XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(variable, str(place))
    module, passes = place / "my module.hlo", place / "my passes.py"
    shutil.copy(softmax, module)
    passes.write_text(
        "class One:\n    name = 'one'\n    def run(self, m, log):\n        return m\n"
    )
    value, trace = place / "a value.npz", place / "a trace.txt"
    for words in (
        ("verify", module),
        ("run", module, "-o", value, "--trace", trace),
        ("run", module, "--expect", value, "--platform", "c", "--quiet"),
        ("opt", module, "--passes", f"cse, {passes}:One,dce", "-o", place / "an end.hlo"),
        ("opt", module, "--dump-to", place / "all of them"),
        ("aot", module, "-o", place / "c of it"),
    ):
        result = hlo(*words)
        assert (result.status, result.err) == (0, ""), words
    assert trace.read_text()
    dumped = [path.name for path in (place / "all of them").iterdir()]
    assert len(dumped) > 2
    assert not any(" " in name.removeprefix("my module") for name in dumped)
    subprocess.run(["make", "example"], cwd=place / "c of it", check=True, capture_output=True)
    subprocess.run([place / "c of it" / "example"], check=True, capture_output=True)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom hlo_tools.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'lark', 'rich', 'ml_dtypes', 'hlo'} & sys.modules.keys()))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert out.splitlines()[-1] == b"[]"


def test_output_does_not_depend_on_hash_order(softmax: Path) -> None:
    """One process for each order, in which all verbs are called: most of its time is to begin."""
    verbs = [["ops"], ["explain", "--all"], ["stats", str(softmax)], ["print", str(softmax)]]
    code = (
        "import sys\nfrom hlo_tools.cli import main\n"
        f"sys.exit(any([main(words) for words in {verbs}]))"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    )
    assert b"HloModule" in first
    assert first == second


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    path = tmp_path / "latin.hlo"
    path.write_bytes(
        b"HloModule m\n\nENTRY e {\n"
        b'  ROOT a = f32[] parameter(0), origin={{"caf\xe9"}}, metadata={op_name="caf\xe9"}\n}\n'
    )
    # XLA escapes metadata, and leaves origins as they are.
    printed = start("print", str(path)).stdout
    assert b'origin={{"caf\xe9"}}' in printed
    assert b'metadata={op_name="caf\\351"}' in printed


def test_no_color_is_honoured(hlo, softmax: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.hlo"
    other.write_text(softmax.read_text().replace("exponential", "tanh"))
    words = ("diff", str(softmax), str(other))
    red = b"\x1b[31m"
    assert red in start(*words, FORCE_COLOR="1", TERM="xterm").stdout
    # Not even bold.
    assert b"\x1b" not in start(*words, FORCE_COLOR="1", TERM="xterm", NO_COLOR="1").stdout
    assert "\x1b" not in hlo(*words).out


@pytest.mark.parametrize(("without", "escaped"), [("", True), ("1", False)])
def test_without_colours_nothing_moves_on_a_terminal(without: str, escaped: bool) -> None:
    """The line that turns while a pass is checked is of escape sequences, too."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": without}
    words = [*COMMAND, "check", "zero_sized_hlo_elimination", "--examples", "1"]
    ends = {"stdin": secondary, "stdout": secondary, "stderr": secondary}
    process = subprocess.Popen(words, env=environment, **ends)
    os.close(secondary)
    shown = b""
    while True:
        try:
            part = os.read(primary, 1000)
        except OSError:  # how Linux tells that nobody writes any longer
            break
        if not part:
            break
        shown += part
    os.close(primary)
    assert process.wait(timeout=30) in (0, 1)
    assert b"zero_sized_hlo_elimination" in shown
    assert (b"\x1b" in shown) == escaped


def test_inputs_of_several_devices_are_explained(hlo) -> None:
    told = " ".join(hlo("run", "--help").out.split())
    assert "Several devices are given the same arrays, or each its own: first all of" in told


@pytest.mark.parametrize("verb", ["doctor", "opt"])
def test_a_file_in_the_way_of_a_package_is_named(tmp_path: Path, verb: str) -> None:
    (tmp_path / "optimizer.py").touch()
    words = [verb] if verb == "doctor" else [verb, "-"]
    done = subprocess.run(
        [*COMMAND, *words], cwd=tmp_path, capture_output=True, text=True, check=False, input=""
    )
    told = done.stdout + done.stderr
    assert done.returncode == 2
    assert f"{tmp_path}/optimizer.py is in the way of PyHLO's package `optimizer`" in told
