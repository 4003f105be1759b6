"""The boxes and edges of a module's picture, for SVG and for Graphviz.

An instruction is a box, and an edge leads from each operand to it. What runs a computation as it is
(a fusion, a call, a loop, a branch) is a box with that computation's own picture inside; of what
applies a computation to elements (a reduce, a sort) only the computation's name is told. A number
in the text, which is a scalar constant or a broadcast of one, has no box: it is a label on a short
edge. What is too large for a picture is folded.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.attributes import Constant, ParameterNumber
from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import called_keys
from hlo.walk import called_first, users
from hlo.write.literal_print import print_literal
from hlo.write.print import print_attributes
from hlo_tools.drawing.graphs.folding import folds
from hlo_tools.drawing.pictures.families import family_of
from hlo_tools.drawing.pictures.palette import spelled
from hlo_tools.values.bounded import RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Computation, Instruction, Module

# Boxes of a picture with all that is inside of boxes; and that nothing else but folding draws.
MOST_BOXES = 70
# Letters of a line in a box.
_LONGEST = 44


@dataclass(frozen=True)
class Box:
    """An instruction in a picture.

    Attributes
    ----------
    instr : None in the picture of a graph of another language.
    title : its opcode, and what kind of it.
    lines : its name, its shape and its attributes, each short enough for a box.
    family : a key of `hlo_tools.drawing.pictures.families.COLOURS`.
    about : its text, which may be long.
    panels : the computations that run inside of it.
    is_root : whether its value is the computation's.
    is_cut : whether it has operands or users that are left out of the picture.
    numbers : operands that are numbers, each with its position: "1: 0.5".
    """

    instr: Instruction | None
    title: str
    lines: tuple[str, ...]
    family: str
    about: str
    panels: tuple[Scene, ...] = ()
    is_root: bool = False
    is_cut: bool = False
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """A value on its way: from the box at one position of the list of boxes to that at another.

    Attributes
    ----------
    size : its bytes.
    is_control : there is no value, but the second box waits for the first.
    """

    source: int
    target: int
    size: int
    is_control: bool = False

    @property
    def label(self) -> str:
        """The size for people; "" where there are no bytes."""
        return spelled(self.size) if self.size and not self.is_control else ""


@dataclass(frozen=True, eq=False)
class Scene:
    """The picture of one computation: boxes, each after those whose values it uses."""

    title: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    @property
    def families(self) -> frozenset[str]:
        """The families of all boxes, also of those inside others."""
        families: set[str] = set()
        scenes = [self]
        for scene in scenes:
            families |= {box.family for box in scene.boxes}
            scenes += [panel for box in scene.boxes for panel in box.panels]
        return frozenset(families)


def scene(
    module: Module,
    *,
    computation: str | None = None,
    around: str | None = None,
    hops: int = 2,
    collapse: bool = False,
    most: int | None = MOST_BOXES,
) -> Scene:
    """The picture of a module, or of a part of it.

    Parameters
    ----------
    computation : the name of the one to draw; None for the entry.
    around : the name of an instruction: only what is at most `hops` edges from it is drawn.
    collapse : leave out what is inside of boxes. It is left out anyway where there is not room for
        everything.
    most : boxes in all; None for any number. Of more, scopes of the program are folded.

    Raises
    ------
    HloError
        HLO204 if there is no computation or instruction of a name.
    """
    chosen = chosen_computation(module, computation, around)
    shown_set = set(chosen.instructions)
    if around is not None:
        shown_set = near(chosen, around, hops)
    depths = [False] if collapse else [True, False]
    for deep in depths:
        if most is None or _count(chosen, shown_set, deep=deep) <= most:
            return _scene(chosen, shown_set, deep=deep)
    return _folded(chosen, shown_set, most or MOST_BOXES)


def _folded(computation: Computation, shown_set: set[Instruction], most: int) -> Scene:
    """The picture of a computation with at most so many boxes."""
    shown = [
        i for i in computation.instructions if i in shown_set and not _is_number(i, computation)
    ]
    boxes: list[Box] = []
    number: dict[Instruction, int] = {}
    for position, fold in enumerate(folds(computation, shown, most)):
        number |= dict.fromkeys(fold.members, position)
        is_root = computation.root in fold.members
        if not fold.title:
            boxes.append(replace(_box(fold.members[0], {}), is_root=is_root))
            continue
        about = "\n".join(f"%{instr.name} {instr.opcode}" for instr in fold.members[:30])
        lines = tuple(_short(line) for line in (fold.size, fold.opcodes))
        family = Counter(family_of(instr) for instr in fold.members).most_common(1)[0][0]
        title = _short(fold.title)
        boxes.append(Box(None, title, lines, family, about, is_root=is_root))
    sizes: dict[tuple[int, int], dict[Instruction, int]] = {}
    for instr, target in number.items():
        for operand in instr.operands:
            source = number.get(operand, target)
            if source != target:
                sizes.setdefault((source, target), {})[operand] = operand.shape.bytes
    edges = tuple(Edge(*ends, sum(sums.values())) for ends, sums in sorted(sizes.items()))
    return Scene(computation.name, tuple(boxes), edges)


def chosen_computation(module: Module, computation: str | None, around: str | None) -> Computation:
    """The computation to draw: the one of a name, or in which an instruction is, or the entry."""
    chosen = module.entry
    if computation is not None:
        by_name = {c.name: c for c in module.computations}
        chosen = _named(by_name, computation.removeprefix("%"), "computation")
    elif around is not None:
        computation_of = {i.name: c for c in module.computations for i in c.instructions}
        chosen = _named(computation_of, around.removeprefix("%"), "instruction")
    return chosen


def _named(known: dict[str, Computation], name: str, noun: str) -> Computation:
    if name not in known:
        notes = did_you_mean(name, known)
        raise HloError("HLO204", f"the module has no {noun} `{name}`", notes=notes)
    return known[name]


def near(computation: Computation, name: str, hops: int) -> set[Instruction]:
    """The instructions at most so many edges from one."""
    centre = [i for i in computation.instructions if i.name == name.removeprefix("%")]
    if not centre:
        notes = did_you_mean(name, [i.name for i in computation.instructions])
        message = f"the computation {computation.name} has no instruction `{name}`"
        raise HloError("HLO204", message, notes=notes)
    using = users(computation)
    shown = set(centre)
    ring = centre
    for _ in range(hops):
        beside = [n for i in ring for n in (*i.operands, *using[i]) if n not in shown]
        ring = list(dict.fromkeys(beside))
        shown.update(ring)
    return shown


def _count(computation: Computation, shown_set: set[Instruction], *, deep: bool) -> int:
    """The number of boxes; a computation that two instructions run is drawn twice."""
    inside: dict[Computation, int] = {}
    for inner in called_first(computation):
        shown = inner.instructions if inner is not computation else shown_set
        boxed = [i for i in shown if not _is_number(i, inner)]
        inside[inner] = len(boxed)
        if deep:
            inside[inner] += sum(inside[c] for i in boxed if i.opcode in RUNNING for c in i.called)
    return inside[computation]


def _scene(computation: Computation, shown_set: set[Instruction], *, deep: bool) -> Scene:
    scenes: dict[Computation, Scene] = {}
    for inner in called_first(computation):
        shown = shown_set if inner is computation else set(inner.instructions)
        scenes[inner] = _scene_of(inner, shown, scenes if deep else {})
    return scenes[computation]


def _scene_of(
    computation: Computation, shown_set: set[Instruction], inner: dict[Computation, Scene]
) -> Scene:
    """The picture of one computation, given those of the ones that it runs."""
    using = users(computation)
    instructions = [
        i for i in computation.instructions if i in shown_set and not _is_number(i, computation)
    ]
    position = {instr: number for number, instr in enumerate(instructions)}
    boxes: list[Box] = []
    edges: list[Edge] = []
    for number, instr in enumerate(instructions):
        box = _box(instr, inner)
        cut = any(n not in shown_set for n in (*instr.operands, *using[instr]))
        boxes.append(replace(box, is_root=instr is computation.root, is_cut=cut))
        used = [o for o in dict.fromkeys(instr.operands) if o in position]
        edges += [Edge(position[o], number, o.shape.bytes) for o in used]
        waits = [p for p in instr.control_predecessors if p in position]
        edges += [Edge(position[p], number, 0, is_control=True) for p in waits]
    return Scene(computation.name, tuple(boxes), tuple(edges))


def _is_number(instr: Instruction, computation: Computation) -> bool:
    """Whether an instruction is a label at its users."""
    return instr is not computation.root and bool(_number(instr))


def _box(instr: Instruction, inner: dict[Computation, Scene]) -> Box:
    title = instr.opcode
    if instr.opcode == "parameter":
        title = f"parameter {ParameterNumber.of(instr).number}"
    keys = called_keys(instr.row, instr.operands) if instr.called else ()
    lines = [f"%{instr.name}", shape_text(instr)]
    panels: tuple[Scene, ...] = ()
    if instr.opcode in RUNNING and inner:
        roles = _roles(keys, len(instr.called))
        panels = tuple(
            replace(inner[c], title=f"{role} %{c.name}")
            for role, c in zip(roles, instr.called, strict=True)
        )
    else:
        roles = _roles(keys, len(instr.called))
        lines += [f"{role}: {_summary(c)}" for role, c in zip(roles, instr.called, strict=True)]
    numbers = tuple(
        f"{n}: {number}" if len(instr.operands) > 1 else number
        for n, number in enumerate(map(_number, instr.operands))
        if number
    )
    attributes = print_attributes(instr.attrs).removeprefix(", ")
    lines += _in_lines(attributes)
    short = tuple(_short(line) for line in lines)
    return Box(instr, title, short, family_of(instr), repr(instr), panels, numbers=numbers)


def _roles(keys: Sequence[str], count: int) -> Iterable[str]:
    if keys and keys[-1].endswith("*"):
        return [f"branch {n}" for n in range(count)]
    return list(keys)


def _summary(computation: Computation) -> str:
    """A computation that is applied to elements: its one opcode, or else its name."""
    doing = [i.opcode for i in computation.instructions if "leaf" not in i.row.traits]
    return doing[0] if len(doing) == 1 else f"%{computation.name}"


def shape_text(instr: Instruction) -> str:
    """The shape for people: of large tuples, the first ones."""
    shape = instr.shape
    if not shape.is_tuple or len(shape.elements) < 4:
        return shape.text_without_layout
    first = ", ".join(element.text_without_layout for element in shape.elements[:2])
    return f"({first}, {len(shape.elements) - 2} more)"


def _number(instr: Instruction) -> str:
    """The number that an instruction is in each of its elements; "" if it is no such constant."""
    while instr.opcode == "broadcast":
        instr = instr.operands[0]
    if instr.opcode != "constant" or not instr.shape.is_array or instr.shape.size != 1:
        return ""
    return print_literal(Constant.of(instr).literal).strip("{} ")


def _in_lines(attributes: str) -> list[str]:
    """Attributes in lines that are short enough, as many in each as there is room for."""
    lines: list[str] = []
    for part in re.split(r", (?=\w+=)", attributes) if attributes else ():
        if lines and len(lines[-1]) + len(part) + 2 <= _LONGEST:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return lines


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
