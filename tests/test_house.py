"""The house rules of ARCHITECTURE: who may import whom, how long a file may be, who cites."""

import ast
import gc
import importlib
import inspect
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from hlo.opcode import OPCODES, TRAITS, having
from hlo_tools.explanations.codes import CODES

ROOT = Path(__file__).parents[1]
# A room imports from the rooms before it, never from those after it.
ROOMS = (
    "hlo",
    "interpreter",
    "optimizer",
    "codegen",
    "emit_c",
    "emit_cuda",
    "hlo_jax",
    "hlo_tf",
    "hlo_torch",
    "hlo_tools",
)
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
}


@cache
def trees() -> dict[str, tuple[ast.AST, ...]]:
    """The syntax trees of all files: a million nodes, at which no collection need look."""
    gc.disable()
    found = {name: tuple(ast.walk(ast.parse(path.read_text()))) for name, path in FILES.items()}
    gc.freeze()
    gc.enable()
    return found


def nodes(name: str) -> tuple[ast.AST, ...]:
    """The syntax tree of a file, node by node: the file itself first."""
    return trees()[name]


@cache
def imports(name: str) -> frozenset[str]:
    """Every file that a file imports, or the package where it is none of ours."""
    found: set[str] = set()
    for node in nodes(name):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(n if n in FILES else node.module for n in inside)
    return frozenset(found)


