"""Gathers and scatters, with batches, and indices that map dimensions in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import S32, U8
from tests.divisible.maker import Maker, makes

if TYPE_CHECKING:
    from hlo.instruction import Instruction


class _Lookup:
    """The dimensions of an array, and of indices into it, with those of a batch.

    Attributes
    ----------
    array, indices : sizes.
    window : sizes of what is looked up, or updated: 1 in `gone` and `batching`.
    along : the dimension of the indices that holds a place; their number, where none does.
    """

    def __init__(self, m: Maker) -> None:
        shared = m.dims(0, 2)
        others, (places, self.batching) = m.placed(m.dims(1, 3 - len(shared)), shared)
        self.array = others
        self.gone = m.some(places)
        self.window = [
            1 if d in (*self.gone, *self.batching) else n if m.chance() else m.random.randint(1, n)
            for d, n in enumerate(others)
        ]
        self.mapped = m.some(places, least=1)
        m.random.shuffle(self.mapped)
        vector = () if len(self.mapped) == 1 and m.chance(0.4) else (len(self.mapped),)
        free = m.dims(0, 2)
        self.indices, (_, self.shared, along) = m.placed(free, shared, vector)
        self.along = along[0] if along else len(self.indices)
        self.batch = tuple(n for d, n in enumerate(self.indices) if d != self.along)
        gone = (*self.gone, *self.batching)
        self.kept = tuple(n for d, n in enumerate(self.window) if d not in gone)
        self.result, (self.offsets, _) = m.placed(self.kept, self.batch)


@makes("gather")
def _gather(m: Maker, opcode: str) -> Instruction:
    found = _Lookup(m)
    operands = m.given(m.kind(), *found.array), m.given(m.kind(S32, U8), *found.indices)
    return m.b.add(
        opcode, *operands, offset_dims=tuple(found.offsets),
        collapsed_slice_dims=tuple(found.gone), start_index_map=tuple(found.mapped),
        operand_batching_dims=tuple(found.batching),
        start_indices_batching_dims=tuple(found.shared), index_vector_dim=found.along,
        slice_sizes=tuple(found.window),
    )  # fmt: skip


@makes("scatter")
def _scatter(m: Maker, opcode: str) -> Instruction:
    found = _Lookup(m)
    kinds = [m.kind() for _ in range(1 + m.chance(0.2))]
    folding = m.by(m.random.choice(("add", "add", "maximum", "multiply")), *kinds)
    operands = [m.given(k, *found.array) for k in kinds]
    updates = [m.given(k, *found.result) for k in kinds]
    return m.b.add(
        opcode, *operands, m.given(S32, *found.indices), *updates, called=[folding],
        update_window_dims=tuple(found.offsets), inserted_window_dims=tuple(found.gone),
        scatter_dims_to_operand_dims=tuple(found.mapped),
        input_batching_dims=tuple(found.batching),
        scatter_indices_batching_dims=tuple(found.shared), index_vector_dim=found.along,
    )  # fmt: skip
