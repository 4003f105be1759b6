"""Writes the reference pages of docs/: opcodes with executed examples, rules, and passes.

    python -m hlo_tools.reference docs

Everything is in the tables already; nothing is typed by hand. A test says whether the pages are
fresh.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import emit_c
import optimizer
from hlo.infer.table import infers
from hlo.opcode import OPCODES
from hlo_tools.drawing.opcode_examples import example_of
from hlo_tools.drawing.opcode_pictures import opcode_picture
from hlo_tools.proofs.record import evidence_of, read_record
from hlo_tools.verbs.ops import description, load_tables
from interpreter.engine.evaluate import evaluate
from interpreter.table import evaluates
from optimizer.catalogue import all_rules
from optimizer.passes import Fixpoint, Pipeline
from optimizer.pipeline_text import option_defaults, spelled
from optimizer.pipelines import Target, code_passes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo_tools.drawing.opcode_examples import Example
    from hlo_tools.drawing.opcode_pictures import Picture
    from optimizer.log import Pass

MADE = "<!-- made by `make docs` from the tables of the program: change those -->\n\n"
ABOUT_RULES = """A rule replaces its left side by its right side, `where` its condition holds.

Its promise says how exactly it keeps values: BITS every bit, ZERO_SIGN all but the sign of a zero,
FINITE all finite values, ROUNDING all but the last digits; LOSSY and MAGNITUDE are weaker. [Chapter 5](../tutorials/05-what-the-same-means.md)
explains promises. A promise is *proved* for all values, *partly* proved for some types or constants,
or *sampled*: tried on random values. `hlo rules RULE` prints the evidence, and `hlo rules --help`
has all words."""  # noqa: E501
ABOUT_PASSES = """`hlo opt FILE` runs the standard pipeline of a target, `--target cpu` or `gpu`.
`hlo opt FILE --passes A,B` runs passes by name. The pipeline `code` follows where code is written,
as by `hlo opt FILE --stage c`: what it leaves is what the emitters are given, and they change
nothing in it."""
TARGETS: tuple[Target, ...] = ("cpu", "gpu")
NUMBERS = Path(inspect.getfile(evaluate)).parents[1] / "numbers"


def pages() -> dict[str, str]:
    """The text of every page, by its path in docs/."""
    page_texts = {"opcodes.md": opcode_list(), "rules.md": rule_list(), "passes.md": pass_list()}
    for name in OPCODES:
        page_texts |= opcode_files(name)
    return page_texts


def opcode_list() -> str:
    """A line an opcode."""
    lines = [f"# Opcodes\n\n{MADE}The {len(OPCODES)} opcodes of XLA, each with a page of its own."]
    lines += ["", "| opcode | operands | meaning |", "| --- | --- | --- |"]
    for row in OPCODES.values():
        arity = "any" if row.arity is None else row.arity
        lines.append(f"| [{row.name}](opcodes/{row.name}.md) | {arity} | {row.summary} |")
    return "\n".join(lines) + "\n"


# Tables of which a page tells whether they know an opcode.
SHOWN = ("infers", "evaluates", "emits_c", "emits_cuda")


def opcode_files(name: str) -> dict[str, str]:
    """The page of an opcode and its picture, by their paths in docs/."""
    example = example_of(name)
    picture = opcode_picture(name, example)
    page = opcode_page(name, example, picture)
    return {f"opcodes/{name}.md": page, f"opcodes/pictures/{name}.svg": picture.svg}


def opcode_page(name: str, example: Example, picture: Picture) -> str:
    """The page of an opcode: the tables' rows, and an example that was run."""
    row = OPCODES[name]
    parts = [f"# {name}\n\n{MADE}{name}: {row.summary}."]
    parts.append(f"![{name}, drawn](pictures/{name}.svg)\n\n{picture.legend}")
    parts.append(f"## Example\n\n{example_text(example)}")
    if about := docstring(infers.get(name)):
        parts.append(f"## Shape\n\n{about}")
    parts.append(f"## Value\n\n{value_text(name)}")
    tables = {n: t for n, t in load_tables().items() if n in SHOWN}
    rows = "\n".join(description(row, tables, locations=False)[2:])
    parts.append(f"## In the tables\n\n```text\n{rows.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def value_text(name: str) -> str:
    """The meaning of an opcode, and the interpreter's code for it.

    That is a line for each kind of numbers where an opcode works on each, or else a function.
    """
    if rows := list(formulas_of(name)):
        return "\n".join(["| numbers | in NumPy |", "| --- | --- |", *rows])
    function = evaluates.get(name)
    introduction = f"{docstring(function)}\n\nThe interpreter computes it so:"
    shown = "\n\n\n".join(map(body_of, [function, *helpers_of(function)]))
    return f"{introduction}\n\n```python\n{shown}\n```"


def helpers_of(function: Any) -> list[Any]:
    """The private functions of its file that a function calls, and those that they call."""
    inside = vars(sys.modules[function.__module__])
    helpers: list[Any] = []
    left = [function]
    while left:
        names = left.pop().__code__.co_names
        new = [inside.get(n) for n in names if n.startswith("_") and not n.startswith("__")]
        fresh = [f for f in new if inspect.isfunction(f) and f not in helpers]
        helpers += fresh
        left += fresh
    return helpers


def body_of(function: Any) -> str:
    """The source of a function, without its decorators and, if more is in it, its docstring."""
    source = textwrap.dedent(inspect.getsource(function))
    node = cast("ast.FunctionDef", ast.parse(source).body[0])
    lines = source.splitlines()[node.lineno - 1 :]
    if ast.get_docstring(node) is None or len(node.body) == 1:
        return "\n".join(lines)
    head = node.body[0]
    first, last = (n - node.lineno for n in (head.lineno, head.end_lineno or head.lineno))
    return "\n".join([*lines[:first], *lines[last + 1 :]])


def formulas_of(name: str) -> Iterator[str]:
    """The formulas of an elementwise opcode in the interpreter, a row for each kind of numbers."""
    for file in ("integers", "floats", "complexes", "bits"):
        text = (NUMBERS / f"{file}.py").read_text()
        for node in ast.parse(text).body:
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)):
                continue
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    kind = cast("ast.Name", node.target).id.lower()
                    source = ast.get_source_segment(text, value) or ""
                    yield f"| {kind} | `{' '.join(source.split())}` |"


