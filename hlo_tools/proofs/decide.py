"""Asks the solver whether two values can differ, and translates its answer for the interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tools.proofs.meanings import Pair, UntranslatedError, is_finite, parts
from hlo_tools.proofs.solver import Solved, z3
from interpreter.numbers.compare import BITS, FINITE, ZERO_SIGN, Promise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType

    Array = NDArray[Any]


# Choices by which a question is split into cases.
MOST_SPLITS = 4
# Steps of the simplifier that writes polynomials as sums of monomials.
MOST_STEPS = 200_000
# The solver's words where it has run out of steps.
OUT_OF_STEPS = ("timeout", "canceled", "max. resource limit exceeded")


@dataclass(frozen=True)
class SolverAnswer:
    """The solver's answer about a difference.

    Attributes
    ----------
    proved : whether there is none.
    model : the solver's values for which there is one; None if it found none.
    reason : why the solver does not know; "" if it does.
    moved : whether there was nothing to ask: both sides have the same terms at the same indices.
    """

    proved: bool
    model: Any = None
    reason: str = ""
    moved: bool = False


def difference_at(promise: Promise) -> Callable[[Solved, Solved], Solved]:
    """The condition under which an element breaks a promise: a term of that element on both sides.

    Raises
    ------
    UntranslatedError
        for a promise that forgives rounding errors, of which the solver is told no bound.
    """

    def differ(got: Solved, want: Solved) -> Solved:
        if isinstance(want, Pair):
            pairs = zip(parts(got), parts(want), strict=True)
            return z3.simplify(z3.Or(*[differ(g, w) for g, w in pairs]))
        if got.eq(want):
            return z3.BoolVal(False)
        unequal = got != want
        if not z3.is_fp(want) or promise == BITS:
            return unequal
        if promise == ZERO_SIGN:
            return z3.And(unequal, z3.Not(z3.fpEQ(got, want)))
        if promise == FINITE:
            return z3.And(is_finite(got), is_finite(want), z3.Not(z3.fpEQ(got, want)))
        raise UntranslatedError("rounding errors, whose bound is statistical")

    return differ


def decide(different: Sequence[Solved], assumed: Solved, steps: int) -> SolverAnswer:
    """The solver's answer about some differences: whether none of them is possible.

    Parameters
    ----------
    assumed : what holds besides.
    steps : after which the solver gives up; they take as long as the machine is slow.
    """
    if all(z3.is_false(term) for term in different):
        return SolverAnswer(proved=True, moved=True)
    question = z3.And(assumed, z3.Or(*different))
    # Sums of monomials: equal polynomials of integers become the same term, at any width.
    if is_impossible(question):
        return SolverAnswer(proved=True)
    answer = solve(question, steps)
    if answer.reason and all_false(split(question, MOST_SPLITS), steps):
        return SolverAnswer(proved=True)
    return answer


def solve(question: Solved, steps: int) -> SolverAnswer:
    """The solver's answer about a term: it is proved if nothing makes the term hold.

    The question is copied into a context of its own: how many steps an answer takes depends on
    the terms that a context has seen before.
    """
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", steps)
    solver.add(question.translate(context))
    answer = solver.check()
    if answer == z3.sat:
        return SolverAnswer(proved=False, model=solver.model().translate(z3.main_ctx()))
    if answer == z3.unsat:
        return SolverAnswer(proved=True)
    why = solver.reason_unknown()
    if why in OUT_OF_STEPS:
        why = f"the solver gave up after {steps / 1e6:g} million steps"
    else:
        why = f"the solver says: {why}"
    return SolverAnswer(proved=False, reason=why)


def all_false(questions: Iterable[Solved], steps: int) -> bool:
    """Whether nothing makes any of some terms hold."""
    return all(is_impossible(question) or solve(question, steps).proved for question in questions)


def is_impossible(question: Solved) -> bool:
    """Whether a term is false as soon as its polynomials are written as sums of monomials."""
    try:
        simpler = z3.simplify(question, som=True, max_steps=MOST_STEPS)
        return z3.is_false(simpler) or z3.is_false(
            z3.simplify(without_not(simpler), som=True, max_steps=MOST_STEPS)
        )
    except z3.Z3Exception:
        # There are too many monomials.
        return False


def without_not(term: Solved) -> Solved:
    """A term in which not x is -1 - x, which is a polynomial."""
    solved: dict[int, Solved] = {}
    stack = [term]
    while stack:
        here = stack[-1]
        pending = [child for child in here.children() if child.get_id() not in solved]
        if pending:
            stack += pending
            continue
        stack.pop()
        operands = [solved[child.get_id()] for child in here.children()]
        if z3.is_app_of(here, z3.Z3_OP_BNOT):
            solved[here.get_id()] = -1 - operands[0]
        else:
            solved[here.get_id()] = here.decl()(*operands) if operands else here
    return solved[term.get_id()]


def split(question: Solved, most: int) -> Iterator[Solved]:
    """The cases of the first choices in a term: polynomials in each, where the whole is none."""
    choice = first_choice(question) if most else None
    if choice is None:
        yield question
        return
    for taken in (True, False):
        chosen = z3.simplify(z3.substitute(question, (choice, z3.BoolVal(taken))))
        condition = choice if taken else z3.Not(choice)
        yield from (z3.And(condition, part) for part in split(chosen, most - 1))


def first_choice(term: Solved) -> Solved | None:
    """The condition of a choice between numbers somewhere in a term, innermost first."""
    stack, seen = [term], {term.get_id()}
    choice = None
    while stack:
        here = stack.pop()
        if z3.is_app_of(here, z3.Z3_OP_ITE) and not z3.is_bool(here):
            choice = here.arg(0)
        for child in here.children():
            if child.get_id() not in seen:
                seen.add(child.get_id())
                stack.append(child)
    return choice


def in_model(model: Any, term: Solved, element_type: ElementType) -> Any:
    """The value of a term in a model, as NumPy has it."""
    if isinstance(term, Pair):
        real, imag = (in_model(model, part, element_type.real) for part in parts(term))
        whole = np.empty((), element_type.dtype)
        whole.real, whole.imag = real, imag
        return whole[()]
    constant = model.eval(term, model_completion=True)
    if z3.is_bool(term):
        return np.bool_(z3.is_true(constant))
    if z3.is_bv(term):
        signed = element_type.kind == "signed"
        value = constant.as_signed_long() if signed else constant.as_long()
        return np.asarray(value).astype(element_type.dtype)[()]
    if not z3.is_fp(term):
        raise UntranslatedError(f"a value of {element_type}")
    if z3.is_true(z3.simplify(z3.fpIsNaN(constant))):
        return np.asarray(np.nan).astype(element_type.dtype)[()]
    bits = z3.simplify(z3.fpToIEEEBV(constant)).as_long()
    return np.asarray(bits, f"u{element_type.bytes}").view(element_type.dtype)[()]


def array_in_model(model: Any, terms: Array, element_type: ElementType) -> Array:
    """The value of an array of terms in a model."""
    array = np.empty(terms.shape, element_type.dtype)
    for index in np.ndindex(terms.shape):
        array[index] = in_model(model, terms[index], element_type)
    return array
