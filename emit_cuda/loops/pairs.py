"""Arithmetic of 16-bit floats by pairs: two neighbours share a register, and an instruction.

    for v < 8, step 1                           for v < 8, step 2
      const f32 y = narrow_bf16(x[v] + x[v])      const u32 y = add_pairs_bf16(x[v / 2], x[v / 2])
      out[v] = store_bf16(exp_f32(y))             out[v / 2] = pair_bf16(exp_f32(low_of_bf16(y)),
                                                                       exp_f32(high_of_bf16(y)))

A loop over neighbours takes two of its iterations at once: see `pair_loops`. The arrays that it
reads and writes by pairs alone become arrays of pairs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Cast, Load, Name
from codegen.kinds import Pointer, Vector, number_of
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    base,
    names_in,
    nested,
    replaced,
    trees,
)
from codegen.walk import walk
from emit_cuda.loops.pair_loops import TYPES, PairLoop, number_of_pair, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from codegen.elements.names import Names
    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.statements import Statement


def in_pairs(statements: Sequence[Statement], names: Names) -> tuple[Statement, ...]:
    """Statements whose loops over neighbours compute with pairs; the same ones if none does.

    Parameters
    ----------
    names : those of the kernel, for more of them.
    """
    own = tuple(statements)
    loops = [s for s in nested(own) if isinstance(s, For) and _takes_two(s)]
    arrays = _arrays_of_pairs(own, loops) if loops else {}
    if not arrays:
        return own
    values: dict[str, str] = {}
    for s in nested(own):
        if isinstance(s, Let) and s.kind == "f32" and (kind := type_of(s.value, values)):
            values[s.name] = kind
    chosen = {id(loop) for loop in loops if not arrays.keys().isdisjoint(names_in(loop.body))}

    def change(s: Statement) -> Sequence[Statement] | None:
        if isinstance(s, For) and id(s) in chosen:
            return PairLoop(s, arrays, values, names).statements()
        return _declared(s, arrays)

    return replaced(own, change)


def _takes_two(loop: For) -> bool:
    """Whether two iterations of a loop may run side by side, statement by statement."""
    whole = loop.unroll and loop.start == 0 and loop.step == 1 and isinstance(loop.stop, int)
    if not whole or loop.stop % 2 or not all(isinstance(s, Let | Assign) for s in loop.body):
        return False
    mentioned = names_in(loop.body)
    # What an iteration changes, no other statement reads.
    changes = [(s, base(s.target)) for s in loop.body if isinstance(s, Assign)]
    return all(mentioned.count(name) == names_in([s]).count(name) for s, name in changes)


def _arrays_of_pairs(statements: Sequence[Statement], loops: Iterable[For]) -> dict[str, str]:
    """The local arrays and vectors that loops take by pairs alone, and their element types."""
    declared = [s for s in nested(statements) if isinstance(s, Let | LocalVariable)]
    kinds = {s.name: kind for s in declared if (kind := _element_type(s))}
    if not kinds:
        return kinds
    left = Counter(names_in(statements))
    left.subtract(_mentions_of_pairs(statements, loops))
    return {name: kind for name, kind in kinds.items() if not left[name]}


def _element_type(statement: Let | LocalVariable) -> str:
    """The type of the elements of a local array or vector, of 16 bits each and an even number."""
    kind, size = statement.kind, 1
    if isinstance(statement, LocalVariable) and statement.size:
        size = statement.size
    elif isinstance(kind, Vector):
        kind, size = kind.of, kind.count
    return number_of(kind) if kind in TYPES and size % 2 == 0 else ""


def _mentions_of_pairs(statements: Sequence[Statement], loops: Iterable[For]) -> Iterator[str]:
    """The arrays of which loops take pairs, and vectors that are stored whole, at each mention."""
    for loop in loops:
        for part in (p for s in loop.body for tree in trees(s) for p in walk(tree)):
            match part:
                case Load(Name(array), index) if number_of_pair(index, loop.name) is not None:
                    yield array
                case _:
                    pass
    for statement in nested(statements):
        if isinstance(statement, Assign) and isinstance(statement.value, Name):
            yield statement.value.name


def _declared(statement: Statement, arrays: Mapping[str, str]) -> Sequence[Statement] | None:
    """A statement outside of the loops about an array of pairs, as that; None for others."""
    match statement:
        case Let(kind, name, value) if name in arrays:
            return [Let(_of_pairs(kind), name, _cast_to_pairs(value))]
        case LocalVariable(kind, name, size=None) if name in arrays:
            return [replace(statement, kind=_of_pairs(kind))]
        case LocalVariable(_, name, size=size) if name in arrays and size:
            return [replace(statement, kind="u32", size=size // 2)]
        case Assign(target, Name(name)) if name in arrays:
            return [Assign(_cast_to_pairs(target), Name(name))]
        case _:
            return None


def _of_pairs(kind: Kind) -> Vector:
    """The type of a vector, as pairs."""
    assert isinstance(kind, Vector), kind
    return Vector("u32", kind.count // 2)


def _cast_to_pairs(tree: Expr) -> Expr:
    """A vector in memory, as pairs."""
    match tree:
        case Load(Cast(Pointer(to, const), pointer), index) if not isinstance(to, Pointer):
            return Load(Cast(Pointer(_of_pairs(to), const), pointer), index)
        case _:
            raise AssertionError(tree)
