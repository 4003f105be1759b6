"""The aim of a pass, read from its rules and its source, so that modules can be made for it.

A pass that turns `transpose(transpose(x))` into one never sees two transposes in a row among a
thousand random modules. But it says what it wants: its rules have left sides; its code names
opcodes, attributes and element types; and a folder of golden cases may have its name. All that is
collected here, from the code that `run` can reach inside the pass's own files.
"""

from __future__ import annotations

import builtins
import sys
from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from hlo.attributes.annotations import Annotations
from hlo.opcode import GIVEN, OPCODES, TUPLES
from hlo.types.element_type import ELEMENT_TYPES, ElementType
from hlo_tools.generate.seeds import all_seeds
from hlo_tools.own_passes import Promising
from optimizer.passes import Fixpoint, Pipeline
from optimizer.rewriting.application import Application
from optimizer.rewriting.parts import terms
from optimizer.rewriting.pattern import Constructor
from optimizer.rewriting.rule import Rule, RuleSet
from optimizer.rewriting.term import ConstantVariable, Exactly

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo_tools.generate.seeds import Seed
    from optimizer.log import Pass

# A table of more opcodes than this is one of all opcodes, and says nothing.
MANY = 25
# An attribute that more opcodes have says nothing either.
FEW = 4
# Keys of annotations, as seeds spell them.
ANNOTATIONS = {f.name for f in fields(Annotations)}
# Opcodes that nearly every pass handles; a pass for them alone names no other.
USUAL = GIVEN | TUPLES


@dataclass
class Aim:
    """The aim of a pass: the opcodes and shapes that it looks for.

    Attributes
    ----------
    rules : that it applies.
    opcodes : how often it names each.
    types : element types that it names.
    folders : names of golden cases' folders that are its own.
    words : strings and attributes that it names.
    """

    rules: list[Rule] = field(default_factory=list[Rule])
    opcodes: Counter[str] = field(default_factory=Counter[str])
    types: list[ElementType] = field(default_factory=list[ElementType])
    folders: list[str] = field(default_factory=list[str])
    words: set[str] = field(default_factory=set[str])

    def named(self) -> list[str]:
        """The opcodes that it names, the usual ones left out where there are others."""
        telling = [opcode for opcode in self.opcodes if opcode not in USUAL]
        return telling or list(self.opcodes)

    def own_seeds(self) -> list[Seed]:
        """Golden cases of the pass itself."""
        return [s for s in all_seeds() if s.pass_name in self.folders and "/after" not in s.name]

    def other_seeds(self) -> list[Seed]:
        """Modules with opcodes or annotations that it names, those with most rare ones first."""
        named, common = set(self.named()), _common()
        keys = [f"{name}=" for name in sorted(ANNOTATIONS & self.words)]

        def worth(seed: Seed) -> float:
            opcodes = sum(1 / common[o] for o in seed.opcodes & named)
            return (opcodes + sum(key in seed.text for key in keys)) / len(seed.opcodes) ** 0.5

        seeds = [(s, worth(s)) for s in all_seeds() if s.pass_name not in self.folders]
        seeds.sort(key=lambda pair: pair[1], reverse=True)
        return [seed for seed, value in seeds if value > 0]


@cache
def _common() -> Counter[str]:
    """In how many modules each opcode occurs."""
    return Counter(o for s in all_seeds() for o in s.opcodes)


def aim_of(pass_: Pass) -> Aim:
    """The aim of a pass, or of all passes of a pipeline."""
    aim = Aim()
    for member in members(pass_):
        PassReader(aim, member).read()
        aim.folders.append(member.name)
    for rule in aim.rules:
        _read_pattern(aim, rule)
    return aim


def members(pass_: Pass) -> list[Pass]:
    """The passes of a pipeline, each once; the pass itself if it is none."""
    if isinstance(pass_, Pipeline | Fixpoint):
        passes = [inner for pass_ in pass_.passes for inner in members(pass_)]
        return list({type(p): p for p in passes}.values())
    return members(pass_.inner) if isinstance(pass_, Promising) else [pass_]


def _read_pattern(aim: Aim, rule: Rule) -> None:
    if isinstance(rule.right, FunctionType):
        named = (rule.right.__globals__.get(name) for name in rule.right.__code__.co_names)
        aim.types += [value for value in named if isinstance(value, ElementType)]
    for part in terms(rule.left):
        if isinstance(part, Application):
            aim.opcodes.update(part.opcodes)
        elif isinstance(part, Exactly | ConstantVariable):
            aim.opcodes["constant"] += 1


