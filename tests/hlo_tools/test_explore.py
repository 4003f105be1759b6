"""`hlo explore`: texts become pages or errors, for this machine alone."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

pytest.importorskip("bottle")
pytest.importorskip("waitress")

from hlo.errors.error import HloError
from hlo_tools.explore import work
from hlo_tools.explore.server import KEPT, Explorer
from hlo_tools.explore.work import ExploredText, Workers, shown

GOOD = """HloModule m

ENTRY e {
  a = f32[2] parameter(0)
  ROOT b = pred[2] compare(a, a), direction=GT
}
"""
ENDLESS = """HloModule endless

body {
  ROOT s = s32[] parameter(0)
}

more {
  s = s32[] parameter(0)
  ROOT t = pred[] constant(true)
}

ENTRY e {
  a = s32[] parameter(0)
  ROOT w = s32[] while(a), condition=more, body=body
}
"""
JAX = """import jax.numpy as jnp

def program(x):
    return jnp.tanh(x)

arguments = (jnp.ones(3),)
"""


class Client:
    """Requests as a browser makes them."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    def ask(self, path: str, data: object = None, **headers: str) -> tuple[int, str]:
        body = None if data is None else json.dumps(data).encode()
        headers = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.explorer.address + path, body, headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    def show(self, text: str, **rest: object) -> dict[str, object]:
        return json.loads(self.ask("show", {"text": text, "runs_python": False, **rest})[1])


@pytest.fixture(scope="module")
def client():
    explorer = Explorer(Workers(seconds=60))
    threading.Thread(target=explorer.serve, daemon=True).start()
    yield Client(explorer)
    explorer.close()


def test_a_text_becomes_a_page(client: Client) -> None:
    path = client.show(GOOD)["page"]
    status, page = client.ask(str(path))
    assert status == 200
    assert "<title>m: cpu-optimization</title>" in page


def test_only_the_last_pages_are_kept(client: Client) -> None:
    paths = [str(client.show(GOOD, passes="dce")["page"]) for _ in range(KEPT + 1)]
    assert [client.ask(path)[0] for path in paths] == [404] + [200] * KEPT


def test_an_error_underlines_its_place() -> None:
    (problem,) = shown(ExploredText(GOOD.replace("compare(", "compares("))).problems
    assert (problem.message, problem.notes) == (
        "there is no opcode `compares`",
        ("did you mean `compare`?",),
    )
    assert GOOD.replace("compare(", "compares(")[problem.start : problem.end] == "compares"


def test_passes_that_are_unknown_are_an_error_beside_the_text() -> None:
    (problem,) = shown(ExploredText(GOOD, passes="dec")).problems
    assert (problem.start, problem.end) == (0, 0)
    assert "dec" in problem.message


def test_an_empty_text_is_nothing() -> None:
    assert shown(ExploredText(" \n")) == shown(ExploredText(""))
    assert not shown(ExploredText("")).problems


def test_python_of_a_link_is_not_run(tmp_path) -> None:
    """A link may come from anybody: somebody must agree first."""
    flag = tmp_path / "ran"
    text = f"import pathlib\npathlib.Path({str(flag)!r}).touch()\n"
    assert shown(ExploredText(text)).asks
    assert not flag.exists()
    assert not shown(ExploredText(text, runs_python=True)).asks
    assert flag.exists()


def test_passes_of_a_file_in_a_link_are_not_run(tmp_path) -> None:
    (tmp_path / "p.py").write_text("raise SystemExit")
    (problem,) = shown(ExploredText(GOOD, passes=f"{tmp_path}/p.py:P")).problems
    assert "Python" in problem.message


def test_a_function_of_jax_is_traced() -> None:
    pytest.importorskip("jax")
    assert "<title>jit_program" in shown(ExploredText(JAX, runs_python=True)).page


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("import math\ndef program(x):\n  return (", "SyntaxError", 3),
        ("import math\nx = 1 / 0\n", "ZeroDivisionError: division by zero", 2),
        ("def program(): pass\n", "ValueError: the text defines a function", 0),
    ],
)
def test_an_error_of_python_is_at_its_line(text: str, message: str, line: int) -> None:
    (problem,) = shown(ExploredText(text, runs_python=True)).problems
    assert problem.message.startswith(message)
    assert problem.end == 0 if not line else text[: problem.start].count("\n") == line - 1


