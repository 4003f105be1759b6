"""Whole random modules with nested computations, and what text may say beside their meaning."""

from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from hlo.attributes.annotations import Annotations, Metadata
from hlo.instruction import Computation, Module
from hlo.read.quoting import quote
from hlo.types.sharding import Sharding, TileAssignment
from hlo.types.values import FrontendAttributes
from hlo.walk import Plan, rebuild, rebuild_module
from hlo_tools.generate.modules import random_module

strings = st.text(st.characters(exclude_categories=("Cs",)), max_size=8).map(quote)
# Names that are no words of the language.
keys = st.from_regex(r"[a-z_][a-z0-9_]{0,5}_", fullmatch=True)
shardings = st.one_of(
    st.sampled_from(("replicated", "manual", "unknown")).map(Sharding),
    st.integers(0, 9).map(lambda device: Sharding("maximal", device=device)),
    st.permutations(range(4)).map(lambda d: Sharding("tiled", TileAssignment((2, 2), tuple(d)))),
)


def is_filled(quoted: str) -> bool:
    return quoted != '""'


@st.composite
def annotations(draw: st.DrawFn) -> Annotations:
    """What an instruction may carry beside its meaning, of an array's shape."""
    entries = draw(st.dictionaries(keys, strings | st.just('{"a":{"b":[1,"}"]}}'), max_size=3))
    # XLA writes neither empty strings and zeros nor a line without anything to be seen.
    parts = [f"op_name={draw(strings.filter(is_filled))}"]
    parts += [f"source_line={draw(st.integers(1, 10**6))}"] if draw(st.booleans()) else []
    return Annotations(
        sharding=draw(st.none() | shardings),
        frontend_attributes=FrontendAttributes(tuple(sorted(entries.items()))) if entries else None,
        metadata=Metadata(" ".join(parts)) if draw(st.booleans()) else None,
        backend_config=draw(st.sampled_from(("", '"plain"', '{"json":[1,{"x":"}"}]}'))),
    )


def modules(size: int = 12) -> st.SearchStrategy[Module]:
    """Well-typed modules of all element types, with calls, branches and loops inside."""
    return st.integers(0, 2**32).map(lambda seed: random_module(Random(seed), size))


@st.composite
def annotated_modules(draw: st.DrawFn, size: int = 12) -> Module:
    """The same, their instructions annotated."""
    some = st.lists(annotations(), min_size=1, max_size=4)
    drawn = draw(some)

    def change(computation: Computation) -> Computation:
        plan: Plan = {}
        for i, instr in enumerate(computation.instructions):
            if instr.shape.is_array:
                plan[instr] = instr.with_(annotations=drawn[i % len(drawn)])
        return rebuild(computation, plan)

    module = rebuild_module(draw(modules(size)), change)
    return replace(module, name=draw(keys))