def docstring(entry: Any) -> str:
    """The docstring of a function, up to its sections."""
    text = inspect.getdoc(entry) or ""
    return (
        text.partition("\n\nParameters\n")[0]
        .partition("\n\nReturns\n")[0]
        .partition("\n\nReferences\n")[0]
        .partition("\n\nRaises\n")[0]
    )


def example_text(example: Example) -> str:
    """A module with the opcode, its inputs and its result."""
    lines = [f"the host sends {text(value)}" for _, value in example.sent]
    names = [p.name for p in example.module.entry.parameters]
    several = len(example.arguments) > 1
    for device, own in enumerate(example.arguments):
        where = f"device {device}: " if several else ""
        lines += [f"{where}{name} = {text(v)}" for name, v in zip(names, own, strict=True)]
    for device, value in enumerate(example.results):
        lines.append(f"{f'device {device}: ' if several else ''}result = {text(value)}")
    lines += [f"the host gets {text(value)}" for value in example.taken]
    return "\n".join(["```hlo", str(example.module).rstrip(), "```\n", "```text", *lines, "```"])


def text(value: Any) -> str:
    """A value in a line or a few."""
    if isinstance(value, tuple):
        return f"({', '.join(map(text, cast('tuple[Any, ...]', value)))})"
    if value is None:
        return "a token"
    array = np.asarray(value)
    wide = array if array.dtype.kind in "biufc" else array.astype(np.float64)
    return np.array2string(wide, precision=3, suppress_small=True, separator=", ", threshold=64)


def rule_list() -> str:
    """A table of the rules for each opcode at the root, with promise and proof."""
    record = read_record()
    lines = [f"# Rules\n\n{MADE}{ABOUT_RULES}"]
    by_root: dict[str, list[str]] = {}
    for rule in all_rules():
        shown = evidence_of(rule, record)
        where = str(rule).replace("|", "\\|")
        row = f"| {rule.promise_name} | {shown.word if shown else 'not run yet'} | `{where}` |"
        root = rule.left.opcodes[0] if len(rule.left.opcodes) == 1 else "several opcodes"
        by_root.setdefault(root, []).append(row)
    for root in sorted(by_root):
        lines += [f"\n## {root}\n", "| promise | shown | rule |", "| --- | --- | --- |"]
        lines += by_root[root]
    return "\n".join(lines) + "\n"


def pass_list() -> str:
    """A section a pass, with its options and the pipelines that it is in."""
    inside = {target: set(names_in(optimizer.pipeline(target))) for target in TARGETS}
    inside["code"] = {name for target in TARGETS for name in names_in(code_passes(target))}
    lines = [f"# Passes\n\n{MADE}{ABOUT_PASSES}"]
    lines += [
        "",
        "| pass | in the pipelines | options | effect | XLA's file |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, maker in sorted(optimizer.PASSES.items()):
        where = ", ".join(target for target, names in inside.items() if name in names) or "none"
        options = ", ".join(f"`{k}={spelled(v)}`" for k, v in option_defaults(maker).items())
        summary = (maker.__doc__ or "").partition("\n")[0]
        xla = getattr(maker, "xla", "")
        lines.append(f"| `{name}` | {where} | {options} | {summary} | {xla} |")
    return "\n".join(lines) + "\n"


def names_in(pass_: Pass) -> Iterator[str]:
    """The names of a pass, and of all passes in it."""
    yield pass_.name
    if isinstance(pass_, Pipeline | Fixpoint):
        for each in pass_.passes:
            yield from names_in(each)


def main() -> None:
    """Write the pages into the folder that is named."""
    folder = Path(sys.argv[1])
    for path, page in pages().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page)


assert emit_c  # its tables fill themselves when it is imported

if __name__ == "__main__":
    main()