def test_a_text_that_takes_too_long_is_given_up() -> None:
    """Values of an endless loop are computed up to a limit of instructions; then time decides."""
    text = "import time\ntime.sleep(60)\n"
    (problem,) = Workers(seconds=0.5).show(ExploredText(text, runs_python=True)).problems
    assert problem.message == "it takes more than 0.5 s: a smaller text will do"


def test_an_endless_loop_is_shown_without_values(client: Client) -> None:
    assert client.show(ENDLESS)["page"]


def test_other_hosts_and_wrong_requests_are_refused(client: Client) -> None:
    """A page of another site may not reach the server by a name of its own."""
    assert client.ask("", Host="evil.example:80")[0] == 403
    assert client.ask("show", [1])[0] == 400
    assert client.ask("show", {"text": 3, "runs_python": False})[0] == 400
    assert client.ask("part/..%2Fserver.py")[0] == 404
    assert client.ask("page/99")[0] == 404
    assert client.ask("chapter/..%2F..%2FREADME")[0] == 404
    bare = client.explorer.address.replace(client.explorer.token, "wrong")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(bare)


def test_it_listens_on_the_loopback_interface_alone(client: Client) -> None:
    """Nobody outside of this machine can connect, and nobody guesses 16 random bytes."""
    with socket.create_connection(("127.0.0.1", client.explorer.port)):
        pass
    with pytest.raises((ConnectionRefusedError, TimeoutError)):  # another of its addresses
        socket.create_connection(("127.0.0.2", client.explorer.port), timeout=5)
    tokens = {Explorer(Workers()).token for _ in range(2)}
    assert len(tokens) == 2
    assert all(len(token) >= 22 for token in tokens)


def test_nothing_of_a_text_is_written_to_disk(tmp_path) -> None:
    """The answer is kept by no cache, and no file has any line of the text or of its page."""
    folders = {"TMPDIR": tmp_path, "XDG_CACHE_HOME": tmp_path, "HOME": tmp_path}
    command = [sys.executable, "-m", "hlo_tools", "explore"]
    environment = os.environ | {name: str(path) for name, path in folders.items()}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        body = json.dumps({"text": GOOD.replace("m\n", "marked\n", 1), "runs_python": False})
        request = urllib.request.Request(
            f"{address}show", body.encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            assert answer.headers["Cache-Control"] == "no-store"
            assert json.load(answer)["page"]
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        server.send_signal(signal.SIGINT)
    assert not any(b"marked" in path.read_bytes() for path in files if path.exists())


def test_a_text_that_needs_too_much_memory_is_given_up() -> None:
    text = "import sys\nx = bytearray(5 << 30)\n"
    (problem,) = Workers(seconds=60).show(ExploredText(text, runs_python=True)).problems
    assert problem.message.startswith("MemoryError")


def test_chapters_are_beside_the_editor(client: Client) -> None:
    names = json.loads(client.ask("chapters")[1])
    assert "06-rewriting" in names
    assert client.ask("chapter/06-rewriting")[1].startswith("# ")


def test_a_port_that_is_taken_is_an_error(client: Client) -> None:
    with pytest.raises(HloError, match="cannot listen on port"):
        Explorer(Workers(), client.explorer.port)


def test_a_fault_of_ours_is_told(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """It was told as a lack of memory before, since the worker ended without an answer."""

    def fails(_: ExploredText) -> None:
        raise KeyError("while_kernel")

    monkeypatch.setattr(work, "shown", fails)
    (problem,) = work.shown_or_why_not(ExploredText(GOOD)).problems
    assert problem.message == "internal error: KeyError: 'while_kernel'"
    assert "Traceback" in capsys.readouterr().err


def test_workers_have_loaded_everything() -> None:
    """A worker that imports, or reads a grammar, would take three times as long for its text."""
    stablehlo = "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
    text = f"""import sys
from hlo.read import by_grammar, value_text
from hlo_tools.explore import warmed
from hlo_tools.explore.work import ExploredText, shown
before = set(sys.modules)
by_grammar.load_grammar = value_text.load_grammar = None
assert shown(ExploredText({GOOD!r})).page
assert shown(ExploredText({GOOD!r}, target="gpu")).page
assert shown(ExploredText({stablehlo!r})).page
assert shown(ExploredText({GOOD.replace("compare", "sum")!r})).problems
print(sorted(set(sys.modules) - before))"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
