"""Attributes of opcodes that speak to other devices, or to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes.spec import Attrs, optional, required
from hlo.types.sharding import ReplicaGroups

if TYPE_CHECKING:
    from hlo.types.shape import Shape
    from hlo.types.values import DomainBorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective(Attrs):
    """Groups of devices that work together, and how they are numbered."""

    channel_id: int | None = optional("int", None)
    replica_groups: ReplicaGroups = optional("replica_groups", ReplicaGroups(), always=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveBroadcast(Collective):
    """Whether the root of each group comes at run time."""

    has_dynamic_root: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce(Collective):
    """Groups of an all-reduce."""

    constrain_layout: bool = optional("bool", default=False)
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("group_mode", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllGather(Collective):
    """Groups of an all-gather, and the dimension along which pieces are joined."""

    constrain_layout: bool = optional("bool", default=False)
    dimensions: tuple[int, ...] = required("ints")
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("group_mode", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReduceScatter(Collective):
    """Groups of a reduce-scatter, and the dimension that is cut."""

    constrain_layout: bool = optional("bool", default=False)
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("group_mode", "")
    dimensions: tuple[int, ...] = required("ints")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllToAll(Collective):
    """Groups of an all-to-all; in its array form the dimension that is cut and joined."""

    constrain_layout: bool = optional("bool", default=False)
    dimensions: tuple[int, ...] | None = optional("ints", None)
    use_global_device_ids: bool = optional("bool", default=False)
    mode: str = optional("group_mode", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RaggedAllToAll(Collective):
    """Groups of a ragged all-to-all."""

    mode: str = optional("group_mode", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePermute(Attrs):
    """Pairs of source and target devices; slice sizes in the in-place form."""

    channel_id: int | None = optional("int", None)
    source_target_pairs: tuple[tuple[int, ...], ...] = required("int_lists")
    slice_sizes: tuple[tuple[int, ...], ...] = optional("int_lists", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel(Attrs):
    """The channel of a send or receive; with the host, or between devices."""

    channel_id: int | None = optional("int", None)
    is_host_transfer: bool = optional("bool", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Infeed(Attrs):
    """Text for the device's infeed queue."""

    infeed_config: str = optional("string", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outfeed(Attrs):
    """The shape that is sent (the operand's own if None), and text for the outfeed queue."""

    outfeed_shape: Shape | None = optional("shape", None, always=True)
    outfeed_config: str = optional("string", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain(Attrs):
    """The shardings on both sides of the border."""

    domain: DomainBorder = required("domain")
