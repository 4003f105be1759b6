"""Modules on which a pass may have something to do, one after the other.

They come from several sources: instances of the left sides of rules, golden cases, random modules
of the opcodes that the pass names, mutations of modules that the pass has changed before, and
excerpts of these: what it changed, alone. Some of each are laid out, as a compiler leaves them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.opcode import TUPLES, having
from hlo.types.element_type import BF16, C64, F16, F32, F64, PRED
from hlo.verify import verify
from hlo_tools.generate.embedding import beside
from hlo_tools.generate.expansion_samplers import SAMPLERS
from hlo_tools.generate.instances import instance
from hlo_tools.generate.layouts import laid_out
from hlo_tools.generate.modules import LAID_OUT, random_module
from hlo_tools.generate.mutation import (
    CLAIMS,
    another_window,
    mutated,
    one_acts,
    one_claims,
    one_given_up,
    one_put_out,
    one_retupled,
    one_sharded,
    one_waits,
)
from hlo_tools.generate.operands import ARITHMETIC, UnfitError
from hlo_tools.generate.random_shapes import TYPES
from hlo_tools.generate.seeds import all_seeds
from hlo_tools.generate.values import nasty, tame
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.parts import DEPTHS, FirstValues, as_case, is_fixed, part_of
from interpreter.arithmetic import MEANINGS
from interpreter.groups import devices_named
from optimizer.identity import reads_layouts
from optimizer.log import Log
from optimizer.memory.copy_insertion import CopyInsertion
from optimizer.rewriting.application import Application
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import RuleSet
from optimizer.scheduling.memory_scheduler import HloMemoryScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from random import Random
    from typing import Any

    from hlo.instruction import Instruction, Module
    from hlo.types.element_type import ElementType
    from hlo_tools.generate.mutation import Mutation
    from hlo_tools.generate.random_shapes import Types
    from hlo_tools.generate.seeds import Seed
    from hlo_tools.search.checking.aim import Aim
    from optimizer.rewriting.rule import Rule
    from optimizer.rewriting.term import Term

# How often to try for an instance to which a rule applies.
PATIENCE = 25
# The same of the types that a pass names, if they are few: they are drawn so many times before a
# rule is hard to meet. A guard may want each of three in its place, which one try of 75 gives.
NAMED, PATIENT = 4, 12
# So many types for a chain of conversions, drawn in so many of about ten tries.
FEW_TYPES = 3
# Left sides in one module.
MOST_INSTANCES = 6
# Golden cases that are tried as they are before anything else, and that are mutated.
FIRST_SEEDS, MOST_SEEDS = 12, 60
# Modules that a pass has changed: so many of the latest are kept to be mutated.
MOST_CHANGED = 60
# How many modules also give values to the host, how many results take a parameter's memory, and in
# how many modules values are said to be divided among devices.
TALKATIVE, DONATING, SHARDED = 0.1, 0.05, 0.05
# In these types a rounding error is small enough to tell it from a mistake.
ROUNDED_TYPES = (F32, F32, F64, F16, BF16, C64)


# Of so many left sides, the result is one long row: values of all kinds meet in it.
LONG, LONG_ONES = (64,), 0.25
# Types of comparisons, most of which are none.
ORDERS = ("", "", "", "TOTALORDER")
EFFECTS = having("effect")


class Candidates:
    """An endless supply of modules for one pass.

    Attributes
    ----------
    changed : modules that the pass has changed, to be mutated.
    places : of these modules, instructions that were replaced.
    excerpted : whether the latest module is an excerpt, of which nothing more is to be learned.
    """

    def __init__(self, aim: Aim, random: Random, *, rounds: bool) -> None:
        self.aim, self.random = aim, random
        self.types = ROUNDED_TYPES if rounds else TYPES
        self.changed: list[Module] = []
        self.places: list[tuple[Module, Instruction]] = []
        self.excerpted = False
        self.favoured = aim.named()
        own = aim.own_seeds()
        others = aim.other_seeds() or random.sample(all_seeds(), MOST_SEEDS)
        self.seeds = (own + others)[:MOST_SEEDS]
        self.first = own + [s for s in self.seeds if s not in own][:FIRST_SEEDS]
        self.rules = self._in_turn()
        self.missed: Counter[tuple[str, Types]] = Counter()
        self.palettes = palettes(self.types, aim.types)
        # Each with the chance that a module gets it.
        gives = bool({"input_output_alias", "buffer_donor"} & aim.words)
        self.extensions = (
            (one_waits, 0.5 if "control_predecessors" in aim.words else 0),
            (one_put_out, 0.5 if aim.opcodes.keys() & EFFECTS else TALKATIVE),
            (one_retupled, 0.3 if aim.opcodes.keys() & TUPLES else 0),
            (one_given_up, 0.5 if gives else DONATING),
            (another_window, 0.5 if "window" in aim.words else 0),
            (one_acts, 0.5 if "custom_call_has_side_effect" in aim.words else 0),
            (one_sharded, 0.5 if "sharding" in aim.words else SHARDED),
            *([(one_claims, 0.5)] if {*CLAIMS} & aim.words else []),
        )
        self.waits = bool({"copy", "is_scheduled", "copy_insertion"} & aim.words)

    def __iter__(self) -> Iterator[Module]:
        """Golden cases, then whatever else there is, in turn."""
        first = self._first_seeds()
        while True:
            early = next(first, None) if self.random.random() < 0.5 else None
            self.excerpted = False
            yield early or self._another()

    def keep(self, module: Module, replaced: Sequence[Instruction] = ()) -> None:
        """Remember a module that the pass has changed, and instructions that it has replaced."""
        if self.excerpted:
            return
        self.changed.append(module)
        self.places += [(module, instr) for instr in replaced[:1]]
        del self.changed[:-MOST_CHANGED], self.places[:-MOST_CHANGED]

    def _first_seeds(self) -> Iterator[Module]:
        for seed in self.first:
            if seed.module is not None:
                yield seed.module
                if self.waits:
                    yield scheduled(seed.module)

    def _another(self) -> Module:
        """A module from a source that is chosen at random."""
        sources: list[Callable[[], Module | None]] = [self._aimed, self._aimed]
        if self.aim.rules:
            sources += [self._instances] * 6
        if self.seeds:
            sources += [self._mutated_seed] * 3
        if self.changed:
            sources += [self._mutated_change] * (2 if self.aim.rules else 4)
        if self.places:
            sources += [self._excerpt]
        while True:
            source = self.random.choice(sources)
            candidate, self.excerpted = source(), source == self._excerpt
            if candidate is not None and is_sound(candidate := self._extended(candidate)):
                return candidate

    def _extended(self, module: Module) -> Module:
        """The module, sometimes with control dependencies, effects, aliases, devices or layouts."""
        random = self.random
        for mutation, chance in self.extensions:
            if random.random() < chance:
                module = varied_by(mutation, module, random, random.randint(1, 4))
        if communicates(module) and random.random() < 0.5:
            module = on_several_devices(module)
        if random.random() < LAID_OUT and is_free(module):
            module = laid_out(module, random)
        return module

    def _aimed(self) -> Module:
        size, types = self.random.choice((4, 8, 12)), self.random.choice(self.palettes)
        return self._varied(random_module(self.random, size, types, self.favoured), 0.2)

    def _mutated_seed(self) -> Module | None:
        chosen: Seed = self.random.choice(self.seeds)
        mutant = chosen.module
        if mutant is None:
            return None
        if self.waits and self.random.random() < 0.5:
            mutant = scheduled(mutant)
        return mutated(mutant, self.random, self.random.choice((1, 1, 2, 3)))

    def _mutated_change(self) -> Module:
        chosen = self.random.choice(self.changed)
        return mutated(chosen, self.random, self.random.choice((1, 1, 2, 3)))

    def _excerpt(self) -> Module | None:
        """The place of an earlier change: nothing hides its value, and arguments reach it."""
        return excerpt(*self.random.choice(self.places), self.random)

    def _varied(self, module: Module, chance: float) -> Module:
        """The module, or one that is nearly the same."""
        return mutated(module, self.random) if self.random.random() < chance else module

    def _instances(self) -> Module | None:
        """A few left sides beside each other, and something above, below or around them."""
        wanted = self.random.randint(1, MOST_INSTANCES)
        samples = [m for m in (self._instance(next(self.rules)) for _ in range(wanted)) if m]
        if not samples:
            return None
        joined = samples[0] if len(samples) == 1 else beside(samples)
        return mutated(joined, self.random, self.random.choice((0, 0, 1, 2)))

    def _in_turn(self) -> Iterator[Rule]:
        """All rules again and again, each time in another order."""
        while self.aim.rules:
            yield from self.random.sample(self.aim.rules, len(self.aim.rules))

    def _instance(self, rule: Rule) -> Module | None:
        """A module to which a rule applies; None if none was found soon."""
        alone, random = RuleSet([rule]), self.random
        rounds = self.types is ROUNDED_TYPES and rule.promise.ulps > 0
        options: dict[str, Any] = {"values": tame if rounds else nasty, "orders": ORDERS}
        all_types = ROUNDED_TYPES if rounds else TYPES
        known = palettes(all_types, self.aim.types)
        if conversions(rule.left) > 1:
            # Among few types, a chain of conversions soon comes back to the first.
            known += [tuple(random.sample(all_types, FEW_TYPES))] * FEW_TYPES
        # Each kind of number that the rule takes gets its share; others are tried in between.
        easy = [types for types in known if not self._is_hard(rule, types)]
        types = random.choice(easy if easy and random.random() < 0.9 else known)
        sample: Module | None = None
        for _ in range(1 if self._is_hard(rule, types) else PATIENCE):
            try:
                if rule.name in SAMPLERS:
                    sample = SAMPLERS[rule.name](random, options["values"])
                else:
                    dims = LONG if random.random() < LONG_ONES else None
                    sample = instance(rule.left, random, types, dims, **options)
                verify(sample)
                applies = rewrite(sample, alone, Log(fuel=1)) is not sample
            except (UnfitError, HloError):
                continue
            except Exception:
                # Whatever else goes wrong is the rule's own doing: the pass will show it.
                return sample
            if applies:
                del self.missed[rule.name, types]
                return sample
        self.missed[rule.name, types] += 1
        return None

    def _is_hard(self, rule: Rule, types: Types) -> bool:
        """Whether instances of some types have not met a rule often enough."""
        named = len(self.aim.types) <= NAMED and {*types} == {*self.aim.types, PRED}
        return self.missed[rule.name, types] >= (PATIENT if named else 1)


def conversions(side: Term) -> int:
    """The number of conversions of a pattern."""
    if not isinstance(side, Application):
        return 0
    return ("convert" in side.opcodes) + sum(map(conversions, side.operands))


def palettes(types: Types, named: Iterable[ElementType]) -> list[Types]:
    """Sets of element types for a module: all, those of each kind, and those that a pass names.

    Each has `pred`, the type of what is compared.
    """
    kinds: dict[str, Types] = {}
    for element_type in dict.fromkeys(types):
        for kind in (element_type.kind, *["integer"] * element_type.is_integer):
            kinds[kind] = (*kinds.get(kind, ()), element_type)
    own = tuple(element_type for element_type in named if element_type in types)
    type_lists = (types, *kinds.values(), own or types)
    return list(dict.fromkeys(tuple(dict.fromkeys((*types_of, PRED))) for types_of in type_lists))


def scheduled(module: Module) -> Module:
    """A module as the last passes see it: with copies, and in the order in which it runs."""
    try:
        return HloMemoryScheduler().run(CopyInsertion().run(module, Log()), Log())
    except Exception:
        # Buffer assignment does not know all that there is.
        return module


def excerpt(module: Module, root: Instruction, random: Random) -> Module | None:
    """The module of an instruction and its operands to some depth; others become parameters.

    Some of the constants become parameters, too. None if the module has no such instruction: it was
    made while the module was rewritten.
    """
    where = next((c for c in module.computations if root in c.instructions), None)
    if where is None:
        return None
    part = part_of(root, random.choice(DEPTHS))
    instrs = {i for i in part if not is_fixed(i) or random.random() < 0.5} | {root}
    used = {o for i in instrs for o in i.operands} | {root}
    ordered = [i for i in where.instructions if i in instrs & used]
    return next(as_case(Case(module), FirstValues(), ordered)).module


def communicates(module: Module) -> bool:
    """Whether a module has collectives, and its header names one device."""
    one = module.header.replica_count * module.header.num_partitions == 1
    return one and any("collective" in i.row.traits for i in module.instructions())


def on_several_devices(module: Module) -> Module:
    """A module on as many devices as it names, but at least two."""
    count = max(2, devices_named(module))
    return replace(module, header=replace(module.header, replica_count=count))


def varied_by(mutation: Mutation, module: Module, random: Random, times: int = 1) -> Module:
    """The module after one mutation, done some times, as far as there is place for it."""
    try:
        for _ in range(times):
            module = mutation(module, random)
    except (UnfitError, HloError):
        pass
    return module


def is_free(module: Module) -> bool:
    """Whether no layout of a module has a meaning yet; laid out again and again, it would grow."""
    return not any(reads_layouts(computation) for computation in module.computations)


def is_sound(module: Module) -> bool:
    """Whether a module is well-formed, and each opcode in it defined for its type.

    The verifier takes a maximum of complex numbers, as XLA's does. It fails where it runs; so it
    may be in a branch that nobody takes, and nothing follows from a pass that computes it.
    """
    try:
        verify(module)
    except HloError:
        return False
    return all(map(is_defined, module.instructions()))


def is_defined(instr: Instruction) -> bool:
    """Whether an opcode that computes is defined for the type of its operands."""
    if instr.opcode not in ARITHMETIC:
        return True
    return instr.opcode in MEANINGS[instr.operands[0].shape.element_type.kind]
