"""Writes the reference pages of docs/: opcodes with executed examples, rules, and passes.

    python -m hlo_tools.reference docs

Everything stands in the tables already; nothing is typed by hand. A test says whether the pages are
fresh.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import emit_c
import optimizer
from hlo.errors.error import HloError
from hlo.infer.table import infers
from hlo.opcode import OPCODES
from hlo.read.load import load
from hlo.types.element_type import F32, PRED, S32
from hlo_tools.arrays import tree
from hlo_tools.exercises.cases import one_instruction
from hlo_tools.generate.seeds import all_seeds
from hlo_tools.opcode_pictures import is_telling, opcode_picture
from hlo_tools.proofs.record import evidence_of, read_record
from hlo_tools.tables import load_tables
from hlo_tools.verbs.ops import description
from interpreter.engine.evaluate import evaluate
from interpreter.table import evaluates
from optimizer.catalogue import ALL_RULE_SETS
from optimizer.passes import Fixpoint, Pipeline
from optimizer.pipeline_text import option_defaults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Module
    from hlo.types.shape import Shape
    from hlo_tools.opcode_pictures import Picture
    from optimizer.log import Pass

MADE = "<!-- made by `make docs` from the tables of the program: change those -->\n\n"
# An example with so many elements shows something, and fits into a line or two.
WANTED, MOST_LINES = 6, 24
# Of the examples that are good to read, so many are tried for a picture that says something.
TRIED = 10
# Where no generator makes a good one.
EXAMPLES = Path(__file__).parents[1] / "docs" / "opcodes" / "examples"
NUMBERS = Path(inspect.getfile(evaluate)).parents[1] / "numbers"


def pages() -> dict[str, str]:
    """The text of every page, by its path in docs/."""
    made = {"opcodes.md": opcode_list(), "rules.md": rule_list(), "passes.md": pass_list()}
    for name in OPCODES:
        made |= opcode_files(name)
    return made


def opcode_list() -> str:
    """A line an opcode."""
    lines = [f"# Opcodes\n\n{MADE}The {len(OPCODES)} opcodes of XLA, each with a page of its own."]
    lines += ["", "| opcode | operands | what it is |", "| --- | --- | --- |"]
    for row in OPCODES.values():
        arity = "any" if row.arity is None else row.arity
        lines.append(f"| [{row.name}](opcodes/{row.name}.md) | {arity} | {row.summary} |")
    return "\n".join(lines) + "\n"


# Tables of which a page tells whether they know an opcode.
SHOWN = ("infers", "evaluates", "emits_c", "emits_cuda")


def opcode_files(name: str) -> dict[str, str]:
    """The page of an opcode, and its picture if it has one, by their paths in docs/."""
    module = example_of(name)
    given = arguments_of(module) if module else []
    picture = opcode_picture(name, module, given)
    made = {f"opcodes/{name}.md": opcode_page(name, module, given, picture)}
    return made | ({f"opcodes/pictures/{name}.svg": picture.svg} if picture else {})


def opcode_page(name: str, module: Module | None, given: list[Any], picture: Picture | None) -> str:
    """What the tables know of an opcode, and an example that was run."""
    row = OPCODES[name]
    parts = [f"# {name}\n\n{MADE}{name}: {row.summary}."]
    tables = {n: t for n, t in load_tables().items() if n in SHOWN}
    told = "\n".join(description(row, tables, places=False)[2:])
    parts.append(f"```text\n{told.rstrip()}\n```")
    if formulas := list(formulas_of(name)):
        parts.append("\n".join(["| numbers | in NumPy |", "| --- | --- |", *formulas]))
    for title, table in (("Shape", infers), ("Value", evaluates)):
        if (found := docstring(table.get(name))) and not (formulas and title == "Value"):
            parts.append(f"## {title}\n\n{found}")
    parts.append(f"## Example\n\n{example(module, given)}")
    if picture:
        parts.append(f"![{name}, drawn](pictures/{name}.svg)\n\n{picture.legend}")
    return "\n\n".join(parts) + "\n"


def formulas_of(name: str) -> Iterator[str]:
    """How an elementwise opcode is written in the interpreter, a row for each kind of numbers."""
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
    """What a function says of itself, up to its sections."""
    text = inspect.getdoc(entry) or ""
    return (
        text.partition("\n\nParameters\n")[0]
        .partition("\n\nReturns\n")[0]
        .partition("\n\nReferences\n")[0]
        .partition("\n\nRaises\n")[0]
    )


def example_of(name: str) -> Module | None:
    """A small module with an opcode, if there is one; better one of which a picture says much."""
    if (path := EXAMPLES / f"{name}.hlo").exists():
        return load(path)
    made = own_examples(name)
    if not made:
        return found_example(name)
    telling = (m for m in made[:TRIED] if is_telling(m, arguments_of(m)))
    return made[0] if OPCODES[name].elementwise else next(telling, made[0])


def arguments_of(module: Module) -> list[Any]:
    """Numbers that are easy to read, for the parameters of a module."""
    return [plain(p.shape) for p in module.entry.parameters]


def example(module: Module | None, given: list[Any]) -> str:
    """A module with the opcode, its inputs and its result."""
    if module is None:
        return "None is small enough to be shown."
    shown = [f"```hlo\n{str(module).rstrip()}\n```"]
    try:
        value = evaluate(module, *given)
    except HloError as error:
        return "\n\n".join([*shown, f"It is not run here: {error.message}."])
    lines = [f"{p.name} = {text(v)}" for p, v in zip(module.entry.parameters, given, strict=True)]
    return "\n\n".join(
        [*shown, "```text\n" + "\n".join([*lines, f"result = {text(value)}"]) + "\n```"]
    )


def own_examples(name: str) -> list[Module]:
    """One instruction on parameters, made to fit; the best to read first."""
    try:
        cases = list(one_instruction(name, 30, (F32, S32, PRED), plain=True))
    except KeyError:
        return []
    made = [case.module for case in cases if case.module.entry.root.opcode == name]
    return sorted(made, key=oddness)


def oddness(module: Module) -> tuple[int, int]:
    """How far a module is from one that is good to read."""
    sizes = [s.size for i in module.instructions() for _, s in i.shape.leaves()]
    odd = sum(
        not i.shape.is_array or not i.shape.dims or i.shape.element_type is PRED
        for i in module.entry.instructions
    )
    return sum(abs(size - WANTED) for size in sizes) + 2 * odd, len(str(module))


def found_example(name: str) -> Module | None:
    """The shortest of the modules that come with the project."""
    seeds = [s for s in all_seeds() if name in s.opcodes and s.module is not None]
    if not seeds:
        return None
    best = min(seeds, key=lambda seed: len(str(seed.module)))
    return best.module if str(best.module).count("\n") <= MOST_LINES else None


def plain(shape: Shape) -> Any:
    """Numbers that are easy to read: 1, 2, 3, ..., halves and quarters of them for floats."""

    def numbers(leaf: Shape) -> Any:
        count = np.arange(1, leaf.size + 1)
        if leaf.element_type is PRED:
            count = count % 2
        elif not leaf.element_type.is_integer:
            count = count / 4
        return count.astype(leaf.element_type.dtype).reshape(leaf.dims)

    return tree(shape, numbers)


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
    lines = [f"# Rules\n\n{MADE}Chapter 5 of the course says what promises are."]
    by_root: dict[str, list[str]] = {}
    for rules in ALL_RULE_SETS:
        for rule in rules:
            found = evidence_of(rule, record)
            where = str(rule).replace("|", "\\|")
            row = f"| {rule.promise_name} | {found.word if found else 'not run yet'} | `{where}` |"
            root = rule.left.opcodes[0] if len(rule.left.opcodes) == 1 else "several opcodes"
            by_root.setdefault(root, []).append(row)
    for root in sorted(by_root):
        lines += [f"\n## {root}\n", "| promise | shown | rule |", "| --- | --- | --- |"]
        lines += by_root[root]
    return "\n".join(lines) + "\n"


def pass_list() -> str:
    """A section a pass, with its options and the pipelines that it is in."""
    inside = {target: set(names_in(optimizer.pipeline(target))) for target in ("cpu", "gpu")}
    lines = [
        f"# Passes\n\n{MADE}`hlo opt FILE --passes A,B` runs some; `hlo opt FILE` runs a pipeline."
    ]
    lines += [
        "",
        "| pass | in the pipelines | options | what it does | XLA |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, made in sorted(optimizer.PASSES.items()):
        where = ", ".join(target for target, names in inside.items() if name in names) or "none"
        options = ", ".join(f"`{k}={v}`" for k, v in option_defaults(made).items())
        summary = (made.__doc__ or "").partition("\n")[0]
        xla = getattr(made, "xla", "")
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
