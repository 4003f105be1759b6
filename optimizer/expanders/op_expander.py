"""The base of all expanders: find instructions by opcode, and put others in their place.

An expansion is a function of an `ExpansionSite`, the instruction and where names come from, and
returns the root of its replacement, or None where it leaves the instruction alone. New instructions
get names and the metadata of the old one; its sharding goes to the replacement, and so do its
control dependencies. An expansion becomes a pass by its decorator:

    @expander("sort-expander", "sort", xla="xla/service/sort_expander.cc")
    def sorting_network(site: ExpansionSite) -> Instruction:
        ...

One whose left side is a pattern is a rule, too: a function of the pattern's variables, which
`hlo rules` lists, and whose promise is tested on left sides made from the pattern:

    @expander("logistic-expander", logistic(x), xla="xla/hlo/transforms/logistic_expander.cc")
    def logistic_by_exponential(root: Instruction, x: Instruction) -> Instruction:
        ...

Instructions with dimensions of run-time size are left alone: they are the dynamic padder's work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from inspect import Parameter, cleandoc, signature
from typing import TYPE_CHECKING, Any, cast, overload

from hlo.instruction import Computation, Instruction
from hlo.types.element_type import S32
from hlo.types.shape import array
from hlo.walk import names_of, post_order, rebuild_module
from interpreter.numbers.compare import BITS
from optimizer.dimensions import has_static_sizes, static_here
from optimizer.log import NOTHING_BOUND
from optimizer.passes import register
from optimizer.rewriting.adopting import adopted, in_place_of, named
from optimizer.rewriting.application import Application
from optimizer.rewriting.make import make, splat
from optimizer.rewriting.rule import Rule
from optimizer.rewriting.sites import SiteRewrites, rebuild_unfused, rewrite_sites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hlo.instruction import Module
    from hlo.names import NameSupply
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from interpreter.numbers.compare import Promise
    from optimizer.log import Log
    from optimizer.rewriting.guard import Guard
    from optimizer.rewriting.rule import RightSide

    Expansion = Callable[["ExpansionSite"], Instruction | None]

# The expansions that are rules, by name.
EXPANSION_RULES: dict[str, Rule] = {}


@dataclass(frozen=True, slots=True)
class ExpansionSite:
    """An instruction that is being expanded, with a maker of computations for it to call."""

    instr: Instruction
    names: NameSupply

    def computation(
        self,
        name: str,
        shapes: Sequence[Shape],
        compute: Callable[..., Instruction],
    ) -> Computation:
        """A computation, written as a function of its parameters.

        Parameters
        ----------
        compute : of as many instructions as there are shapes; returns the root.
        """
        parameters = [make("parameter", number=i, shape=shape) for i, shape in enumerate(shapes)]
        root = compute(*parameters)
        order = dict.fromkeys([*parameters, *post_order(root)])
        new = named(order, self.instr, self.names)
        return Computation(self.names.unique(name), tuple(new.values()), new[root])

    def binary(self, opcode: str, element_type: ElementType) -> Computation:
        """The computation of one opcode on two scalars, for reduce and its relatives."""
        scalar = array(element_type)

        def apply(x: Instruction, y: Instruction) -> Instruction:
            return make(opcode, x, y)

        return self.computation(opcode, (scalar, scalar), apply)

    def repeat(
        self,
        count: int,
        state: Sequence[Instruction],
        step: Callable[..., Sequence[Instruction]],
    ) -> list[Instruction]:
        """The state after a loop of `count` iterations.

        Parameters
        ----------
        step : of the iteration's number, an s32, and the state; returns the next state.
        """
        start = make("tuple", splat(0, array(S32)), *state)

        def goes_on(whole: Instruction) -> Instruction:
            return make("compare", element(whole, 0), count, direction="LT")

        def iteration(whole: Instruction) -> Instruction:
            number, *values = elements(whole)
            return make("tuple", make("add", number, 1), *step(number, *values))

        condition = self.computation("condition", [start.shape], goes_on)
        body = self.computation("body", [start.shape], iteration)
        return elements(make("while", start, called=(condition, body)))[1:]


def element(whole: Instruction, index: int) -> Instruction:
    """An element of a tuple."""
    return make("get-tuple-element", whole, index=index)


def elements(whole: Instruction) -> list[Instruction]:
    """All elements of a tuple."""
    return [element(whole, i) for i in range(len(whole.shape.elements))]


@overload
def expander(
    name: str,
    left: Application,
    /,
    *,
    xla: str = "",
    promise: Promise = BITS,
    where: Guard | None = None,
    witness: Mapping[str, Any] | None = None,
    always: bool = False,
) -> Callable[[RightSide], Rule]: ...


@overload
def expander(
    name: str, /, *opcodes: str, xla: str = "", promise: Promise = BITS, always: bool = False
) -> Callable[[Expansion], Expansion]: ...


def expander(
    name: str,
    /,
    *lefts: Any,
    xla: str = "",
    promise: Promise = BITS,
    where: Guard | None = None,
    witness: Mapping[str, Any] | None = None,
    always: bool = False,
) -> Callable[[Any], Any]:
    """Make a pass of the decorated expansion of some opcodes, or of a pattern.

    Parameters
    ----------
    name : of the pass, XLA's.
    lefts : opcodes; or one pattern, of whose variables the expansion is then a function.
    xla : the file of XLA that does the same; it becomes the reference of the pass.
    promise : what is equal before and after.
    where, witness : as of `Rule`.
    always : no emitter has code for what is expanded; so it is also expanded where it is fused,
        and where it waits for others.

    What the expansion takes by name alone are the options of the pass.

    Returns
    -------
    Callable
        a decorator; of a pattern's expansion it makes the rule.
    """

    def enter(expansion: Any) -> Any:
        result = expansion
        if isinstance(lefts[0], Application):
            guard = static_here if where is None else static_here & where
            result = Rule(
                lefts[0],
                expansion,
                promise=promise,
                where=guard,
                xla=xla,
                name=expansion.__name__,
                witness=witness or {},
                doc=expansion.__doc__ or "",
            )
            if result.name in EXPANSION_RULES:
                raise ValueError(f"two rules are called {result.name}")
            EXPANSION_RULES[result.name] = result
        opcodes = result.left.opcodes if isinstance(result, Rule) else lefts
        described = {
            "__doc__": cleandoc(expansion.__doc__ or ""),
            "__module__": expansion.__module__,
            "name": name,
            "xla": xla,
            "promise": promise,
        }
        _enter_pass(result, opcodes, described, always)
        return result

    return enter


def _enter_pass(
    expansion: Rule | Expansion, opcodes: Iterable[str], described: dict[str, Any], always: bool
) -> None:
    """Register the pass of an expansion, whose keyword-only parameters are the options."""
    function = expansion.right if isinstance(expansion, Rule) else expansion
    parameters = signature(cast("Any", function)).parameters.values()
    options = [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]

    def run(self: object, module: Module, log: Log) -> Module:
        chosen = _with_options(expansion, {o.name: getattr(self, o.name) for o in options})
        return expand(module, log, dict.fromkeys(opcodes, chosen), always=always)

    fields = {
        **described,
        "run": run,
        "expansion": expansion if isinstance(expansion, Rule) else staticmethod(expansion),
        "__annotations__": {o.name: o.annotation for o in options},
        **{o.name: o.default for o in options},
    }
    title = "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", described["name"]))
    register(dataclass(frozen=True)(type(title, (), fields)))


def _with_options(expansion: Rule | Expansion, options: dict[str, Any]) -> Rule | Expansion:
    """An expansion with options; the very rule where they are none or the usual ones."""
    function: Any = expansion.right if isinstance(expansion, Rule) else expansion
    usual = {name: signature(function).parameters[name].default for name in options}
    if options == usual:
        return expansion
    chosen = update_wrapper(partial(function, **options), function)
    return replace(expansion, right=chosen) if isinstance(expansion, Rule) else chosen


def expand(
    module: Module,
    log: Log,
    expansions: Mapping[str, Rule | Expansion],
    *,
    mixed: bool = False,
    always: bool = False,
) -> Module:
    """Expand instructions everywhere, or everywhere but in fused and asynchronous computations.

    Parameters
    ----------
    expansions : by the opcode that they expand.
    mixed : whether they also know what instructions mean that mix floats of several precisions.
    always : as of `expander`.

    Returns
    -------
    Module
        the same object where nothing is expanded.
    """
    if all(c.opcodes.isdisjoint(expansions) for c in module.computations):
        return module
    names = names_of(module)

    def visit(computation: Computation, rewrites: SiteRewrites) -> None:
        if computation.opcodes.isdisjoint(expansions):
            return
        there = frozenset(computation.instructions)
        for instr in computation.instructions:
            by = expansions.get(instr.opcode)
            root, bindings = _replacement(by, instr, names) if by else (None, NOTHING_BOUND)
            if by is None or root is None or root is instr:
                continue
            if root in there and instr.control_predecessors and not always:
                # There would be nothing left that has to wait.
                continue
            if root in there and not _stands_for(root, instr):
                root = make("copy", root, shape=instr.shape)
            root = root if root in there else in_place_of(root, instr)
            new = adopted(root, instr, there, names)
            word = by.name if isinstance(by, Rule) else by.__name__
            rewrites.add(word, instr, *new, by=by, bindings=bindings, mixed=mixed)

    return rewrite_sites(module, log, visit, rebuild_module if always else rebuild_unfused)


def _replacement(
    by: Rule | Expansion, instr: Instruction, names: NameSupply
) -> tuple[Instruction | None, Mapping[str, Any]]:
    """The replacement of an instruction, if any, and the bindings of a rule's variables."""
    if isinstance(by, Rule):
        return by.rewritten(instr, names)
    return by(ExpansionSite(instr, names)) if has_static_sizes(instr) else None, NOTHING_BOUND


def _stands_for(root: Instruction, instr: Instruction) -> bool:
    """Whether a value can be used in an instruction's place: bitcasts look at its layout."""
    return root.shape == instr.shape and not instr.control_predecessors
