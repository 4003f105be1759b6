"""Origins of values in XLA's messages, as HLO text: origins, their table, and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.frontends.protobuf.shapes import quoted
from hlo.write.value_print import print_ints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Path = tuple[int, ...]


def origin_text(instr: Any) -> str:
    """The origin of a value, as a tree like its shape: `{({"a"}, {"b" {1}})}`."""
    origin = instr.original_value
    if origin.is_synthetic_call:
        return "{[synthetic_call]}"
    origins = {
        tuple(element.shape_index): array_text(element.original_array)
        for element in origin.elements
        if element.HasField("original_array")
    }
    return f"{{{_tree(instr.shape, origins, ())}}}"


def array_text(array: Any) -> str:
    """An array of the program at first: `{"while" {1}}`."""
    path = f" {print_ints(array.shape_index)}" if array.shape_index else ""
    return f"{{{quoted(array.instruction_name)}{path}}}"


def _tree(shape: Any, origins: Mapping[Path, str], at: Path) -> str:
    if at in origins or not is_tuple(shape):
        return origins.get(at, "{}")
    inner = (_tree(shape, origins, (*at, n)) for n, shape in enumerate(shape.tuple_shapes))
    return f"({', '.join(inner)})"


def is_tuple(shape: Any) -> bool:
    """Whether a message is about a tuple."""
    kinds = shape.DESCRIPTOR.fields_by_name["element_type"].enum_type.values_by_name
    return shape.element_type == kinds["TUPLE"].number


def recovery_text(table: Any, module_text: Callable[[Any], str]) -> str:
    """The recovery of values that passes have removed, as in the head of a module.

    Parameters
    ----------
    module_text : gives the text of a module in the table.
    """
    rows: list[str] = []
    for entry in table.entries:
        row = f"{array_text(entry.old_original_array)} : {array_text(entry.new_original_array)}"
        if entry.HasField("recovery_module"):
            row += f", {escaped(module_text(entry.recovery_module))}"
        rows.append(row)
    return f"{{ {' '.join(rows)} }}"


def escaped(text: str) -> str:
    """A text of several lines in quotes."""
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'


def statistics_text(statistics: Any) -> str:
    """The text of a profiler's statistics: `{visualizing_index=0,flops=1.5}`."""
    numbers = [f"{one.stat_name}={one.stat_val:.6g}" for one in statistics.statistics]
    return f"{{visualizing_index={statistics.stat_index_to_visualize},{','.join(numbers)}}}"
