"""The choice of a layout for each array of a computation.

Two sweeps. Downwards, each array is *offered* the order in which its operands would hand it on for
free. Upwards, each user *votes* for the order that it wants, and the order is chosen for which the
fewest bytes must be moved, above and below; users first, where it does not matter. Choices look one
instruction far; that is enough to push transpositions through elementwise code, downwards, to where
they cost least.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.opcode import FORWARDING
from hlo.write.value_print import print_ints
from optimizer.layout.flow import FREE, can_have, carries, operand_order, result_order
from optimizer.layout.orders import (
    Dims,
    Order,
    order_of,
    rows,
    same_memory,
    same_order,
    with_order,
)
from optimizer.layout.policy import demanded, yielded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from optimizer.layout.policy import LayoutPolicy

    Index = tuple[int, ...]
    ArrayKey = tuple[Instruction, Index]
    Alike = Callable[[Dims, Order, Order], bool]


@dataclass(frozen=True, slots=True)
class Vote:
    """A user's wish.

    Attributes
    ----------
    bytes : what a copy would move if it is not granted.
    user : name of the instruction.
    rule : why it wants the order.
    """

    order: Order
    bytes: int
    user: str
    rule: str


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """The layout of one array, and why.

    Attributes
    ----------
    rule : which rule decided, a word.
    tell : gives the reason with its numbers, a sentence, which is written only when it is printed.
    """

    order: Order
    rule: str
    tell: Callable[[], str]

    def __str__(self) -> str:
        """One line."""
        return f"{print_ints(self.order)} ({self.rule}): {self.tell()}"


@dataclass(frozen=True)
class Borders:
    """The layouts that the callers or the text settle.

    Attributes
    ----------
    given : shapes of results that are settled, by instruction; a leaf without layout is not.
    wanted : shapes that instructions insist on for their operands.
    result : in which shape the computation must leave its result; None for any.
    """

    given: Mapping[Instruction, tuple[Shape, str]]
    wanted: Mapping[Instruction, tuple[Shape, ...]]
    result: Shape | None


@dataclass
class LayoutPlanner:
    """The layouts of one computation, once `run` has run.

    Attributes
    ----------
    offers, votes, choices : by the instruction and the index into its shape.
    wishes : the shapes that an instruction wants of its operands.
    """

    computation: Computation
    policy: LayoutPolicy
    borders: Borders
    offers: dict[ArrayKey, Order] = field(default_factory=dict["ArrayKey", Order])
    votes: dict[ArrayKey, list[Vote]] = field(default_factory=dict["ArrayKey", list[Vote]])
    choices: dict[ArrayKey, LayoutChoice] = field(default_factory=dict["ArrayKey", LayoutChoice])
    wishes: dict[Instruction, list[Shape]] = field(
        default_factory=dict["Instruction", list["Shape"]]
    )

    def run(self) -> dict[ArrayKey, LayoutChoice]:
        """Choose all layouts."""
        for instr in self.computation.instructions:
            for index, leaf in choosable(instr.shape):
                offer = self.offered(instr, index, leaf)
                if offer is not None:
                    self.offers[instr, index] = offer
        if self.borders.result is not None:
            self.vote_for(self.computation.root, self.borders.result, "ROOT", "entry-or-caller")
        for instr in reversed(self.computation.instructions):
            self.settle(instr)
        for instr in self.computation.instructions:
            for index, _ in choosable(instr.shape):
                self.follow(instr, index)
        return self.choices

    # ------------------------------------------------------------- downwards

    def given(self, instr: Instruction, index: Index) -> tuple[Order, str] | None:
        """The order that is settled already, and the rule."""
        layout = self.borders.given.get(instr)
        if layout is None:
            return None
        shape, rule = layout
        leaf = shape.at(index)
        return (leaf.layout.minor_to_major, rule) if leaf.layout else None

    def offered(self, instr: Instruction, index: Index, leaf: Shape) -> Order | None:
        """The order that an array has for free; None where it can have any."""
        if settled := self.given(instr, index):
            return settled[0]
        if source := forwarded(instr, index):
            return self.offers.get(source)
        if instr.opcode == "tuple":
            return self.offers.get((instr.operands[index[0]], index[1:]))
        if carries(instr):
            return self.handed_on(instr)
        if instr.opcode in FREE or instr.opcode == "parameter":
            return None
        return rows(leaf.rank) if instr.shape.is_tuple else yielded(self.policy, instr)[0]

    def handed_on(self, instr: Instruction) -> Order | None:
        """The order that the largest operand hands on."""
        best: tuple[int, Order] | None = None
        for number, operand in enumerate(instr.operands):
            offer = self.offers.get((operand, ()))
            order = None if offer is None else result_order(instr, number, offer)
            if order is not None and (best is None or operand.shape.bytes > best[0]):
                best = operand.shape.bytes, order
        return best[1] if best else None

    # --------------------------------------------------------------- upwards

    def vote_for(self, operand: Instruction, shape: Shape, user: str, rule: str) -> None:
        """A vote for each array of an operand."""
        for index, leaf in choosable(shape):
            if leaf.layout is not None:
                vote = Vote(order_of(leaf), leaf.bytes, user, rule)
                self.votes.setdefault((operand, index), []).append(vote)

    def settle(self, instr: Instruction) -> None:
        """Choose the layouts of an instruction, whose users have voted; vote for its operands."""
        for index, leaf in choosable(instr.shape):
            source = forwarded(instr, index)
            if source is None:
                self.choices[instr, index] = self.chosen(instr, index, leaf)
            else:
                self.votes.setdefault(source, []).extend(self.votes.get((instr, index), ()))
        if forwarded(instr, ()) is None:
            wishes = self.wishes[instr] = list["Shape"]()
            for number, operand in enumerate(instr.operands):
                shape, rule = self.wanted(instr, number)
                self.vote_for(operand, shape, instr.name, rule)
                wishes.append(shape)

    def wanted(self, instr: Instruction, number: int) -> tuple[Shape, str]:
        """The shape that an instruction wants of an operand, and why; no layout where any will do.

        Where what the operand offers gives the chosen result, that is what it wants.
        """
        shape = instr.operands[number].shape
        if instr in self.borders.wanted:
            return self.borders.wanted[instr][number], "settled"
        if instr.opcode == "tuple":
            return self.shape_of(instr, (number,)), "tuple"
        if not has_orders(shape):
            return shape.without_layout, "any"
        offer = self.offers.get((instr.operands[number], ()))
        if not carries(instr):
            order, rule = demanded(self.policy, instr, number, offer)
            return with_order(shape, order), rule
        order = self.carried(instr, number, offer)
        return shape.with_layout(None) if order is None else with_order(shape, order), "from-result"

    def carried(self, carrier: Instruction, number: int, offer: Order | None) -> Order | None:
        """The order that a carrier wants of an operand for its own; None where any will do."""
        rank = carrier.shape.rank
        result = self.choices[carrier, ()].order if has_orders(carrier.shape) else rows(rank)
        if offer is not None and result_order(carrier, number, offer) == result:
            return offer
        if offer is not None and carrier.opcode == "transpose":
            return None  # it moves the bytes itself
        return operand_order(carrier, number, result)

    def chosen(self, instr: Instruction, index: Index, leaf: Shape) -> LayoutChoice:
        """The order of an array: settled, wanted by a tuple, its own, or the cheapest."""
        if settled := self.given(instr, index):
            return LayoutChoice(*settled, lambda: "it is settled by what it meets")
        offer = self.offers.get((instr, index))
        votes = self.votes.get((instr, index), [])
        if instr.opcode == "tuple" and votes:
            return LayoutChoice(
                votes[0].order, "tuple", lambda: f"%{votes[0].user} wants the element so"
            )
        if not carries(instr) and instr.opcode != "tuple" and offer is not None:
            rule = "row-major" if index else yielded(self.policy, instr)[1]
            return LayoutChoice(offer, rule, lambda: f"{instr.opcode} leaves its result so")
        return self.cheapest(instr, leaf, offer, votes)

    def cheapest(
        self, instr: Instruction, leaf: Shape, offer: Order | None, votes: list[Vote]
    ) -> LayoutChoice:
        """The order of an array for which the fewest bytes are copied."""
        written = order_of(leaf)
        wished = [offer] if offer is not None else []
        candidates = dict.fromkeys([*(v.order for v in votes), *wished, rows(leaf.rank)])

        def costs() -> dict[Order, int]:
            able = [order for order in candidates if can_have(instr, order)]
            return {order: self.copied(instr, order, votes, leaf, same_order) for order in able}

        best = rows(leaf.rank)
        if len(candidates) > 1:
            cost = costs()
            # The given layout stays if it is free, so that a second run changes nothing.
            best = min(cost, key=lambda order: (cost[order], order != written and not cost[order]))
        if self.stays(instr, written, best, votes, leaf):
            best = written
        if not votes and offer is None:
            return LayoutChoice(best, "no-preference", lambda: "nobody asks for another")
        return LayoutChoice(best, _rule(best, offer, votes), lambda: _numbers(costs(), votes))

    def stays(
        self, instr: Instruction, written: Order, best: Order, votes: list[Vote], leaf: Shape
    ) -> bool:
        """Whether an array keeps an order that is the best one but for sizes of 1.

        The first run chose it, and put bitcasts after it, which a second run finds in its way. One
        that is row-major but for sizes of 1 gives way: it would have bitcasts for nothing.
        """
        return (
            written != best
            and not same_memory(leaf.dims, written, rows(leaf.rank))
            and same_memory(leaf.dims, written, best)
            and can_have(instr, written)
            and not self.copied(instr, written, votes, leaf, same_memory)
        )

    def copied(
        self, instr: Instruction, order: Order, votes: list[Vote], leaf: Shape, alike: Alike
    ) -> int:
        """Bytes that are copied if an array has an order: for its users, and of its operands.

        Parameters
        ----------
        alike : whether no copy is needed from one order to another, for arrays of some sizes.
        """
        copies = {v.order: v.bytes for v in votes if not alike(leaf.dims, v.order, order)}
        above = 0
        if carries(instr):
            for number, operand in enumerate(instr.operands):
                offer = self.offers.get((operand, ()))
                if offer is None:
                    continue
                handed = result_order(instr, number, offer)
                if handed is not None and alike(leaf.dims, handed, order):
                    continue
                wanted = operand_order(instr, number, order)
                free = wanted is None or alike(operand.shape.dims, wanted, offer)
                above += 0 if free else operand.shape.bytes
        return sum(copies.values()) + above

    # ---------------------------------------------------------- once chosen

    def follow(self, instr: Instruction, index: Index) -> None:
        """Elements of tuples have the layout that the tuple has."""
        source = forwarded(instr, index)
        if source is not None:
            chosen = self.choices[source]
            self.choices[instr, index] = LayoutChoice(
                chosen.order, "same-value", lambda: f"it is a value of %{source[0].name}"
            )

    def shape_of(self, instr: Instruction, index: Index = ()) -> Shape:
        """The shape at an index into an instruction's shape, in the chosen layouts."""
        return laid_out(instr.shape.at(index), lambda at: self.choices[instr, at].order, index)


