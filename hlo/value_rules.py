"""What each rule of `values.lark` builds: plain values, shapes, windows, dimension labels.

A method a rule. Each gets what its rule matched: tokens, results of inner rules, and None for
parts in brackets that were absent.
"""

from __future__ import annotations

import re
from typing import Any

from lark import Token, Transformer

from hlo import values as val
from hlo.element_type import ELEMENT_TYPES
from hlo.error import did_you_mean
from hlo.shape import (
    OPAQUE_SHAPE,
    TOKEN_SHAPE,
    UNBOUNDED,
    Layout,
    Shape,
    buffer_of,
    row_major,
    tuple_of,
)

INT64 = range(-(2**63), 2**63)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_BRACE = re.compile(r'[{}]|"(?:\\.|[^"\\])*"')
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "'": "\\'"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_WINDOW_FIELDS = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")


class BadValue(Exception):  # noqa: N818
    """A value that the grammar reads but that means nothing; `token` is where, if known."""

    def __init__(self, message: str, token: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.token = token if isinstance(token, Token) else None


def unquote(text: str) -> str:
    """The characters that a quoted string stands for."""
    body = text[1:-1]
    return _ESCAPE.sub(_unescape, body) if "\\" in body else body


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x":
        return chr(int(code[1:], 16))
    return chr(int(code, 8) % 256) if code.isdigit() else _ESCAPES.get(code, code)


def quote(text: str) -> str:
    """A string in double quotes, escaped as C does."""
    parts: list[str] = []
    for byte in text.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        if char in _ESCAPED:
            parts.append(_ESCAPED[char])
        else:
            parts.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def keep_json(text: str) -> str:
    """A string or JSON dictionary as XLA writes it: a string that is a dictionary loses its quotes."""
    if text[0] not in "\"'":
        return text
    content = unquote(text)
    return content if _is_dictionary(content) else quote(content)


def _is_dictionary(text: str) -> bool:
    """Whether the braces of a text open at its start and close at its end."""
    depth = 0
    for match in _BRACE.finditer(text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return text[0] == "{" and match.end() == len(text)
    return False


def integer(token: Any) -> int:
    number = int(token)
    if number not in INT64:
        raise BadValue("integer does not fit into 64 bits", token)
    return number


def integers(tokens: Any) -> tuple[int, ...]:
    return tuple(integer(t) for t in tokens if t is not None)


def present(items: Any) -> tuple[Any, ...]:
    return tuple(item for item in items if item is not None)


def by(token: Any) -> tuple[tuple[int, ...], ...]:
    """The numbers of `1_2x3_4`: a tuple for each dimension."""
    return tuple(tuple(map(int, part.split("_"))) for part in str(token).split("x"))


class ValueRules(Transformer[Token, Any]):
    """The rules for everything but devices."""

    # ---- plain values

    def int(self, items: Any) -> Any:
        """`3`."""
        return integer(items[0])

    def bool(self, items: Any) -> Any:
        """`true`, `false`."""
        if items[0] not in ("true", "false"):
            raise BadValue("expects true or false", items[0])
        return items[0] == "true"

    def float(self, items: Any) -> Any:
        """`0.001`, `-inf`."""
        try:
            return float(items[0])
        except ValueError:
            raise BadValue("expects a number", items[0]) from None

    def word(self, items: Any) -> Any:
        """An identifier."""
        return str(items[0])

    def string(self, items: Any) -> Any:
        """A quoted string."""
        return unquote(items[0])

    def quoted(self, items: Any) -> Any:
        """A quoted name."""
        return unquote(items[0])

    def ints(self, items: Any) -> Any:
        """`{0,1}`."""
        return integers(items)

    def int_lists(self, items: Any) -> Any:
        """`{{0,1},{2}}`: a list of what an inner rule reads, like the next ones."""
        return present(items)

    bools = shapes = slice_ranges = int_lists
    operand_aliases = input_output_alias = buffer_donor = int_lists

    def precisions(self, items: Any) -> Any:
        """`{highest,default}`."""
        found = tuple(str(item).lower() for item in present(items))
        # XLA does not tell the default from its absence.
        return () if all(precision == "default" for precision in found) else found

    # ---- shapes and layouts

    def tuple_shape(self, items: Any) -> Any:
        """`(f32[], s32[])`."""
        return tuple_of(*present(items))

    def buffer_shape(self, items: Any) -> Any:
        """`b(f32[4])`."""
        return buffer_of(items[1])

    def array_shape(self, items: Any) -> Any:
        """`f32[2,<=3]{1,0}`, `token[]`, `opaque[]`."""
        name, *dims, layout = items
        if name == "token":
            return TOKEN_SHAPE
        if name == "opaque":
            return OPAQUE_SHAPE
        element_type = ELEMENT_TYPES.get(str(name))
        if element_type is None or not element_type.is_array:
            hint = "".join(did_you_mean(name, [*ELEMENT_TYPES, "token"]))
            raise BadValue(f"`{name}` is no element type" + (f": {hint}" if hint else ""), name)
        pairs = present(dims)
        sizes = tuple(size for size, _ in pairs)
        dynamic = tuple(is_dynamic for _, is_dynamic in pairs)
        if layout is None:
            layout = row_major(len(sizes))
        elif sorted(layout.minor_to_major) != list(range(len(sizes))):
            raise BadValue("the layout does not order the dimensions of the shape", name)
        return Shape(element_type, sizes, layout, dynamic if any(dynamic) else ())

    def static_dim(self, items: Any) -> Any:
        """`4`."""
        size = integer(items[0])
        if size < 0:
            raise BadValue("a dimension can't have a negative size", items[0])
        return size, False

    def bounded_dim(self, items: Any) -> Any:
        """`<=4`."""
        return self.static_dim(items)[0], True

    def unbounded_dim(self, _: Any) -> Any:
        """`?`."""
        return UNBOUNDED, True

    def layout(self, items: Any) -> Any:
        """`{1,0:T(8,128)S(1)}`."""
        order = [i for i in items if isinstance(i, Token)]
        parts: dict[str, Any] = {}
        for part in items:
            if isinstance(part, dict):
                parts |= part
        return Layout(integers(order), **parts)

    def dim_levels(self, _: Any) -> Any:
        """`D(D,C)`: sparse levels, which XLA reads and drops."""
        return {}

    def tiles(self, items: Any) -> Any:
        """`T(8,128)(2,1)`."""
        return {"tiles": tuple(present(items))}

    def tile(self, items: Any) -> Any:
        """`(8,128)`; -1 stands for `*`."""
        return tuple(-1 if t == "*" else integer(t) for t in present(items))

    def tail_padding(self, items: Any) -> Any:
        """`L(1024)`."""
        return {"tail_padding": integer(items[-1])}

    def index_type(self, items: Any) -> Any:
        """`#(u32)`."""
        return {"index_type": str(items[0])}

    def pointer_type(self, items: Any) -> Any:
        """`*(u32)`."""
        return {"pointer_type": str(items[-1])}

    def element_bits(self, items: Any) -> Any:
        """`E(4)`."""
        return {"element_bits": integer(items[-1])}

    def memory_space(self, items: Any) -> Any:
        """`S(5)`."""
        return {"memory_space": integer(items[-1])}

    def splits(self, items: Any) -> Any:
        """`SC(1:200,300)`."""
        return {"splits": tuple(present(items))}

    def split(self, items: Any) -> Any:
        """`(1:200,300)`."""
        return integer(items[0]), integers(items[1:])

    def metadata_bytes(self, items: Any) -> Any:
        """`M(8)`."""
        return {"dynamic_metadata_bytes": integer(items[-1])}

    def computation_layout(self, items: Any) -> Any:
        """`{(f32[2])->f32[2]}`."""
        return val.ComputationLayout(present(items[:-1]), items[-1])

    # ---- windows, paddings, slices, dimension labels

    def window_field(self, items: Any) -> Any:
        """`size=2x2`."""
        if items[0] not in _WINDOW_FIELDS:
            hint = "".join(did_you_mean(items[0], _WINDOW_FIELDS))
            raise BadValue(f"`{items[0]}` is no part of a window {hint}".rstrip(), items[0])
        return items[0], by(items[1])

    def window(self, items: Any) -> Any:
        """`{size=2x2 stride=1x2 pad=0_0x1_1}`."""
        fields = dict(items)
        if len(fields) < len(items):
            raise BadValue("a part of the window is given twice", items[0][0])
        if not fields:
            return ()
        if "size" not in fields:
            raise BadValue("window has no size", items[0][0])
        rank = len(fields["size"])
        for name, numbers in fields.items():
            if len(numbers) != rank:
                raise BadValue(f"window has {rank} sizes but {len(numbers)} of {name}", name)
            if any(len(n) != (2 if name == "pad" else 1) for n in numbers):
                raise BadValue(f"window's {name} is misshapen", name)
        one = tuple((1,) for _ in range(rank))
        zero = tuple((0,) for _ in range(rank))
        get = fields.get
        return tuple(
            val.WindowDim(size, stride, low, high, base, dilation, bool(flip))
            for (size,), (stride,), (low, high), (base,), (dilation,), (flip,) in zip(
                fields["size"],
                get("stride", one),
                get("pad", tuple((0, 0) for _ in range(rank))),
                get("lhs_dilate", one),
                get("rhs_dilate", one),
                get("rhs_reversal", zero),
                strict=True,
            )
        )

    def padding(self, items: Any) -> Any:
        """`0_0_0x1_1`."""
        if any(len(n) not in (2, 3) for n in by(items[0])):
            raise BadValue("padding is low_high or low_high_interior", items[0])
        return tuple(val.PaddingDim(*n) for n in by(items[0]))

    def slice_range(self, items: Any) -> Any:
        """`[0:8:2]`."""
        return val.SliceDim(*integers(items))

    def dim_labels(self, items: Any) -> Any:
        """`b01f_01io->b01f`."""
        text = unquote(items[0]) if items[0][0] in "\"'" else str(items[0])
        inputs, _, rest = text.partition("_")
        kernel, arrow, output = rest.partition("->")
        if not arrow:
            raise BadValue("dimension labels are input_kernel->output", items[0])
        rank = sum(c.isdigit() for c in inputs)
        roles = []
        for labels, letters in ((inputs, "bf"), (kernel, "io"), (output, "bf")):
            if sorted(labels.replace("?", "")) != sorted("".join(map(str, range(rank))) + letters):
                raise BadValue(f"`{labels}` is no labelling by {letters} and digits", items[0])
            unknown = tuple(i for i, c in enumerate(labels) if c == "?")
            spatial = tuple(labels.index(str(d)) for d in range(rank))
            roles.append((labels.index(letters[0]), labels.index(letters[1]), spatial, unknown))
        (ib, if_, is_, iu), (ki, ko, ks, ku), (ob, of, os, ou) = roles
        return val.ConvDims(ib, if_, is_, ki, ko, ks, ob, of, os, iu, ku, ou)

    # ---- buffers

    def operand_alias(self, items: Any) -> Any:
        """`{0}: (1, {})`."""
        output, operand, index = items
        return val.OutputOperandAlias(output, integer(operand), index)

    def module_alias(self, items: Any) -> Any:
        """`{0}: (1, {}, may-alias)`."""
        output, parameter, index, kind = items
        if kind not in (None, "may-alias", "must-alias"):
            raise BadValue("expects may-alias or must-alias", kind)
        return val.InputOutputAlias(output, integer(parameter), index, kind == "must-alias")

    def donor(self, items: Any) -> Any:
        """`(0, {})`."""
        parameter, index = items
        return val.BufferDonor(integer(parameter), index)

    # ---- what any instruction may carry

    def frontend_entry(self, items: Any) -> Any:
        """`key="value"`, the value kept with its quotes or braces."""
        return str(items[0]), keep_json(str(items[1]))

    def frontend_attributes(self, items: Any) -> Any:
        """`{a="1",b={2}}`, by key as XLA keeps them."""
        return val.FrontendAttributes(tuple(sorted(dict(present(items)).items())))

    def origin_leaf(self, items: Any) -> Any:
        """`{"a" {0}}`."""
        name, index = (*items, None)[:2]
        inner = [str(name)] if name is not None else []
        if index:
            inner.append("{" + ", ".join(map(str, index)) + "}")
        return "{" + " ".join(inner) + "}"

    def origin_tuple(self, items: Any) -> Any:
        """`({"a"}, {"b"})`."""
        return "(" + ", ".join(present(items)) + ")"

    def origin_call(self, items: Any) -> Any:
        """`[synthetic_call]`."""
        return f"[{items[0]}]"

    def origin(self, items: Any) -> Any:
        """`{({"a"}, {"b"})}`, kept as XLA writes it."""
        return "{" + "".join(present(items)) + "}"

    def accuracy_mode(self, items: Any) -> Any:
        """`{mode=highest}`."""
        mode = str(items[1]).lower()
        if items[0] != "mode" or mode not in ("default", "highest"):
            raise BadValue("the mode is default or highest", items[1])
        return None if mode == "default" else val.ResultAccuracy(mode)

    def tolerance(self, items: Any) -> Any:
        """`atol=1.0`."""
        if items[0] not in ("atol", "rtol", "ulps"):
            raise BadValue("a tolerance is atol, rtol or ulps", items[0])
        return str(items[0]), self.float([items[1]])

    def result_accuracy(self, items: Any) -> Any:
        """`{tolerance={atol=1.0,rtol=0,ulps=10}}`."""
        if items[0] != "tolerance":
            raise BadValue("expects mode or tolerance", items[0])
        bounds = dict(present(items[1:]))
        ulps = int(bounds.pop("ulps", 0))
        return val.ResultAccuracy("tolerance", **bounds, ulps=ulps)

    def sparsity_field(self, items: Any) -> Any:
        """`dimension=1`."""
        if items[0] not in ("dimension", "stride"):
            raise BadValue("expects dimension or stride", items[0])
        return str(items[0]), integer(items[1])

    def sparsity_config(self, items: Any) -> Any:
        """`{lhs={sparsity=1x4 dimension=1 stride=1}}`."""
        operands: dict[str, dict[str, int]] = {}
        for item in items:
            if isinstance(item, tuple):
                operands[next(reversed(operands))][item[0]] = item[1]
            elif item.type == "BY":
                (kept,), (of,) = by(item)
                operands[next(reversed(operands))] |= {"n": kept, "m": of}
            elif item not in ("lhs", "rhs"):
                raise BadValue("expects lhs or rhs", item)
            else:
                operands[str(item)] = {}
        return val.SparsityConfig(**{k: val.Sparsity(**v) for k, v in operands.items()})
