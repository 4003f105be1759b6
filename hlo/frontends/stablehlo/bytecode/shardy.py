"""Shardy's attributes, which become the text that `hlo.types.shardy` reads.

Source: `shardy/dialect/sdy/ir/bytecode.td` in openxla/shardy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.frontends.stablehlo.operation import Tagged

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.frontends.stablehlo.bytecode.cursor import Cursor
    from hlo.frontends.stablehlo.bytecode.entries import Entries, Read


def _text(entries: Entries, at: Cursor) -> str:
    """The text of the attribute whose number comes next."""
    value = entries.attribute(at)
    if not isinstance(value, Tagged) or not value.name.startswith("sdy") or not value.words:
        raise at.broken("a part of a sharding is none")
    return str(value.words[-1]).removeprefix("#sdy.sharding")


def _list(entries: Entries, at: Cursor) -> str:
    return ", ".join(_text(entries, at) for _ in range(at.count()))


def _manual_axes(entries: Entries, at: Cursor) -> Tagged:
    return Tagged("sdy", ("manual_axes", entries.attributes(at)), {})


def _axis_size(entries: Entries, at: Cursor) -> str:
    return f'"{entries.string(at)}"={at.signed()}'


def _mesh(entries: Entries, at: Cursor) -> str:
    axes, devices = _list(entries, at), at.signed_list()
    listed = f", device_ids={list(devices)}" if devices else ""
    return f"#sdy.mesh<[{axes}]{listed}>"


def _axis(entries: Entries, at: Cursor) -> str:
    name, (part, has_part) = entries.string(at), at.flagged()
    if not has_part:
        return f'"{name}"'
    return f'"{name}":{entries.numbered_attribute(at, part).words[0]}'


def _dimension(entries: Entries, at: Cursor) -> str:
    axes, is_closed, (priority, has_priority) = _list(entries, at), at.byte(), at.flagged()
    inside = ", ".join(filter(None, (axes, "" if is_closed else "?")))
    return f"{{{inside}}}{f'p{priority}' if has_priority else ''}"


def _sharding(*, has_unreduced: bool) -> Callable[[Entries, Cursor], str]:
    def read(entries: Entries, at: Cursor) -> str:
        mesh = entries.attribute(at)
        named = f"@{mesh}" if isinstance(mesh, str) else str(mesh.words[-1]).removeprefix("#sdy.")
        text = f"{named}, [{_list(entries, at)}]"
        for key in ("replicated", "unreduced")[: 1 + has_unreduced]:
            axes = _list(entries, at)
            text += f", {key}={{{axes}}}" if axes else ""
        return f"#sdy.sharding<{text}>"

    return read


def _tagged(name: str, text: Callable[[Entries, Cursor], str]) -> Read:
    return lambda entries, at: Tagged(f"sdy.{name}", (text(entries, at),), {})


SHARDY_ATTRIBUTES: dict[int, Read] = {
    0: _manual_axes,
    1: _tagged("mesh_axis", _axis_size),
    2: _tagged("mesh", _mesh),
    3: _tagged("sub_axis_info", lambda _, at: f"({at.signed()}){at.signed()}"),
    4: _tagged("axis_ref", _axis),
    5: _tagged("dimension_sharding", _dimension),
    6: _tagged("sharding", _sharding(has_unreduced=False)),
    7: _tagged("sharding_per_value", lambda e, at: f"#sdy.sharding_per_value<[{_list(e, at)}]>"),
    # How an operation may be divided; it is divided by its opcode here.
    10: lambda _entries, _at: Tagged("sdy.op_sharding_rule", (), {}),
    15: _tagged("sharding", _sharding(has_unreduced=True)),
    16: _tagged("sharding_per_value", lambda e, at: f"#sdy.sharding_per_value<[{_list(e, at)}]>"),
}
