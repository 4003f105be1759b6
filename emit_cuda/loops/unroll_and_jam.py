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
    made = jam.block(plain)
    indices = (t for s in nested(plain) for e in trees(s) for t in walk(e) if isinstance(t, Index))
    if any(not jam.expanded.keys().isdisjoint(index.sum.names) for index in indices):
        return None
    return made if jam.has_vectors else None


def _varying(statements: Sequence[Statement], iteration: str) -> set[str]:
    """The names whose values differ between neighbours."""
    varying, before = {iteration}, 0
    while len(varying) > before:
        before = len(varying)
        for each in nested(statements):
            if isinstance(each, _STRAIGHT) and not varying.isdisjoint(own_names(each)):
                varying.add(base(each.target) if isinstance(each, Assign) else each.name)
    return varying


def _runs(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The straight statements, in runs that no loop or branch divides; inner ones, too."""
    runs: list[list[Statement]] = [[]]
    for each in statements:
        if isinstance(each, _STRAIGHT):
            runs[-1].append(each)
        else:
            runs += [run for block in blocks(each) for run in _runs(block)]
            runs.append([])
    return runs


def _expanded(statements: Sequence[Statement], varying: set[str]) -> dict[str, str]:
    """The types of varying values that several runs use, by name: scalar expansion is for them."""
    kinds: dict[str, str] = {}
    used_in: dict[str, set[int]] = {}
    for number, run in enumerate(_runs(statements)):
        for each in run:
            names = names_in([each])
            if isinstance(each, Let | LocalVariable):
                names.append(each.name)
                kinds[each.name] = str(each.kind)
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
        made: list[Statement] = []
        run: list[Statement] = []
        for each in statements:
            match each:
                case For():
                    made += self._finished(run)
                    made.append(each.with_body(self.block(each.body)))
                case If():
                    made += self._finished(run)
                    made.append(each.with_blocks(self.block(each.then), self.block(each.otherwise)))
                case _:
                    run.append(each)
        return made + self._finished(run)

    def _finished(self, run: list[Statement]) -> list[Statement]:
        """A run for all neighbours, which ends here; statements alike for all come first."""
        first: list[Statement] = []
        inside: list[Statement] = []
        for each in run:
            match each:
                case Let(_, name, value) if name in self.expanded:
                    first.append(LocalVariable(self.expanded[name], name, size=self.width))
                    inside.append(Assign(Name(name), value))
                case LocalVariable(_, name, value=value) if name in self.expanded:
                    first.append(LocalVariable(self.expanded[name], name, size=self.width))
                    if value is not None:
                        inside.append(Assign(Name(name), value))
                case Let(_, name) | LocalVariable(_, name) if name not in self.varying:
                    first.append(each)
                case _:
                    inside.append(each)
        run.clear()
        if not inside:
            return first
        loop, found = self.in_vectors([renamed(each, self.items) for each in inside])
        self.has_vectors = self.has_vectors or found
        return [*first, *loop]
