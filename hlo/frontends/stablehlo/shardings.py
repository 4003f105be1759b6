"""Shardings of operations, arguments and results, and other words for XLA, as HLO keeps them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hlo.attributes import GetTupleElement
from hlo.attributes.annotations import Annotations
from hlo.errors.error import HloError
from hlo.frontends.stablehlo.operation import Tagged
from hlo.read.quoting import keep_json, quote
from hlo.read.value_text import read
from hlo.sharded import SHARDING
from hlo.types.sharding import Sharding
from hlo.types.shardy import ShardyError, devices_of, mesh_text, shardings_of, tiled
from hlo.types.values import FrontendAttributes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.build import Builder
    from hlo.errors.error import Span
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.types.sharding import Mesh

    Attributes = Mapping[str, Any]


_COMMENT = re.compile(r"/\*.*?\*/")  # XLA counts elements of long tuples: /*index=5*/


def several_devices(meshes: Mapping[str, Mesh]) -> bool:
    """Whether there is anything to divide: `jax.random.split` asks for it on one device, too."""
    return any(devices_of(mesh) > 1 for mesh in meshes.values())


def sharding_of(
    attributes: Attributes, shapes: Sequence[Shape], meshes: Mapping[str, Mesh], span: Span | None
) -> Sharding | None:
    """The sharding of one value, or of a tuple of them; None if the attributes say none.

    Parameters
    ----------
    shapes : of the values.

    Raises
    ------
    HloError
        HLO013 if it names a mesh or an axis that there is not.
    """
    text = attributes.get("mhlo.sharding")
    if isinstance(text, str) and text.startswith("{"):
        return read("sharding", _COMMENT.sub("", text), span)
    written = shardy_text(attributes.get("sdy.sharding"))
    if not written or not several_devices(meshes):
        return None
    try:
        named = shardings_of(written, meshes)
        if len(named) != len(shapes) or any(one.unreduced for one in named):
            return None
        ranked = zip(named, shapes, strict=True)
        tiles = tuple(tiled(one, shape.rank) for one, shape in ranked)
    except ShardyError as error:
        raise HloError("HLO013", f"a sharding can't be read: {error}", span) from None
    return tiles[0] if len(tiles) == 1 else Sharding("tuple", elements=tiles)


def own_sharding(sharding: Sharding, shapes: Sequence[Shape], new: Instruction) -> Sharding | None:
    """The part of an operation's sharding that is that of one of the instructions it becomes.

    The operation's value, or the tuple of its values, has all of it, and an element of the tuple
    its own. An instruction of another rank, which only helps, has none.

    Parameters
    ----------
    shapes : of the operation's values.
    """
    if len(shapes) == 1:
        alike = new.shape.is_tuple == shapes[0].is_tuple and new.shape.rank == shapes[0].rank
        return sharding if alike else None
    if new.shape.is_tuple:
        return sharding if len(new.shape.elements) == len(shapes) else None
    whole = new.operands[0].shape if new.opcode == "get-tuple-element" else None
    if whole is None or len(whole.elements) != len(shapes):
        return None
    return sharding.elements[GetTupleElement.of(new).index] if sharding.elements else sharding


def shardy_text(sharding: object) -> str:
    """Shardy's text of a sharding; "" if it is something else."""
    return str(sharding.words[0]) if isinstance(sharding, Tagged) and sharding.words else ""


def frontend_attributes(
    attributes: Attributes, meshes: Mapping[str, Mesh]
) -> FrontendAttributes | None:
    """The strings that HLO carries along; None if there are none."""
    entries_written: Any = attributes.get("mhlo.frontend_attributes", {})
    entries = {str(key): str(value) for key, value in entries_written.items()}
    written = shardy_text(attributes.get("sdy.sharding"))
    if written and several_devices(meshes):
        entries[SHARDING] = written
    spelled = sorted((key, keep_json(quote(value))) for key, value in entries.items())
    return FrontendAttributes(tuple(spelled)) if spelled else None


def per_value(text: str) -> FrontendAttributes:
    """The attribute that holds the sharding of a call's only value."""
    listed = f"#sdy.sharding_per_value<[{text.removeprefix('#sdy.sharding')}]>"
    return FrontendAttributes(((SHARDING, quote(listed)),))


def divided_root(
    builder: Builder,
    values: Sequence[Instruction],
    attributes: Sequence[Attributes],
    meshes: Mapping[str, Mesh],
    span: Span | None,
) -> Instruction | None:
    """The root whose sharding is that of the results, as XLA imports it; None if they have none.

    Parameters
    ----------
    attributes : of each result.
    """
    pairs = list(zip(values, attributes, strict=False))
    shardings = [sharding_of(own, [value.shape], meshes, span) for value, own in pairs]
    if not any(shardings):
        return None
    marked: list[Instruction] = []
    for value, own in pairs:
        text = shardy_text(own.get("sdy.sharding"))
        called: dict[str, Any] = {
            "shape": value.shape,
            "custom_call_target": "xla.sdy.FuncResultSharding",
            "custom_call_has_side_effect": True,
            "annotations": Annotations(frontend_attributes=per_value(text)),
        }
        marked.append(builder.add("custom-call", value, **called) if text else value)
    said = tuple(sharding or Sharding("replicated") for sharding in shardings)
    if len(said) == 1:
        whole = builder.add("tuple", *marked)
        return builder.add("get-tuple-element", whole, index=0, annotations=Annotations(said[0]))
    whole = Sharding("tuple", elements=said)
    return builder.add("tuple", *marked, annotations=Annotations(whole))


def meshes_text(meshes: Mapping[str, Mesh]) -> str:
    """The meshes as a module's header holds them."""
    return "{" + ", ".join(f"{name} = {mesh_text(mesh)}" for name, mesh in meshes.items()) + "}"
