"""Register tiles: the innermost work of a contraction, as a C function of constant sizes.

A tile is a block of outputs, so many rows of so many vector lanes, that is summed up in registers.
For each step of the contraction, every row adds a product of a number of the input and one of the
kernel. One of them is the same for all lanes, or both differ from lane to lane; one of them is the
same for all rows. Strides are constants, so that addresses cost no instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from emit_c.code.types import is_narrow, narrowed, store, wide
from emit_c.opcodes.scalar import converted
from hlo.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from hlo.element_type import ElementType

# Bytes of the widest vectors, and of the narrowest that are worth having.
VECTOR_BYTES, LEAST_VECTOR_BYTES = 64, 16
# Rows whose sums fit into 32 registers, by how many vectors a row has; best first.
MOST_ROWS = {2: 14, 3: 9, 4: 6, 1: 28}


@dataclass(frozen=True, slots=True)
class Tile:
    """The sizes of a tile; steps are in elements.

    Attributes
    ----------
    kind : the type in which products are summed up.
    target : the type of the outputs.
    rows, vectors, lanes : outputs of a tile: rows * (vectors * lanes).
    steps : size, and step in the input, of each loop of the contraction.
    input_row, kernel_row, output_row : from row to row; 0 where all rows share a number.
    kernel_step : from one step of the contraction to the next.
    input_lanes, kernel_lanes : whether the numbers differ from lane to lane; then they are
        neighbours.
    output_lane : from lane to lane.
    full : whether all lanes are outputs in every tile.
    adds : whether tiles may have to add to what the output holds.
    """

    kind: ElementType
    target: ElementType
    rows: int
    vectors: int
    lanes: int
    steps: tuple[tuple[int, int], ...]
    input_row: int
    kernel_row: int
    output_row: int
    kernel_step: int
    input_lanes: bool
    kernel_lanes: bool
    output_lane: int
    full: bool
    adds: bool

    @property
    def width(self) -> int:
        """Outputs of a row."""
        return self.vectors * self.lanes


def lanes_for(count: int, kind: ElementType) -> tuple[int, int]:
    """Vectors of a row and lanes of a vector that waste the fewest of `count` lanes."""
    full = VECTOR_BYTES // kind.bytes
    if count >= full:
        waste = {v: -count % (v * full) for v in MOST_ROWS}
        return min(MOST_ROWS, key=lambda v: waste[v]), full
    lanes = LEAST_VECTOR_BYTES // kind.bytes
    while lanes < count:
        lanes *= 2
    return 1, lanes


def rows_for(count: int, vectors: int) -> int:
    """Rows of a tile, so that `count` rows are cut into the fewest tiles of about equal sizes."""
    tiles = -(-count // MOST_ROWS[vectors])
    return -(-count // tiles)


def tile_text(tile: Tile, name: str) -> str:
    """A C function that computes a tile.

    It is given pointers to the tile's input, kernel and output; unless all lanes are outputs, how
    many of them are; and if it may have to, whether to add to what the output holds.
    Multiplications and additions may be fused: the order in which a contraction is summed up is
    open anyway.
    """
    last = ("" if tile.full else ", s64 count") + (", int adds" if tile.adds else "")
    vector = f"vector_size({tile.lanes * tile.kind.bytes}), aligned({tile.kind.bytes})"
    return (
        f"// {tile.rows} rows of {tile.width} outputs, in registers.\n"
        '__attribute__((optimize("O2", "fp-contract=fast")))\n'
        f"static void {name}(const {tile.kind} *restrict input, "
        f"const {tile.kind} *restrict kernel,\n"
        f"    {tile.target} *restrict output{last}) {{\n"
        "#ifdef __clang__\n  #pragma clang fp contract(fast)\n#endif\n"
        f"  enum {{ ROWS = {tile.rows}, VECTORS = {tile.vectors}, LANES = {tile.lanes} }};\n"
        f"  typedef {tile.kind} lanes __attribute__(({vector}));\n"
        f"  lanes sums[ROWS][VECTORS] = {{0}};\n{_contraction(tile)}{_storing(tile)}}}\n"
    )


def _contraction(tile: Tile) -> str:
    """The loops that sum up."""
    lines: list[str] = []
    for number, (size, _) in enumerate(tile.steps):
        lines.append(f"{'  ' * number}for (s64 k{number} = 0; k{number} < {size}; k{number}++) {{")
    place = "".join(f" + {_times(f'k{n}', step)}" for n, (_, step) in enumerate(tile.steps))
    inner = "  " * len(tile.steps)
    x, w = _times("i", tile.input_row), _times("i", tile.kernel_row)
    x = f"*(const lanes *)(x + {x} + v * LANES)" if tile.input_lanes else f"x[{x}]"
    w = f"*(const lanes *)(w + {w} + v * LANES)" if tile.kernel_lanes else f"w[{w}]"
    unrolled = [
        f"const {tile.kind} *x = input{place}, *w = kernel;",
        *_each(f"sums[i][v] += {x} * {w};"),
        f"kernel += {tile.kernel_step};",
    ]
    lines += [f"{inner}{line}" for line in unrolled]
    lines += ["  " * number + "}" for number in reversed(range(len(tile.steps)))]
    return "".join(f"  {line}\n" for line in lines)


def _storing(tile: Tile) -> str:
    """What becomes of the sums: whole vectors are stored if all lanes are outputs."""
    copied = ["lanes row[ROWS][VECTORS];", *_each("row[i][v] = sums[i][v];")]
    whole: list[str] = []
    if tile.output_lane == 1 and tile.kind is tile.target:
        lane = f"*(lanes *)(output + {_times('i', tile.output_row)} + v * LANES)"
        value = f"adds ? {lane} + sums[i][v] : sums[i][v]" if tile.adds else "sums[i][v]"
        whole = _each(f"{lane} = {value};")
    elif tile.output_lane == 1 or tile.full:
        whole = copied + _each_lane(tile, str(tile.width))
    if tile.full:
        return "".join(f"  {line}\n" for line in whole)
    if whole:
        whole = [f"if (count >= {tile.width}) {{", *(f"  {w}" for w in whole), "  return;", "}"]
    lines = [*whole, f"if (count > {tile.width}) count = {tile.width};", *copied]
    return "".join(f"  {line}\n" for line in [*lines, *_each_lane(tile, "count")])


def _each_lane(tile: Tile, count: str) -> list[str]:
    """Store one number after the other, in the order of memory."""
    place = f"output[{_times('i', tile.output_row)} + {_times('j', tile.output_lane)}]"
    value = result("sum", tile.kind, tile.target)
    if tile.adds and not is_narrow(tile.target):
        value = f"({value}) + (adds ? {place} : 0)"
    value = store(tile.target, value)
    loops = ["for (s64 i = 0; i < ROWS; i++) {", f"for (s64 j = 0; j < {count}; j++) {{"]
    if tile.output_lane > tile.output_row:
        loops.reverse()
    return [
        loops[0],
        "  #pragma omp simd",
        f"  {loops[1]}",
        f"    const {tile.kind} sum = (({tile.kind} *)row[i])[j];",
        f"    {place} = {value};",
        "  }",
        "}",
    ]


def _times(name: str, step: int) -> str:
    return {0: "0", 1: name}.get(step, f"{name} * {step}")


def _each(statement: str) -> list[str]:
    """A statement for all rows and vectors, without loops."""
    return [
        "#pragma GCC unroll 28",
        "for (int i = 0; i < ROWS; i++) {",
        "  #pragma GCC unroll 4",
        f"  for (int v = 0; v < VECTORS; v++) {statement}",
        "}",
    ]


def result(value: str, kind: ElementType, target: ElementType) -> str:
    """A sum in the result's type."""
    if wide(target) == wide(kind):
        return narrowed(target, value)
    return converted(value, ELEMENT_TYPES[wide(kind)], target)