def test_the_house_has_no_other_rooms() -> None:
    """What a tool writes beside the rooms is not part of the project."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout of git")
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    others = {"benchmarks", "docs", "tests", "tutorials"}
    files = {"CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "conftest.py", "pyproject.toml"}
    found = {name.partition("/")[0] for name in listed.splitlines()}
    assert {n for n in found if not n.startswith(".")} == {*ROOMS, *others, *files}


def test_benchmarks_import_names_that_there_are() -> None:
    """No test runs them, and types are checked in the rooms alone."""
    for path in sorted((ROOT / "benchmarks").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(ROOMS):
                there = importlib.import_module(str(node.module))
                missing = {n.name for n in node.names if not hasattr(there, n.name)}
                files = {n for n in missing if f"{node.module}.{n}" in FILES}
                assert missing == files, path


def files_of(*begins: str) -> list[str]:
    """The names of the files of some rooms and folders."""
    return [name for name in FILES if f"{name}.".startswith(tuple(f"{b}." for b in begins))]


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_from_rooms_before_them(room: str) -> None:
    behind = ROOMS[ROOMS.index(room) + 1 :]
    imported = {(n, i) for n in files_of(room) for i in imports(n)}
    wrong = sorted(f"{n} imports {i}" for n, i in imported if i.partition(".")[0] in behind)
    assert not wrong, f"files import from rooms behind their own: {wrong}"


def test_no_files_import_each_other_in_a_circle() -> None:
    """Not even for types: who reads a file must have read what it builds on before."""
    graph = {name: (imports(name) & FILES.keys()) - {name} for name in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


RUNTIME = "emit_c/executable/runtime"
# A function or a variable of a C file that others may use.
DEFINES = re.compile(
    r"^(?!static|extern|typedef)[a-z_][^;=#\n]*?\b(hlo_\w+)(?:\([^;{]*\) \{| = |;)", re.M
)


def test_no_c_files_of_the_runtime_call_each_other_in_a_circle() -> None:
    """The order in which to read them: each calls only what stands in files before it."""
    texts = {path.name: path.read_text() for path in (ROOT / RUNTIME).glob("*.c")}
    homes = {name: file for file, text in texts.items() for name in DEFINES.findall(text)}
    assert {"hlo_parallel", "hlo_inside", "hlo_by_messages"} <= homes.keys()
    used = {file: set(re.findall(r"\bhlo_\w+", text)) for file, text in texts.items()}
    graph = {
        file: {homes[n] for n in names & homes.keys()} - {file} for file, names in used.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def room(name: str) -> str:
    """The folder inside its package in which a file lies; a file beside these is its own room."""
    inside = FILES[name].relative_to(ROOT).parts
    return ".".join(inside[:2]) if len(inside) > 2 else name


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_inside_a_package_have_an_order(package: str) -> None:
    """No two folders of a package import each other, directly or through others."""
    graph: dict[str, set[str]] = {}
    for name in FILES:
        if name.startswith(f"{package}."):
            inside = {i for i in imports(name) & FILES.keys() if i.startswith(f"{package}.")}
            graph.setdefault(room(name), set()).update({room(i) for i in inside} - {room(name)})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("room", ROOMS)
def test_files_are_short(room: str) -> None:
    lengths = {n: len(FILES[n].read_text().splitlines()) for n in files_of(room)}
    assert not {n: length for n, length in lengths.items() if length > 600}


def defines_an_opcode_or_rule(function: ast.FunctionDef) -> bool:
    """Whether a decorator enters the function into a table: `@evaluates("dot")`, `@rule(...)`."""
    tables = {"infers", "evaluates", "rule"}
    return any(
        isinstance(d, ast.Call) and isinstance(d.func, ast.Name) and d.func.id in tables
        for d in function.decorator_list
    )


@pytest.mark.parametrize("folder", ["hlo.infer", "interpreter", "optimizer.rules"])
def test_meanings_cite_their_source(folder: str) -> None:
    silent = [
        f"{name}: {node.name}"
        for name in files_of(folder)
        for node in nodes(name)
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and defines_an_opcode_or_rule(node)
        and not any(k.arg == "xla" for d in node.decorator_list for k in getattr(d, "keywords", ()))
    ]
    assert not silent, f"no `xla` says where these come from: {silent}"


# Kernels and what calls them are data until a printer writes them: no file on the way finds names,
# types or addresses in text.
EMISSION = (
    *("codegen", "emit_c.code", "emit_c.contraction", "emit_c.custom_calls", "emit_c.kernels"),
    *("emit_c.opcodes", "emit_c.program", "emit_cuda.grids", "emit_cuda.kernels"),
    *("emit_cuda.loops", "emit_cuda.program"),
)
# But for text that comes from elsewhere.
READS_TEXT = {
    "codegen.elements.names": "the names of HLO become identifiers",
    "codegen.prelude": "people name templates in C",
    "codegen.prelude.paragraph": "people write preludes as C",
    "emit_c.code.processor": "the system describes its processor",
    "emit_c.custom_calls.factorizations": "frameworks write options",
}
KINDS = ("kind", "self.kind", "kind.name", "element_type.name", "instr.shape.element_type.name")
CUTTERS = frozenset(
    (
        *("startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix"),
        *("rsplit", "find", "rfind"),
    )
)


def cuts_text(name: str) -> bool:
    """Whether a file looks into a text: by a method, by regular expressions, or into a type's name.

    `hlo.types.element_type` and `codegen.kinds` know what the name of a type says.
    """
    return "re" in imports(name) or any(
        (isinstance(node, ast.Attribute) and node.attr in CUTTERS)
        or (isinstance(node, ast.Subscript) and ast.unparse(node.value) in KINDS)
        for node in nodes(name)
    )


@pytest.mark.parametrize("folder", EMISSION)
def test_nothing_on_the_way_to_the_printer_looks_at_text(folder: str) -> None:
    looking = set(filter(cuts_text, files_of(folder)))
    assert looking == {name for name in READS_TEXT if name in files_of(folder)}


def test_a_trait_is_asked_for_and_not_listed() -> None:
    """No set of names is just what a trait of `hlo.opcode` says."""
    traits = {having(trait): trait for trait in TRAITS}
    found: list[str] = []
    for name in FILES:
        for node in nodes(name):
            names = node.elts if isinstance(node, ast.Set | ast.Tuple | ast.List) else ()
            listed = frozenset(n.value for n in names if isinstance(n, ast.Constant))
            if len(listed) == len(names) > 1 and listed in traits and OPCODES.keys() >= listed:
                found.append(f"{name}:{node.lineno} lists what is {traits[listed]}")
    assert not found


def opcodes_listed(name: str) -> Iterator[int]:
    """The lines of a file's statements that list three or more opcodes, tables aside."""
    for statement in nodes(name):
        if not isinstance(statement, ast.stmt) or hasattr(statement, "body"):
            continue
        for node in ast.walk(statement):
            names = node.elts if isinstance(node, ast.Set | ast.Tuple | ast.List) else ()
            listed = {n.value for n in names if isinstance(n, ast.Constant)}
            if len(listed) == len(names) > 2 and listed <= OPCODES.keys():
                yield statement.lineno


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "hlo_tools"])
def test_a_list_of_opcodes_has_its_reason(room: str) -> None:
    """Who adds an opcode finds above each list what would make it belong there."""
    bare: list[str] = []
    for name in files_of(room):
        lines = FILES[name].read_text().splitlines()
        listed = sorted(opcodes_listed(name))
        bare += [f"{name}:{n}" for n in listed if not lines[n - 2].lstrip().startswith("#")]
    assert not bare, f"lists of opcodes without a reason: {bare}"


