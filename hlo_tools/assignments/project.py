"""The project at the end of the course: what a machine can find out about it, for points.

A project is a file `project.py`, which defines

    PROJECT   a pass, a class of a pass, a rule, or a list of rules
    PROMISE   how exactly it keeps values, such as "BITS"
    BEFORE    a program that was handed in with the plan, as HLO text
    AFTER     the program that the pass was to make of it
    GAIN      a program that gets cheaper

Each criterion is checked as an exercise is: the pass runs in a process that knows of no verdict.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from re import findall
from typing import TYPE_CHECKING

import hlo
from hlo.errors.error import HloError
from hlo.opcode import OPCODES
from hlo.verify import verify
from hlo_tools.comparison.diff import diff
from hlo_tools.comparison.matching import match, renamed
from hlo_tools.exercises.exercise import Exercise, course_folder
from hlo_tools.exercises.finding import Mistake
from hlo_tools.exercises.passes import PassApart, of_failure
from hlo_tools.search.checking.aim import Aim
from hlo_tools.search.checking.failure import find_failure
from hlo_tools.search.checking.search import arguments_for, search, smallest
from interpreter.numbers.compare import PROMISES
from optimizer.analysis.cost import Cost, module_cost
from optimizer.cleanup.dce import Dce
from optimizer.log import Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.instruction import Module
    from hlo_tools.exercises.exercise import SearchEffort, Submission

FILE = "project.py"
NAME = "PROJECT"
# Random programs are tried with so many seeds, each of which counts for itself.
SEEDS = 5
# Lists of arguments for a model of the course.
LISTS = 2
PROGRAM = "ENTRY main { ROOT x = f32[] parameter(0) }"


@dataclass(frozen=True)
class Project:
    """What is handed in, apart: the pass, the opcodes that its file names, and the programs."""

    runs: PassApart
    opcodes: Counter[str]
    before: Module
    after: Module
    gain: Module


@dataclass(frozen=True)
class Criterion:
    """What points are given for.

    Attributes
    ----------
    name : as a table has it; with a number, which is a seed.
    judge : the mistake of a project; None if it has none.
    """

    name: str
    points: int
    judge: Callable[[Project, SearchEffort, int], Mistake | None]

    def exercise(self, seed: int) -> Exercise:
        """The criterion as an exercise, which a referee can ask of another process."""
        wants = {NAME: Dce, "PROMISE": lambda: "BITS"}
        wants |= dict.fromkeys(("BEFORE", "AFTER", "GAIN"), lambda: PROGRAM)
        check = partial(_checked, self.judge, seed)
        return Exercise(0, self.name, 0, "hard", wants, "optimizer/passes.py", check)


def _checked(
    judge: Callable[[Project, SearchEffort, int], Mistake | None],
    seed: int,
    answer: Submission,
    effort: SearchEffort,
) -> Mistake | None:
    try:
        project = _read(answer)
    except HloError as error:
        return Mistake("error", str(error).partition("\n")[0])
    return judge(project, effort, seed)


def _read(answer: Submission) -> Project:
    """What is handed in.

    Raises
    ------
    HloError
        HLO204 if there is no such promise; as `hlo.parse` and `verify` if a program is malformed.
    """
    promise = PROMISES.get(str(answer["PROMISE"]))
    if promise is None:
        raise HloError("HLO204", f"PROMISE is none of {', '.join(PROMISES)}")
    programs: list[Module] = []
    for name in ("BEFORE", "AFTER", "GAIN"):
        programs.append(hlo.parse(str(answer[name]), name))
        verify(programs[-1])
    text = answer.path.read_text() if answer.path else ""
    words = (word.replace("_", "-") for word in findall(r"[a-z][\w-]*", text))
    opcodes = Counter(word for word in words if word in OPCODES)
    return Project(PassApart(answer, NAME, promise=promise), opcodes, *programs)


def right_on_programs(project: Project, effort: SearchEffort, seed: int) -> Mistake | None:
    """Random programs, made for the opcodes that the file names."""
    examples = (project.before, project.gain)
    aim = Aim(opcodes=project.opcodes)
    failure, tally = search(project.runs, effort.examples, seed, examples, aim=aim)
    if failure is not None:
        small = smallest(project.runs, failure, effort.seconds) if effort.seconds else failure
        return of_failure(project.runs, NAME, small)
    if not tally.changed:
        return Mistake("wrong", f"{NAME} changes none of {tally.modules} programs")
    return None


def right_on_models(project: Project, _: SearchEffort, seed: int) -> Mistake | None:
    """The models of the course."""
    for path in sorted((course_folder() / "models").glob("*.hlo")):
        module = hlo.load(str(path))
        lists = islice(arguments_for(module, Random(seed), project.runs.promise), LISTS)
        if failure := find_failure(project.runs, module, *lists):
            return of_failure(project.runs, f"{NAME}, on {path.name}", failure)
    return None


def does_what_was_promised(project: Project, _: SearchEffort, __: int) -> Mistake | None:
    """The program of the plan, before and after; names do not count."""
    result = project.runs.run(project.before, Log())
    if not diff(project.after, renamed(result, match(project.after, result))):
        return None
    return Mistake("wrong", f"{NAME} does not make AFTER of BEFORE", str(result).rstrip())


def is_worth_having(project: Project, _: SearchEffort, __: int) -> Mistake | None:
    """By the cost model, something gets less, and nothing more."""
    before, after = (module_cost(m) for m in (project.gain, project.runs.run(project.gain, Log())))
    pairs = list(zip(_amounts(before), _amounts(after), strict=True))
    if all(new <= old for old, new in pairs) and any(new < old for old, new in pairs):
        return None
    names = ("flops", "transcendentals", "bytes")
    counts = ", ".join(f"{n} {old} -> {new}" for n, (old, new) in zip(names, pairs, strict=True))
    return Mistake("wrong", f"GAIN gets no cheaper: {counts}")


def _amounts(cost: Cost) -> tuple[int, int, int]:
    return cost.flops, cost.transcendentals, cost.bytes_accessed


RIGHT = Criterion("right on programs", 4, right_on_programs)
OTHERS = (
    Criterion("right on models", 10, right_on_models),
    Criterion("as promised", 10, does_what_was_promised),
    Criterion("worth having", 10, is_worth_having),
)
CRITERIA = {criterion.name: criterion for criterion in (RIGHT, *OTHERS)}


def criteria(seed: int) -> Iterator[tuple[str, Criterion]]:
    """All criteria, and their names with the seed of each."""
    for number in range(seed, seed + SEEDS):
        yield f"{RIGHT.name}, seed {number}", RIGHT
    for criterion in OTHERS:
        yield f"{criterion.name}, seed {seed}", criterion


def find_criterion(name: str) -> Exercise:
    """The exercise of a criterion's name with a seed."""
    words, _, seed = name.rpartition(", seed ")
    return CRITERIA[words].exercise(int(seed))
