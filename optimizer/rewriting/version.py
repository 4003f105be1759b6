"""A short name for a rule's definition: another one as soon as its sides, guard or source change.

What was shown of a rule was shown of one version of it. See `hlo rules`.
"""

from __future__ import annotations

import ast
import sys
from hashlib import sha256
from inspect import getsource, unwrap
from textwrap import dedent
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optimizer.rewriting.guard import Guard
    from optimizer.rewriting.rule import Rule

# Functions of these rooms are specified by XLA and the interpreter's tests; those of
# Python's own library differ from one Python to the next.
FIXED = frozenset({"hlo", "interpreter", "numpy", "ml_dtypes"} | sys.stdlib_module_names)
DATA: tuple[type, ...] = (bool, int, float, str, tuple, dict)


def version(rule: Rule) -> str:
    """Eight hexadecimal digits, a hash of both sides, the promise, the guard and all they call."""
    parts = [repr(rule.left), rule.promise_name]
    parts += texts(rule.right) if callable(rule.right) else [repr(rule.right)]
    parts += of_guard(rule.where) if rule.where is not None else []
    return sha256("\n".join(parts).encode()).hexdigest()[:8]


def of_guard(guard: Guard) -> Iterator[str]:
    """The text of a guard and of the functions that decide it."""
    yield guard.text
    for part in guard.parts:
        yield from of_guard(part)
    if not guard.parts:
        yield from texts(guard.function or guard.holds)


def texts(function: Any) -> list[str]:
    """The source of a function and of all that it uses, but for the language and interpreter.

    The texts are sorted, so that a function may move to another file.
    """
    texts_by_name: dict[str, str] = {}
    pending = [function]
    while pending:
        here = unwrap(pending.pop())
        name = f"{here.__module__}.{here.__qualname__}"
        if name in texts_by_name:
            continue
        tree, texts_by_name[name] = parsed(here)
        for used in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}):
            value = here.__globals__.get(used)
            if isinstance(value, DATA):
                texts_by_name[f"{here.__module__}.{used}"] = repr(value)
            elif is_ours(value):
                pending.append(value)
    return sorted(texts_by_name.values())


def is_ours(value: Any) -> bool:
    """Whether a value is a function whose source belongs to a rule."""
    value = unwrap(value) if callable(value) else value
    return isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in FIXED


def parsed(function: Any) -> tuple[ast.AST, str]:
    """The syntax of a function, and its text without decorators, comments and docstring."""
    try:
        source = dedent(getsource(function))
        tree: ast.AST = ast.parse(source)
    except (OSError, SyntaxError):
        # A lambda in the middle of something, or a function that was typed in.
        return ast.Module([], []), repr(function.__code__.co_code)
    gone = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    gone |= {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.decorator_list
        for line in range(node.decorator_list[0].lineno, node.lineno)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            # What a decorator is given, sides and guard, counts by itself; how it works does not.
            node.decorator_list = []
    lines = source.splitlines()
    lines_kept = [line for n, line in enumerate(lines, 1) if n not in gone and line.strip()]
    return tree, "\n".join(line for line in lines_kept if not line.lstrip().startswith("#"))
