"""Unroll-and-jam: a thread's neighbours go through the loops of an element together.

    sum = 0                                       for v: sum[v] = 0
    for w:                                        for w:
      if (inside(w)):                =>             if (inside(w)):
        sum += load_bf16(x[w * 8 + v])                xs = ((bf16x8 *)x)[w]
    y[v] = sum                                        for v: sum[v] += load_bf16(xs[v])
                                                  ys = sum; ((bf16x8 *)y)[0] = ys

The elements of windows, as a convolution or pooling has them, are so loaded several at once, and
where a window begins is computed once for all of them. A scalar that lives across several loops
becomes an array of one element a neighbour (*scalar expansion*).

References
----------
Allen and Kennedy, *Optimizing Compilers for Modern Architectures*, 2001, section 8.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Expr, Index, Name, item
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    base,
    blocks,
    names_in,
    nested,
    own_names,
    renamed,
    scalar,
    trees,
)
from codegen.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.statements import Statement

    # Gives statements of one iteration as a loop over all, with vectors; and whether it has some.
    InVectors = Callable[[Sequence[Statement]], tuple[list[Statement], bool]]

_STRAIGHT = Let, Assign, LocalVariable


def jammed(
    statements: Sequence[Statement], iteration: str, width: int, in_vectors: InVectors
) -> list[Statement] | None:
    """The statements for all neighbours, with a loop over them in the innermost blocks.

    Returns
    -------
    list
        None where neighbours branch differently, or nothing can be loaded or stored at once.
    """
    plain = scalar(statements)
    if not all(isinstance(s, (*_STRAIGHT, For, If)) for s in nested(plain)):
        return None
    varying = _varying(plain, iteration)
    assigned = (base(s.target) for s in nested(plain) if isinstance(s, Assign))
    if not varying.issuperset(assigned):
        return None
    branches = (s for s in nested(plain) if isinstance(s, For | If))
    if not all(varying.isdisjoint(own_names(s)) for s in branches):
        return None
    jam = _Jam(varying, _expanded(plain, varying), iteration, width, in_vectors)
    block = jam.block(plain)
    indices = (t for s in nested(plain) for e in trees(s) for t in walk(e) if isinstance(t, Index))
    if any(not jam.expanded.keys().isdisjoint(index.sum.names) for index in indices):
        return None
    return block if jam.has_vectors else None


def _varying(statements: Sequence[Statement], iteration: str) -> set[str]:
    """The names whose values differ between neighbours."""
    varying, before = {iteration}, 0
    while len(varying) > before:
        before = len(varying)
        for s in nested(statements):
            if isinstance(s, _STRAIGHT) and not varying.isdisjoint(own_names(s)):
                varying.add(base(s.target) if isinstance(s, Assign) else s.name)
    return varying


def _runs(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The straight statements, in runs that no loop or branch divides; inner ones, too."""
    runs: list[list[Statement]] = [[]]
    for statement in statements:
        if isinstance(statement, _STRAIGHT):
            runs[-1].append(statement)
        else:
            runs += [run for block in blocks(statement) for run in _runs(block)]
            runs.append([])
    return runs


def _expanded(statements: Sequence[Statement], varying: set[str]) -> dict[str, str]:
    """The types of varying values that several runs use, by name: scalar expansion is for them."""
    kinds: dict[str, str] = {}
    used_in: dict[str, set[int]] = {}
    for number, run in enumerate(_runs(statements)):
        for statement in run:
            names = names_in([statement])
            if isinstance(statement, Let | LocalVariable):
                names.append(statement.name)
                kinds[statement.name] = str(statement.kind)
            for name in names:
                used_in.setdefault(name, set()).add(number)
    return {n: k for n, k in kinds.items() if n in varying and len(used_in[n]) > 1}


class _Jam:
    """Writes the statements for all neighbours.

    Attributes
    ----------
    expanded : the types of values that become arrays, with an element for each neighbour.
    has_vectors : whether something is loaded or stored at once.
    """

    def __init__(
        self,
        varying: set[str],
        expanded: dict[str, str],
        iteration: str,
        width: int,
        in_vectors: InVectors,
    ) -> None:
        self.varying, self.expanded, self.width = varying, expanded, width
        self.in_vectors, self.has_vectors = in_vectors, False
        self.items: dict[str, Expr] = {n: item(Name(n), Name(iteration)) for n in expanded}

    def block(self, statements: Sequence[Statement]) -> list[Statement]:
        """A block for all neighbours."""
        result: list[Statement] = []
        run: list[Statement] = []
        for part in statements:
            match part:
                case For():
                    result += self._finished(run)
                    result.append(part.with_body(self.block(part.body)))
                case If():
                    result += self._finished(run)
                    result.append(
                        part.with_blocks(self.block(part.then), self.block(part.otherwise))
                    )
                case _:
                    run.append(part)
        return result + self._finished(run)

    def _finished(self, run: list[Statement]) -> list[Statement]:
        """A run for all neighbours, which ends here; statements alike for all come first."""
        first: list[Statement] = []
        inside: list[Statement] = []
        for part in run:
            match part:
                case Let(_, name, value) if name in self.expanded:
                    first.append(LocalVariable(self.expanded[name], name, size=self.width))
                    inside.append(Assign(Name(name), value))
                case LocalVariable(_, name, value=value) if name in self.expanded:
                    first.append(LocalVariable(self.expanded[name], name, size=self.width))
                    if value is not None:
                        inside.append(Assign(Name(name), value))
                case Let(_, name) | LocalVariable(_, name) if name not in self.varying:
                    first.append(part)
                case _:
                    inside.append(part)
        run.clear()
        if not inside:
            return first
        loop, wide = self.in_vectors([renamed(part, self.items) for part in inside])
        self.has_vectors = self.has_vectors or wide
        return [*first, *loop]
