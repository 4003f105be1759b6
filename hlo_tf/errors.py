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
# Frames of libraries, of PyHLO itself, and of Python's start.
_OTHERS = re.compile(rf"site-packages/|dist-packages/|/?{Path(__file__).parent}/|^<")


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
    last: Any = None
    for line in [*text.splitlines(), ""]:
        frame = _FRAME.match(line.strip())
        if frame is not None:
            if not _OTHERS.search(frame["file"]):
                last = frame
        elif last is not None:
            lines.append(_place(last["file"], int(last["line"]), last["name"]))
            last = None
    return list(dict.fromkeys(lines))


def _place(file: str, line: int, name: str) -> str:
    path = Path(file)
    if not path.exists() and Path(f"/{file}").exists():
        path = Path(f"/{file}")  # TensorFlow leaves out the root
    try:
        text = path.read_text().splitlines()[line - 1].strip()
    except (OSError, IndexError, UnicodeDecodeError):
        text = ""
    told = f", in {name}" if name else ""
    return f"{path}:{line}{told}" + (f": {text}" if text else "")
