"""The rules of `hlo.lark` for plain values, windows, labels and annotations.

A method a rule. Each gets what its rule matched: tokens, results of inner rules, and None for
parts in brackets that were absent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lark import Token, Transformer

from hlo.errors.error import did_you_mean
from hlo.read.metadata_text import canonical_metadata
from hlo.read.quoting import keep_json, unquote
from hlo.read.rule_tools import BadValue, by, integer, integers, present
from hlo.types import values as val

_GROUP_MODES = ("cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id")
PRECISIONS = ("default", "high", "highest")
_WINDOW_FIELDS = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")


class ValueRules(Transformer[Token, Any]):
    """The rules for everything but shapes and devices."""

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
        """`0.001`, `-inf`: XLA keeps such a number, the epsilon of a batch norm, as an f32."""
        try:
            with np.errstate(over="ignore"):
                return float(np.float32(float(items[0])))
        except ValueError:
            raise BadValue("expects a number", items[0]) from None

    def word(self, items: Any) -> Any:
        """An identifier."""
        return str(items[0])

    def group_mode(self, items: Any) -> Any:
        """`cross_replica`: XLA reads how groups are numbered, and takes it from elsewhere."""
        if items[0] not in _GROUP_MODES:
            raise BadValue(f"a mode is {', '.join(_GROUP_MODES)}", items[0])
        return ""

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
        """`{{0,1},{2}}`: a list of values that an inner rule reads, like the next ones."""
        return present(items)

    # `bools` may also be one bare word, which makes a list of one.
    bools = shapes = slice_ranges = int_lists
    operand_aliases = input_output_alias = recovery_table = int_lists

    def buffer_donor(self, items: Any) -> Any:
        """`{ (0, {}), (1, {}) }`: a set, which XLA keeps in order."""
        return tuple(sorted(set(present(items)), key=val.BufferDonor.key))

    def precisions(self, items: Any) -> Any:
        """`{highest,default}`."""
        for item in present(items):
            if item.lower() not in PRECISIONS:
                raise BadValue(f"a precision is {', '.join(PRECISIONS)}", item)
        precisions = tuple(str(item).lower() for item in present(items))
        # XLA does not tell the default from its absence.
        return () if all(precision == "default" for precision in precisions) else precisions

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
        """`0_0_0x1_1`; nothing for a scalar, as XLA prints it but does not read it."""
        if items[0] is None:
            return ()
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
        batch, feature, spatial, unknown = _roles(inputs, "bf", rank, items[0])
        i, o, kernel_spatial, unknown_kernel = _roles(kernel, "io", rank, items[0])
        out_batch, out_feature, out_spatial, unknown_output = _roles(output, "bf", rank, items[0])
        return val.ConvDims(
            batch,
            feature,
            spatial,
            i,
            o,
            kernel_spatial,
            out_batch,
            out_feature,
            out_spatial,
            unknown,
            unknown_kernel,
            unknown_output,
        )

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

    # ---- attributes of any instruction

    def frontend_entry(self, items: Any) -> Any:
        """`key="value"`, the value kept with its quotes or braces."""
        return str(items[0]), keep_json(str(items[1]))

    def frontend_attributes(self, items: Any) -> Any:
        """`{a="1",b={2}}`, by key as XLA keeps them."""
        return val.FrontendAttributes(tuple(sorted(dict(present(items)).items())))

    def origin_leaf(self, items: Any) -> Any:
        """`{"a" {0}}`."""
        name, index = (*items, None)[:2]
        if name is None or not unquote(name):
            return "{}"
        path = " {" + ",".join(map(str, index)) + "}" if index else ""
        escaped = unquote(name).replace("\\", "\\\\").replace('"', '\\"')
        return f'{{"{escaped}"{path}}}'

    def origin_tuple(self, items: Any) -> Any:
        """`({"a"}, {"b"})`."""
        return "(" + ", ".join(present(items)) + ")"

    def origin_call(self, items: Any) -> Any:
        """`[synthetic_call]`."""
        if items[0] != "synthetic_call":
            raise BadValue("expects synthetic_call", items[0])
        return "[synthetic_call]"

    def recovery_row(self, items: Any) -> Any:
        """`{"a"} : {"b"}, "HloModule m ..."`: the module is left for who knows how to read one."""
        old, new, module = items
        return old.replace("{}", '{""}'), new.replace("{}", '{""}'), module

    def metadata_entry(self, items: Any) -> Any:
        """`op_name="a"`."""
        return items[0], items[1]

    def metadata(self, items: Any) -> Any:
        """`{op_type="a" op_name="b"}`."""
        return canonical_metadata(items)

    def origin(self, items: Any) -> Any:
        """`{({"a"}, {"b"})}`, kept as XLA writes it."""
        return "{" + ("".join(present(items)) or "()") + "}"

    def statistic(self, items: Any) -> Any:
        """`flops=1.5`."""
        return str(items[0]), items[1]

    def statistics(self, items: Any) -> Any:
        """`{visualizing_index=1,flops=1.5}`, kept as XLA writes it: "" where there are none."""
        entries = present(items)
        if not entries:
            return ""
        # XLA takes the first for the index, whatever its name.
        (_, index), *others = entries
        if index.type != "INT":
            raise BadValue("the index is an integer", index)
        for _, value in others:
            if value.type == "WORD" and value != "nan":
                raise BadValue("expects a number", value)
        values = ",".join(f"{name}={float(value):.6g}" for name, value in others)
        return f"{{visualizing_index={integer(index)},{values}}}" if others else ""

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
        ulps = bounds.pop("ulps", 0.0)
        if not 0 <= ulps < 2**63:  # NaN is neither
            raise BadValue("ulps is a number from 0 on", items[0])
        ulps = int(ulps)
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
                (n,), (of,) = by(item)
                operands[next(reversed(operands))] |= {"n": n, "m": of}
            elif item not in ("lhs", "rhs"):
                raise BadValue("expects lhs or rhs", item)
            else:
                operands[str(item)] = {}
        if not operands:
            return None
        return val.SparsityConfig(**{k: val.Sparsity(**v) for k, v in operands.items()})


def _roles(
    labels: str, letters: str, rank: int, token: Any
) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """The positions of the two letters, spatial and unknown dimensions among labels."""
    wanted = [*map(str, range(rank)), *letters]
    # Spatial dimensions are single digits, so there can't be more than ten.
    if sorted(labels.replace("?", "")) != sorted(wanted):
        raise BadValue(f"`{labels}` does not name {', '.join(wanted)}, each once", token)
    spatial = tuple(labels.index(str(d)) for d in range(rank))
    unknown = tuple(i for i, c in enumerate(labels) if c == "?")
    return labels.index(letters[0]), labels.index(letters[1]), spatial, unknown
