"""The attributes and types of VHLO and of MLIR itself, by their codes in bytecode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.frontends.stablehlo import numbers
from hlo.frontends.stablehlo.bytecode.codes import BUILTIN_SCALARS, SCALARS, SIGNS, WORDS
from hlo.frontends.stablehlo.bytecode.container import found
from hlo.frontends.stablehlo.bytecode.entries import UNKNOWN, Entries, element_type_of
from hlo.frontends.stablehlo.bytecode.shardy import SHARDY_ATTRIBUTES
from hlo.frontends.stablehlo.operation import Tagged
from hlo.types.shape import OPAQUE_SHAPE, TOKEN_SHAPE, buffer_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.frontends.stablehlo.bytecode.cursor import Cursor
    from hlo.frontends.stablehlo.bytecode.entries import Read, Readers


def _bound(size: int) -> Any:
    return "?" if size == UNKNOWN else size


_FIELDS: dict[str, Read] = {
    "attribute": Entries.attribute,
    "optional": Entries.optional_attribute,
    "flagged": lambda entries, at: entries.attribute(at) if at.number() else None,
    "signed": lambda _, at: at.signed(),
    "list": lambda _, at: at.signed_list(),
    "bounds": lambda _, at: [_bound(size) for size in at.signed_list()],
    "f64": lambda entries, at: entries.real(at, "f64"),
}


def _tagged(name: str, /, **fields: str) -> Read:
    """Reads an attribute of StableHLO with fields; those that are not given are left out."""

    def read(entries: Entries, at: Cursor) -> Tagged:
        values = {key: _FIELDS[kind](entries, at) for key, kind in fields.items()}
        arguments = {key: value for key, value in values.items() if value is not None}
        return Tagged(f"stablehlo.{name}", (), arguments)

    return read


def _word(words: Sequence[str]) -> Read:
    def read(_: Entries, at: Cursor) -> str:
        return found(words, at.number(), at)

    return read


def _always(value: Any) -> Read:
    return lambda _entries, _at: value


def _integer_type(_: Entries, at: Cursor) -> str:
    width, sign = divmod(at.number(), 4)
    return f"{SIGNS[min(sign, 2)]}i{width}"


def _complex_type(entries: Entries, at: Cursor) -> str:
    return f"complex<{entries.type(at)}>"


def _small_array(entries: Entries, at: Cursor) -> tuple[Any, ...]:
    kind = element_type_of(entries.type(at), at)
    at.number()  # how many
    return tuple(np.frombuffer(at.blob(), kind.dtype).tolist())


_VHLO_TYPES: dict[int, Read] = {
    **{code: _always(name) for code, name in SCALARS.items()},
    1: _complex_type,
    8: _always(OPAQUE_SHAPE),  # of a function
    20: Entries.tensor,
    21: Entries.bounded_tensor,
    22: _always(TOKEN_SHAPE),
    23: Entries.tuple,
    24: _always(f"{numbers.FOREIGN}uniform"),
    30: _always(f"{numbers.FOREIGN}uniform"),
    33: _always(None),  # of what is not given
    41: lambda entries, at: buffer_of(entries.tensor(at)),
    42: _always(OPAQUE_SHAPE),  # of a future, whose operation tells its shape
}
_VHLO_ATTRIBUTES: dict[int, Read] = {
    **{code: _word(words) for code, words in WORDS.items()},
    1: Entries.attributes,
    2: lambda _, at: at.number() != 0,
    5: lambda _, at: at.number(),  # the version of a custom call's interface
    6: Entries.dictionary,
    8: lambda entries, at: entries.real(at, entries.type(at)),
    9: lambda entries, at: entries.integer(at, entries.type(at)),
    10: _tagged(
        "output_operand_alias",
        output_tuple_indices="list", operand_index="signed", operand_tuple_indices="list",
    ),
    14: Entries.string,
    15: lambda entries, at: entries.numbers(at, entries.value_type(at)),
    17: Entries.type,
    18: _tagged("type_extensions", bounds="bounds"),
    20: _tagged("result_accuracy", atol="f64", rtol="f64", ulps="signed", mode="attribute"),
    21: _tagged("sub_axis_info", pre_size="signed", size="signed"),
    22: _tagged("axis_ref", name="attribute", sub_axis_info="flagged"),
    23: _tagged("replica_group_mesh_axes", mesh="attribute", axes="attribute"),
    24: _tagged("mesh_axis", name="attribute", size="signed"),
    25: _tagged("mesh", axes="attribute", device_ids="optional"),
}  # fmt: skip
_BUILTIN_TYPES: dict[int, Read] = {
    **{code: _always(name) for code, name in BUILTIN_SCALARS.items()},
    0: _integer_type,
    2: _always(OPAQUE_SHAPE),
    9: _complex_type,
    12: _always(None),
    13: Entries.tensor,
    14: Entries.bounded_tensor,
    15: Entries.tuple,
}
_BUILTIN_ATTRIBUTES: dict[int, Read] = {
    0: Entries.attributes,
    1: Entries.dictionary,
    2: Entries.string,
    3: Entries.string,
    4: Entries.attribute,  # a symbol, by its name
    5: Entries.attribute,
    6: Entries.type,
    7: _always(True),
    8: lambda entries, at: entries.integer(at, entries.type(at)),
    9: lambda entries, at: entries.real(at, entries.type(at)),
    10: Entries.attribute,  # the place of a call: what was called, not by whom
    11: lambda entries, at: ("file", entries.attribute(at), at.number()),
    12: lambda entries, at: entries.attribute(at) if at.count() else None,
    13: lambda entries, at: entries.attribute(at) if at.count() else None,
    14: lambda entries, at: ("named", entries.attribute(at), entries.attribute(at)),
    15: _always(None),
    17: _small_array,
    18: lambda entries, at: entries.numbers(at, entries.value_type(at)),
    # From a line to a line, of which the first one is told.
    22: lambda entries, at: ("file", entries.attribute(at), at.number() if at.count() else 0),
}
READERS: Readers = {
    ("vhlo", True): _VHLO_TYPES,
    ("vhlo", False): _VHLO_ATTRIBUTES,
    ("builtin", True): _BUILTIN_TYPES,
    ("builtin", False): _BUILTIN_ATTRIBUTES,
    ("sdy", False): SHARDY_ATTRIBUTES,
}
