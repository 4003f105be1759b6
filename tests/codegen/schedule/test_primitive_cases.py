"""Each primitive makes of the loops in `tests/cases/schedule` what these files say, or refuses.

`RUN` is an expression of Python. It knows the primitives, the loop, the body that draws names, and

    tree("x[i]")            an expression of the loop's counters and values
    same                    what stands in a block: the iterations as they are
    array("f32", "t", 8)    a declaration
"""

import importlib
import pkgutil

import pytest
from loop_cases import CASES, check_file
from written import Variable

from codegen import schedule
from codegen.expressions import BLOCK_X, THREAD_X
from codegen.schedule.divide import fresh
from codegen.statements import For

FILES = sorted((CASES / "schedule").glob("*/*.c"))
MODULES = {
    name: vars(importlib.import_module(f"codegen.schedule.{name}"))
    for _, name, _ in pkgutil.iter_modules(schedule.__path__)
}
# Those that tell who listens what they have applied.
PRIMITIVES = {name: names for name, names in MODULES.items() if "applied" in names}
del PRIMITIVES["trace"]


def in_a_list(made):
    """Statements of what a primitive returns."""
    return (
        [s for each in made for s in in_a_list(each)] if isinstance(made, list | tuple) else [made]
    )


def transformed(case):
    body = case.kernel.body
    for statement in case.before:
        if isinstance(statement, For):
            known = {
                **{name: each for names in PRIMITIVES.values() for name, each in names.items()},
                "BLOCK_X": BLOCK_X, "THREAD_X": THREAD_X,
                "body": body, "loop": statement, "tree": case.tree, "array": Variable,
                "same": lambda block, _=None: [fresh(body, block)],
            }  # fmt: skip
            yield from in_a_list(eval(case.run, known))
        else:
            yield statement


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path, bless):
    check_file(path, transformed, bless, {})


def test_every_primitive_has_cases():
    assert {p.parent.name for p in FILES} == PRIMITIVES.keys()