class PassReader:
    """Reads the code of one pass.

    Attributes
    ----------
    folder : of the file that defines its class. What is defined in files elsewhere is not its
        own, and read only where it is data.
    """

    def __init__(self, aim: Aim, pass_: Pass) -> None:
        self.aim, self.pass_ = aim, pass_
        self.seen: set[int] = set()
        self.own = _files_of(pass_)

    def read(self) -> None:
        """Read the source of the class, and the object's fields."""
        self.value(type(self.pass_))
        for name in _own_fields(self.pass_):
            self.value(getattr(self.pass_, name, None))

    def value(self, value: Any) -> None:
        """Read the code that a name refers to."""
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, str):
            self.word(value)
        elif isinstance(value, Rule):
            self.aim.rules.append(value)
        elif isinstance(value, RuleSet):
            self.several(value.rules)
        elif isinstance(value, ElementType):
            self.aim.types.append(value)
        elif isinstance(value, Constructor):
            self.aim.opcodes.update(value.opcodes)
        elif isinstance(value, tuple | list | set | frozenset | dict):
            self.several(cast("Iterable[Any]", value))
        else:
            self.code_of(value)

    def several(self, values: Iterable[Any]) -> None:
        """Read the items of a collection, unless it is a table of everything."""
        items: list[Any] = list(values)
        if isinstance(values, set | frozenset):
            items.sort(key=str)  # their order depends on the hash of strings
        if isinstance(values, dict):
            items += cast("dict[Any, Any]", values).values()
        if sum(isinstance(i, str) and i in OPCODES for i in items) <= MANY:
            for item in items:
                self.value(item)

    def word(self, word: str) -> None:
        """Read a string."""
        self.aim.words.add(word)
        if word in OPCODES:
            self.aim.opcodes[word] += 1
        if word.startswith("-"):
            # The ends of a family's names, such as "-start".
            family = [opcode for opcode in OPCODES if opcode.endswith(word)]
            self.aim.opcodes.update(family if len(family) <= MANY else ())
        if word in ELEMENT_TYPES:
            self.aim.types.append(ELEMENT_TYPES[word])

    def code_of(self, function: Any) -> None:
        """Read a function, method, class or object that is defined in the pass's own files."""
        value: Any = getattr(function, "__func__", function)
        value = getattr(value, "fget", value)
        if not isinstance(value, FunctionType | type):
            value = getattr(value, "__wrapped__", cast("Any", type(value)))
        if getattr(value, "__module__", None) not in self.own:
            return
        if isinstance(value, FunctionType):
            self.code(value.__code__, value.__globals__)
            for cell in value.__closure__ or ():
                self.value(cell.cell_contents)
        elif isinstance(value, type):
            for inner in vars(value).values():
                self.value(inner)

    def code(self, code: CodeType, names: dict[str, Any]) -> None:
        """Read constants and names of compiled code."""
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.code(constant, names)
            else:
                self.value(constant)
        for name in code.co_names:
            self.attribute(name)
            if name in names and not isinstance(names[name], ModuleType):
                self.value(names[name])

    def attribute(self, name: str) -> None:
        """Read an attribute's name: few opcodes may have one of that name."""
        self.aim.words.add(name)
        having = _having().get(name, ())
        if len(having) <= FEW and not hasattr(builtins, name):
            self.aim.opcodes.update(having)


@cache
def _having() -> dict[str, tuple[str, ...]]:
    """The opcodes that have an attribute, by its name."""
    opcodes_with: dict[str, list[str]] = {}
    for opcode, row in OPCODES.items():
        for attribute in fields(row.attrs):
            opcodes_with.setdefault(attribute.name, []).append(opcode)
        for key in row.called:
            opcodes_with.setdefault(key.rstrip("*"), []).append(opcode)
    return {name: tuple(opcodes) for name, opcodes in opcodes_with.items()}


def _own_fields(value: Any) -> list[str]:
    slots: tuple[str, ...] = getattr(value, "__slots__", ())
    return [*getattr(value, "__dict__", {}), *slots]


def _files_of(pass_: Any) -> set[str]:
    """The modules whose files lie in the folder of the pass's own, or below."""
    own = getattr(sys.modules.get(type(pass_).__module__), "__file__", None)
    if own is None:
        return {type(pass_).__module__}
    folder = Path(own).parent
    return {
        name
        for name, module in list(sys.modules.items())
        if (path := getattr(module, "__file__", None)) and folder in Path(path).parents
    }