def forwarded(instr: Instruction, index: Index) -> ArrayKey | None:
    """The array that an instruction hands on as it is, in the same memory; None if it makes it."""
    if instr.opcode == "get-tuple-element":
        number = a.GetTupleElement.of(instr).index
        return instr.operands[0], (number, *index)
    if instr.opcode in FORWARDING:
        return instr.operands[0], index
    return None


def has_orders(shape: Shape) -> bool:
    """Whether a shape is an array with more than one order."""
    return shape.is_array and shape.rank > 1


def choosable(shape: Shape) -> list[tuple[Index, Shape]]:
    """The arrays of a shape that have more than one order, with their indices."""
    if shape.is_tuple:
        return [(index, leaf) for index, leaf in shape.leaves() if has_orders(leaf)]
    return [((), shape)] if has_orders(shape) else []


def laid_out(shape: Shape, order_at: Callable[[Index], Order], index: Index = ()) -> Shape:
    """A shape with other orders, which a function of the index into it gives."""
    if shape.is_tuple:
        elements = [laid_out(e, order_at, (*index, i)) for i, e in enumerate(shape.elements)]
        return replace(shape, elements=tuple(elements))
    return with_order(shape, order_at(index)) if has_orders(shape) else shape


def _rule(best: Order, offer: Order | None, votes: list[Vote]) -> str:
    if best == offer:
        return "from-operand"
    return next((f"user-{v.rule}" for v in votes if v.order == best), "fewest-bytes")


def _numbers(costs: Mapping[Order, int], votes: list[Vote]) -> str:
    copies = ", ".join(f"{print_ints(order)} copies {n} bytes" for order, n in costs.items())
    users = ", ".join(f"%{vote.user} wants {print_ints(vote.order)}" for vote in votes)
    return f"{copies}; {users or 'no user minds'}"
