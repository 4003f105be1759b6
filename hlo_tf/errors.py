"""The error of a function that cannot be compiled, with the operation and the user's line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hlo_tf.names import plain_name
from hlo_tf.tensorflow import tf

# The parts of the bridge's text that tell nothing to who has written the function.
_WRAPPING = re.compile(r"^Failed getting HLO text: '|\s*tf2xla conversion failed.*$", re.DOTALL)
_FRAME = re.compile(r'^File "(?P<file>[^"]+)", line (?P<line>\d+), in ?(?P<name>.*)$', re.MULTILINE)
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_STACK = re.compile(r"\s*(The op is created at:|Stack trace for op definition:).*", re.DOTALL)
_UNSUPPORTED = re.compile(
    r"graph .*? on XLA_CPU_JIT: (?P<what>.*?)(?: compatible with node|\{\{node)", re.DOTALL
)
_WRONG_ARGUMENT = re.compile(r"XLA_CPU_JIT: _Arg .*?\bT=DT_(?P<type>\w+)", re.DOTALL)
_OWN = Path(__file__).parent
# Frames of libraries, of PyHLO itself, and of Python's start.
_OTHERS = re.compile(rf"site-packages/|dist-packages/|{re.escape(str(_OWN))}/|^<")


def invalid(name: str, text: str) -> Exception:
    """The error for a function that the bridge or PyHLO refuses.

    Parameters
    ----------
    name : of the function.
    text : why, as the bridge or PyHLO say it.
    """
    return tf.errors.InvalidArgumentError(None, None, message(name, text))


def message(name: str, text: str) -> str:
    """The text of an error: the operation, TensorFlow's reason, and the user's lines."""
    inner = _WRAPPING.sub("", text).strip().rstrip("'").strip()
    nodes = list(dict.fromkeys(_NODE.findall(inner)))
    told = _UNSUPPORTED.search(inner)
    what = f"{told['what']})" if told else _STACK.sub("", inner)
    if wrong := _WRONG_ARGUMENT.search(inner):
        what = f"its argument {', '.join(nodes)} has the type {wrong['type']}"
    found = [f"{plain_name(name)} cannot be compiled: {_NODE.sub(_quoted, what).strip()}"]
    if nodes:
        found.append(f"operation: {', '.join(nodes)}")
    found += [f"at {line}" for line in user_lines(inner)]
    return "\n  ".join(found)


def _quoted(node: re.Match[str]) -> str:
    return f"`{node[1]}`"


def stack_of(graph: Any, operation: str) -> str:
    """The name and the stack of an operation, as the bridge tells them; "" if it is not found."""
    try:
        found = graph.get_operation_by_name(operation)
    except (KeyError, ValueError):
        return f"{{{{node {operation}}}}}"
    return f"{{{{node {operation}}}}}\nThe op is created at:\n{found.traceback}"


def user_lines(text: str) -> list[str]:
    """The last frame of each operation's stack that is the user's: `file:line: the line`."""
    lines: list[str] = []
    stack: list[re.Match[str]] = []
    for line in [*text.splitlines(), ""]:
        frame = _FRAME.match(line.strip())
        if frame is not None:
            stack.append(frame)
            continue
        folder = _left_out([f["file"] for f in stack])
        users = [f for f in stack if not _OTHERS.search(folder + f["file"])]
        if users:
            last = users[-1]
            lines.append(_place(folder + last["file"], int(last["line"]), last["name"]))
        stack = []
    return list(dict.fromkeys(lines))


def _left_out(files: list[str]) -> str:
    """The folders that all files of a stack share: TensorFlow leaves them out.

    PyHLO has called TensorFlow, so that one of its own files is among them.
    """
    for file in files:
        own = str(_OWN / Path(file).name)
        if file.endswith(f"{_OWN.name}/{Path(file).name}") and own.endswith(file):
            return own.removesuffix(file)
    return ""


def _place(file: str, line: int, name: str) -> str:
    try:
        text = Path(file).read_text().splitlines()[line - 1].strip()
    except (OSError, IndexError, UnicodeDecodeError):
        text = ""
    told = f", in {name}" if name else ""
    return f"{file}:{line}{told}" + (f": {text}" if text else "")
