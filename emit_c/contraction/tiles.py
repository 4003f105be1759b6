"""Register tiles: the innermost work of a contraction, as a C function of constant sizes.

A tile is a block of outputs, so many rows of so many vector lanes, that is summed up in registers.
For each step of the contraction, every row adds a product of a number of the input and one of the
kernel. One of them is the same for all lanes, or both differ from lane to lane; one of them is the
same for all rows. Strides are constants, so that addresses cost no instructions. All rows are
written out: a compiler takes twice as long for loops that it has to unroll first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from emit_c.code.types import is_narrow, narrowed, store, wide
from emit_c.opcodes.scalar import converted
from hlo.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from hlo.element_type import ElementType

# Bytes of the widest vectors, and of the narrowest that are worth having.
VECTOR_BYTES, LEAST_VECTOR_BYTES = 64, 16
# Rows whose sums fit into 32 registers, by how many vectors a row has; best first.
MOST_ROWS = {2: 14, 3: 9, 4: 6, 8: 3, 1: 28}
# Contractions of fewer steps are compiled with more effort.
SHORT = 128


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


def shapes_for(count: int, kind: ElementType) -> list[tuple[int, int]]:
    """Vectors of a row, and lanes of a vector, that tiles for `count` lanes may have."""
    full = VECTOR_BYTES // kind.bytes
    if count >= full:
        return [(vectors, full) for vectors in MOST_ROWS]
    lanes = LEAST_VECTOR_BYTES // kind.bytes
    while lanes < count:
        lanes *= 2
    return [(1, lanes)]


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
    # Short loops of known length are worth an effort.
    level = '"O2", ' if prod(size for size, _ in tile.steps) < SHORT else ""
    return (
        f"// {tile.rows} rows of {tile.width} outputs, in registers.\n"
        f'__attribute__((optimize({level}"fp-contract=fast")))\n'
        f"static void {name}(const {tile.kind} *restrict input, "
        f"const {tile.kind} *restrict kernel,\n"
        f"    {tile.target} *restrict output{last}) {{\n"
        "#ifdef __clang__\n  #pragma clang fp contract(fast)\n#endif\n"
        f"  typedef {tile.kind} lanes __attribute__(({vector}));\n"
        f"{_sums(tile)}{_contraction(tile)}{_storing(tile)}}}\n"
    )


def _sums(tile: Tile) -> str:
    """The registers, one for each row and vector."""
    rows = (
        ", ".join(f"sum_{row}_{v} = {{0}}" for v in range(tile.vectors)) for row in range(tile.rows)
    )
    return "".join(f"  lanes {row};\n" for row in rows)


def _contraction(tile: Tile) -> str:
    """The loops that sum up."""
    depth = len(tile.steps)
    lines = [
        f"{'  ' * k}for (s64 k{k} = 0; k{k} < {size}; k{k}++) {{"
        for k, (size, _) in enumerate(tile.steps)
    ]
    place = "".join(f" + {_times(f'k{k}', step)}" for k, (_, step) in enumerate(tile.steps))
    lines += [f"{'  ' * depth}{line}" for line in _step(tile, f"input{place}")]
    lines += ["  " * k + "}" for k in reversed(range(depth))]
    return "".join(f"  {line}\n" for line in lines)


def _step(tile: Tile, place: str) -> list[str]:
    """One step of the contraction: a product for each row and vector."""
    shared, x = _factors(tile, "x", tile.input_row, in_lanes=tile.input_lanes)
    others, w = _factors(tile, "w", tile.kernel_row, in_lanes=tile.kernel_lanes)
    products = (
        " ".join(f"sum_{row}_{v} += {x[row][v]} * {w[row][v]};" for v in range(tile.vectors))
        for row in range(tile.rows)
    )
    pointers = f"const {tile.kind} *x = {place}, *w = kernel;"
    return [pointers, *shared, *others, *products, f"kernel += {tile.kernel_step};"]


def _factors(
    tile: Tile, name: str, stride: int, *, in_lanes: bool
) -> tuple[list[str], list[list[str]]]:
    """What is loaded once for all rows; and each row's factors, vector by vector."""
    starts = [v * tile.lanes for v in range(tile.vectors)]
    if stride == 0 and in_lanes:
        loaded = [f"{name}_{v} = *(const lanes *)({name} + {s})" for v, s in enumerate(starts)]
        each = [f"{name}_{v}" for v in range(tile.vectors)]
        return [f"const lanes {', '.join(loaded)};"], [each] * tile.rows
    rows = [row * stride for row in range(tile.rows)]
    if in_lanes:
        return [], [[f"*(const lanes *)({name} + {row + s})" for s in starts] for row in rows]
    return [], [[f"{name}[{row}]"] * tile.vectors for row in rows]


def _storing(tile: Tile) -> str:
    """What becomes of the sums: whole vectors are stored if all lanes are outputs."""
    registers = (
        ", ".join(f"sum_{row}_{v}" for v in range(tile.vectors)) for row in range(tile.rows)
    )
    sums = ", ".join(f"{{{row}}}" for row in registers)
    copied = [f"lanes row[{tile.rows}][{tile.vectors}] = {{{sums}}};"]
    whole: list[str] = []
    if tile.output_lane == 1 and tile.kind is tile.target:
        whole = [_stored(tile, row, v) for row in range(tile.rows) for v in range(tile.vectors)]
    elif tile.output_lane == 1 or tile.full:
        whole = copied + _each_lane(tile, str(tile.width))
    if tile.full:
        return "".join(f"  {line}\n" for line in whole)
    if whole:
        whole = [f"if (count >= {tile.width}) {{", *(f"  {w}" for w in whole), "  return;", "}"]
    lines = [*whole, f"if (count > {tile.width}) count = {tile.width};", *copied]
    return "".join(f"  {line}\n" for line in [*lines, *_each_lane(tile, "count")])


def _stored(tile: Tile, row: int, v: int) -> str:
    """Store a vector, or add it to what is there."""
    there = f"*(lanes *)(output + {row * tile.output_row + v * tile.lanes})"
    value = f"sum_{row}_{v}"
    return f"{there} = {f'adds ? {there} + {value} : {value}' if tile.adds else value};"


def _each_lane(tile: Tile, count: str) -> list[str]:
    """Store one number after the other, in the order of memory."""
    place = f"output[{_times('i', tile.output_row)} + {_times('j', tile.output_lane)}]"
    value = result("sum", tile.kind, tile.target)
    if tile.adds and not is_narrow(tile.target):
        value = f"({value}) + (adds ? {place} : 0)"
    value = store(tile.target, value)
    loops = [f"for (s64 i = 0; i < {tile.rows}; i++) {{", f"for (s64 j = 0; j < {count}; j++) {{"]
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


def result(value: str, kind: ElementType, target: ElementType) -> str:
    """A sum in the result's type."""
    if wide(target) == wide(kind):
        return narrowed(target, value)
    return converted(value, ELEMENT_TYPES[wide(kind)], target)
