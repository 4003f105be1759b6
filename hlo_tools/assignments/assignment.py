"""A student's folder: which bugs are in it, and what is to be handed in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo_tools.assignments.bugs import KINDS, Bug, all_bugs
from hlo_tools.exercises.catalogue import EXERCISES

if TYPE_CHECKING:
    from pathlib import Path

FILE = "assignment.json"
# Bytes of that file.
MOST = 1000
STUB = """// {name}: a module on which suspect {number}, {kind}, is wrong. It is not written yet.
// why:
"""
WORDS = {
    "rule": "a wrong rewrite rule",
    "pass": "a wrong pass",
    "kernel": "a wrong kernel of C",
    "plan": "a wrong plan of memory",
}


@dataclass(frozen=True)
class Assignment:
    """The assignment of a student.

    Attributes
    ----------
    bugs : one suspect each, in order.
    exercises : their numbers.
    """

    seed: int
    bugs: tuple[Bug, ...]
    exercises: tuple[int, ...]


def chosen(seed: int, bugs: int, exercises: int) -> Assignment:
    """Another set for each seed: bugs of all kinds in turn, and exercises, easy to hard.

    Where more are asked for than there are, all are chosen.
    """
    random = Random(f"assignment/{seed}")
    kinds = random.sample(KINDS, len(KINDS))
    pools = {k: sorted(b.name for b in all_bugs().values() if b.kind == k) for k in KINDS}
    left = (pools[kind] for kind in cycle(kinds) if pools[kind])
    turns = islice(left, min(bugs, len(all_bugs())))
    names = [pool.pop(random.randrange(len(pool))) for pool in turns]
    numbers = sorted(random.sample(list(EXERCISES), min(exercises, len(EXERCISES))))
    return Assignment(seed, tuple(all_bugs()[n] for n in names), tuple(numbers))


def make_folder(folder: Path, seed: int, bugs: int, exercises: int) -> Assignment:
    """Write a student's folder.

    Raises
    ------
    HloError
        HLO200 if it is there already, or can't be written.
    """
    assignment = chosen(seed, bugs, exercises)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise HloError("HLO200", f"cannot write {folder}: there is something in it already")
        _write(folder, assignment, {"seed": seed, "bugs": bugs, "exercises": exercises})
    except OSError as error:
        raise HloError("HLO200", f"cannot write {folder}: {error.strerror}") from error
    return assignment


def _write(folder: Path, assignment: Assignment, settings: dict[str, int]) -> None:
    (folder / FILE).write_text(json.dumps(settings) + "\n")
    (folder / "README.md").write_text(readme_text(assignment, folder))
    for number, bug in enumerate(assignment.bugs, 1):
        name = f"bug{number}.hlo"
        text = STUB.format(name=name, number=number, kind=WORDS[bug.kind])
        (folder / name).write_text(text)
    for number in assignment.exercises:
        exercise = EXERCISES[number]
        (folder / f"exercise{number:02}{exercise.suffix}").write_text(exercise.stub)


def readme_text(assignment: Assignment, folder: Path) -> str:
    """The text for the student."""
    suspects = "\n".join(
        f"{n}. `bug{n}.hlo`: suspect {n} has {WORDS[bug.kind]}"
        for n, bug in enumerate(assignment.bugs, 1)
    )
    exercises = "\n".join(
        f"- `exercise{n:02}{EXERCISES[n].suffix}`: {EXERCISES[n].title} "
        f"(chapter {EXERCISES[n].chapter}, {EXERCISES[n].level})"
        for n in assignment.exercises
    )
    name = folder.name
    return f"""# Assignment {assignment.seed}

## Find it

Each suspect is PyHLO with one bug planted in it. For each, write a module on which the suspect is
wrong, while PyHLO itself is right. A module of up to 12 instructions gets all points, a larger one
fewer. This command says whether suspect 1 is wrong on a module, and shows the wrong value:

    hlo assignment try {name} 1 my_module.hlo

With `--log`, it lists the rewrites of a wrong rule or pass, also on a module on which it is right:
try it on the modules of the course to see what a suspect does. For a wrong kernel it shows the C.

Write into your file, after `// why:`, one sentence: what does the suspect do wrong?

{suspects}

## Exercises

{exercises}

`hlo exercise N FILE` checks one. `hlo assignment grade {name}` shows all of your points.
"""


def read_folder(folder: Path) -> Assignment:
    """The assignment in a folder.

    Raises
    ------
    HloError
        HLO200 if it is no assignment.
    """
    path = folder / FILE
    try:
        # Students write this file: it may be a link, a device, or anything else.
        plain = path.is_file() and not path.is_symlink() and path.stat().st_size <= MOST
        settings: Any = json.loads(path.read_text() if plain else "")
        return chosen(*(int(settings[key]) for key in ("seed", "bugs", "exercises")))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise HloError("HLO200", f"cannot read {path}: it is no assignment") from error
