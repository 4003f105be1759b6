"""Opcodes and attributes that XLA has removed, from 2017 on, and today's words for them.

They are not read: XLA itself refuses them, and some meant more than today's word. Dumps of old
versions have them, so that the error says what takes their place.

Source: the history of `xla/hlo/ir/hlo_opcode.h` and of `xla/hlo/parser/hlo_parser.cc`.
"""

from __future__ import annotations

from typing import Final

# fmt: off
OPCODES: Final = {
    "equal-to":                 "compare(a, b), direction=EQ",
    "not-equal-to":             "compare(a, b), direction=NE",
    "greater-than":             "compare(a, b), direction=GT",
    "greater-than-or-equal-to": "compare(a, b), direction=GE",
    "less-than":                "compare(a, b), direction=LT",
    "less-than-or-equal-to":    "compare(a, b), direction=LE",
    "logical-and":              "and(a, b)",
    "logical-or":               "or(a, b)",
    "logical-not":              "not(a)",
    "cross-replica-sum":        "all-reduce(a), to_apply=add",
    "all-reduce-scatter":       "reduce-scatter(a), dimensions={0}, to_apply=add",
    "generate-token":           "after-all()",
    "tuple-select":             "a select of each element, and a tuple of these",
    "index":                    "dynamic-slice(a, i), dynamic_slice_sizes={1}",
    "update":                   "dynamic-update-slice(a, b, i)",
    "host-compute":             "custom-call(a), custom_call_target=\"name\"",
    "trace":                    "nothing: `hlo run --trace` shows values",
}
# By the opcode, "" for any, and the attribute.
ATTRIBUTES: Final = {
    ("gather", "output_window_dims"):          "offset_dims",
    ("gather", "elided_window_dims"):          "collapsed_slice_dims",
    ("gather", "gather_dims_to_operand_dims"): "start_index_map",
    ("gather", "window_bounds"):               "slice_sizes",
    ("all-reduce", "all_reduce_id"):           "channel_id",
    ("all-reduce", "barrier"):                 "nothing: it can be left out",
    ("all-gather", "all_gather_dimension"):    "dimensions",
    ("reduce-scatter", "scatter_dimension"):   "dimensions",
    ("custom-call", "opaque"):                 "backend_config",
    ("copy-start", "is_cross_program_prefetch"): "cross_program_prefetch_index=0",
    ("map", "static_operands"):                "nothing: it can be left out",
    ("dot", "precision_config"):               "operand_precision",
    ("convolution", "precision_config"):       "operand_precision",
    ("async-start", "async_group_id"):         "nothing: each start has one done",
    ("async-update", "async_group_id"):        "nothing: each start has one done",
    ("async-done", "async_group_id"):          "nothing: each start has one done",
    ("", "outer_dimension_partitions"):        "a field of backend_config",
    ("HloModule", "dynamic_parameter_binding"):
        "set-dimension-size(parameter, size), dimensions={0} in the entry",
}
# Attributes that opcodes did not need at first.
NEEDED_SINCE: Final = {
    ("sort", "to_apply"):
        "sorts of 2018 rose by the first operand: to_apply=less, compare(a, b), direction=LT",
}
# fmt: on


def old_opcode(word: str) -> tuple[str, ...]:
    """The hint for an opcode that XLA has removed; () for other words."""
    return _hint(OPCODES.get(word))


def old_attribute(opcode: str, key: str) -> tuple[str, ...]:
    """The hint for an attribute that XLA has removed; () for other words."""
    return _hint(ATTRIBUTES.get((opcode, key)) or ATTRIBUTES.get(("", key)))


def old_form(opcode: str, key: str) -> tuple[str, ...]:
    """The hint for an opcode without an attribute that it did not need at first."""
    form = NEEDED_SINCE.get((opcode, key))
    return (form,) if form else ()


def _hint(today: str | None) -> tuple[str, ...]:
    if today is None:
        return ()
    if today.startswith("nothing: "):
        return (f"XLA has removed it; {today.removeprefix('nothing: ')}",)
    quoted = today if " of " in today or " in the " in today else f"`{today}`"
    return (f"XLA has removed it; today it is {quoted}",)