PRIMITIVES = files_of("codegen.schedule")


def exported(name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions that a package exports, or a file of primitives, and the methods of classes."""
    file = importlib.import_module(name)
    is_primitive = name in PRIMITIVES
    for word in vars(file) if is_primitive else getattr(file, "__all__", ()):
        try:
            value = getattr(file, word)
        except ImportError:  # TensorFlow is not installed
            continue
        if is_primitive and (word.startswith("_") or getattr(value, "__module__", "") != name):
            continue
        if inspect.isfunction(value):
            yield word, value
        elif inspect.isclass(value):
            methods = {m: getattr(value, m) for m in vars(value) if not m.startswith("_")}
            yield from ((f"{word}.{m}", f) for m, f in methods.items() if hasattr(f, "__code__"))


# Names before a colon, in numpydoc's section: `operand : ...`, `one, other : ...`.
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^[A-Z]\w+\n-+\n|\Z)", re.M | re.S)
ENTRY = re.compile(r"^(\w.*?) :(?: |$)", re.M)


@pytest.mark.parametrize("name", [*ROOMS, *PRIMITIVES])
def test_what_is_exported_names_its_parameters(name: str) -> None:
    """A docstring names all parameters of a function or method that has three or more."""
    silent: list[str] = []
    for word, function in exported(name):
        parameters = inspect.signature(function).parameters.keys() - {"self", "cls"}
        section = SECTION.search(inspect.getdoc(function) or "")
        entries = ENTRY.findall(section[1]) if section else []
        missing = parameters - {p for entry in entries for p in entry.split(", ")}
        if missing and len(parameters) > 2:
            silent.append(f"{word}: {', '.join(sorted(missing))}")
    assert not silent, "\n".join(silent)


# An expression has literals as HLO has.
IN_BOTH = {"Literal"}
NAMED = tuple(f"{room}." for room in ROOMS)


def test_a_class_name_means_one_thing() -> None:
    """No two classes share a name: an emitter's say whose they are."""
    found: dict[str, str] = {}
    twice: list[str] = []
    for name in FILES:
        for node in nodes(name) if name.startswith(NAMED) else ():
            if not isinstance(node, ast.ClassDef):
                continue
            title = node.name.lstrip("_")
            if title not in IN_BOTH and title in found:
                twice.append(f"{title}: {found[title]} and {name}")
            found.setdefault(title, name)
    assert not twice, "\n".join(twice)


CODE = re.compile(r"HLO\d{3}")


def test_every_error_code_has_its_story_and_its_place() -> None:
    raised = {
        node.value
        for name in FILES
        if not name.endswith("codes")
        for node in nodes(name)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
    }
    assert raised - CODES.keys() == set(), "raised, but not in hlo.codes"
    assert CODES.keys() - raised == set(), "in hlo.codes, but raised nowhere"
