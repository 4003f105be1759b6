"""JAX's questions about the plugin, its client, devices and memories: once, at the beginning."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from hlo_jax.abi.members import members
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.abi.structs import DeviceMemoryStats
from hlo_jax.mlir import stablehlo_versions
from hlo_jax.plugin.client import client, make_client
from hlo_jax.plugin.errors import PjrtError
from hlo_jax.plugin.memory import kept, kept_numbers, named_values, no_deleter, text
from hlo_jax.plugin.processes import others_of
from hlo_jax.plugin.table import answers
from hlo_jax.private.versions import PLATFORM, jaxlib_version
from hlo_jax.shim import shim

if TYPE_CHECKING:
    from hlo_jax.abi import structs as s
    from hlo_jax.plugin.client import PjrtDevice, PjrtMemory

# ------------------------------------------------------------------------------------- plugin

_ATTRIBUTES = named_values({"xla_version": 0})


@answers("PJRT_Plugin_Initialize")
def initialize(_args: s.PluginInitialize) -> None:
    """Compile or load the plugin's library, so that a missing compiler shows here."""
    shim()


@answers("PJRT_Plugin_Attributes")
def plugin_attributes(args: s.PluginAttributes) -> None:
    """The versions of StableHLO that are read: those of jaxlib, which reads it for PyHLO.

    A plugin that says none is sent the oldest version that jaxlib can write, and operations which
    are younger, such as asynchronous collectives, are refused.
    """
    args.attributes, args.num_attributes = _plugin_attributes()


@cache
def _plugin_attributes() -> tuple[int, int]:
    """The address of the plugin's attributes, which are kept for good, and their count."""
    oldest, newest = stablehlo_versions()
    versions = {"stablehlo_minimum_version": oldest, "stablehlo_current_version": newest}
    return kept(named_values(versions)), len(versions)


# ------------------------------------------------------------------------------------- client


@answers("PJRT_Client_Create")
def create(args: s.ClientCreate) -> None:
    """Make the client, which knows of other processes if JAX does."""
    args.client = make_client(others_of(args)).handle


@answers("PJRT_Client_PlatformName", "PJRT_TopologyDescription_PlatformName")
def platform_name(args: s.Text) -> None:
    """The name under which the plugin is registered."""
    args.text, args.text_size = text(PLATFORM)


@answers("PJRT_Client_PlatformVersion", "PJRT_TopologyDescription_PlatformVersion")
def platform_version(args: s.Text) -> None:
    """The versions of PyHLO and of jaxlib, which the key of JAX's compilation cache holds."""
    args.text, args.text_size = text(f"PyHLO {version('pyhlo')}, jaxlib {jaxlib_version()}")


@answers("PJRT_Client_ProcessIndex")
def process_index(args: s.ClientProcessIndex) -> None:
    """The number of this process."""
    args.process_index = client().process


@answers("PJRT_DeviceDescription_ProcessIndex")
def process_index_of_device(args: s.DeviceDescriptionProcessIndex) -> None:
    """The process that has the device."""
    args.process_index = _device(args.device_description).process


@answers("PJRT_Client_AddressableDevices")
def addressable_devices(args: s.ClientDevices) -> None:
    """The devices of this process."""
    args.devices, args.num_devices = kept_numbers([d.handle for d in client().local])


@answers("PJRT_Client_Devices", "PJRT_TopologyDescription_GetDeviceDescriptions")
def devices(args: s.ClientDevices) -> None:
    """All devices."""
    args.devices, args.num_devices = kept_numbers([d.handle for d in client().devices])


@answers("PJRT_Client_LookupDevice")
def lookup_device(args: s.ClientLookupDevice) -> None:
    """A device by its number."""
    (found,) = client().numbered([args.id])
    args.device = found.handle


@answers("PJRT_Client_LookupAddressableDevice")
def lookup_local_device(args: s.ClientLookupDevice) -> None:
    """A device of this process by its number among them."""
    found = next((d for d in client().local if d.local_number == args.id), None)
    if found is None:
        raise PjrtError(ErrorCode.INVALID_ARGUMENT, f"this process has no device {args.id}")
    args.device = found.handle


@answers("PJRT_Client_AddressableMemories")
def memories(args: s.ClientAddressableMemories) -> None:
    """The memories of this process's devices."""
    address, count = kept_numbers([m.handle for d in client().local for m in d.memories])
    args.addressable_memories, args.num_addressable_memories = address, count


@answers("PJRT_Client_DefaultDeviceAssignment")
def default_device_assignment(args: s.ClientDefaultDeviceAssignment) -> None:
    """The first devices, in their order."""
    count = args.num_replicas * args.num_partitions
    if count > args.default_assignment_size:
        raise PjrtError(ErrorCode.INVALID_ARGUMENT, f"no room for the numbers of {count} devices")
    client().numbered(range(count))
    (ctypes.c_int * count).from_address(args.default_assignment)[:] = range(count)


@answers("PJRT_Client_TopologyDescription")
def topology(args: s.ClientTopologyDescription) -> None:
    """The client itself."""
    args.topology = client().handle


@answers("PJRT_TopologyDescription_Create")
def create_topology(_args: s.TopologyCreate) -> None:
    """Raise an error: a program that is compiled for absent devices could run nowhere else."""
    message = "topology not implemented: PyHLO's devices are known by its client only"
    raise PjrtError(ErrorCode.UNIMPLEMENTED, message)


@answers("PJRT_TopologyDescription_Attributes")
def topology_attributes(args: s.TopologyAttributes) -> None:
    """None."""
    args.attributes, args.num_attributes = ctypes.addressof(_ATTRIBUTES), 0


@answers("PJRT_TopologyDescription_Serialize")
def serialize_topology(args: s.TopologySerialize) -> None:
    """The bytes that tell one machine's devices from another's."""
    found = f"{PLATFORM} {len(client().devices)} {platform.machine()}"
    args.serialized_bytes, args.serialized_bytes_size = text(found)
    args.serialized_topology, args.serialized_topology_deleter = 0, no_deleter()


# ------------------------------------------------------------------------------------ devices


def _device(handle: int) -> PjrtDevice:
    return client().by_handle[handle]


@answers("PJRT_Device_GetDescription")
def description(args: s.DeviceGetDescription) -> None:
    """The description of a device, which is the device itself."""
    args.device_description = args.device


@answers("PJRT_DeviceDescription_Id")
def device_id(args: s.DeviceDescriptionId) -> None:
    """Its number."""
    args.id = _device(args.device_description).number


@answers("PJRT_Device_LocalHardwareId")
def local_hardware_id(args: s.DeviceLocalHardwareId) -> None:
    """Its number among those of its process."""
    args.local_hardware_id = _device(args.device).local_number


@answers("PJRT_DeviceDescription_Kind")
def device_kind(args: s.Text) -> None:
    """The kind of device as XLA calls it, which is the processor for every device."""
    args.text, args.text_size = text("cpu")


@answers("PJRT_DeviceDescription_DebugString", "PJRT_DeviceDescription_ToString")
def device_text(args: s.Text) -> None:
    """A device as text."""
    args.text, args.text_size = text(f"PyhloDevice(id={_device(args.of).number})")


@answers("PJRT_DeviceDescription_Attributes")
def device_attributes(args: s.DeviceDescriptionAttributes) -> None:
    """None."""
    args.num_attributes, args.attributes = 0, ctypes.addressof(_ATTRIBUTES)


@answers("PJRT_Device_GetAttributes")
def get_attributes(args: s.DeviceGetAttributes) -> None:
    """None."""
    args.attributes, args.num_attributes = ctypes.addressof(_ATTRIBUTES), 0
    args.device_attributes, args.attributes_deleter = 0, no_deleter()


@answers("PJRT_Device_IsAddressable")
def is_addressable(args: s.DeviceIsAddressable) -> None:
    """Those of this process are."""
    args.is_addressable = _device(args.device).process == client().process


@answers("PJRT_Device_AddressableMemories")
def device_memories(args: s.DeviceAddressableMemories) -> None:
    """The three memories of a device."""
    found = [memory.handle for memory in _device(args.device).memories]
    args.memories, args.num_memories = kept_numbers(found)


@answers("PJRT_Device_DefaultMemory")
def default_memory(args: s.DeviceDefaultMemory) -> None:
    """The one of the kind "device"."""
    args.memory = _device(args.device).memories[0].handle


@answers("PJRT_Device_MemoryStats")
def memory_stats(args: s.DeviceMemoryStats) -> None:
    """The bytes that the shim counted; memory of other owners is left out."""
    record = _device(args.device).record
    for name in members(DeviceMemoryStats):
        if name.endswith("_is_set"):
            setattr(args, name, False)
    args.bytes_in_use, args.peak_bytes_in_use = record.bytes, record.peak
    args.num_allocs, args.largest_alloc_size = record.allocations, record.largest
    args.peak_bytes_in_use_is_set = True
    # The devices of a process share its machine's memory.
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    args.bytes_limit = args.bytes_reservable_limit = machine // len(client().devices)
    args.bytes_limit_is_set = args.bytes_reservable_limit_is_set = True
    args.num_allocs_is_set = args.largest_alloc_size_is_set = True


# ----------------------------------------------------------------------------------- memories


def _memory(handle: int) -> PjrtMemory:
    return client().memories[handle]


@answers("PJRT_Memory_Id")
def memory_id(args: s.MemoryNumber) -> None:
    """Its number among all memories."""
    args.number = _memory(args.memory).record.id


@answers("PJRT_Memory_Kind_Id")
def memory_kind_id(args: s.MemoryNumber) -> None:
    """The number of its kind."""
    args.number = _memory(args.memory).kind_number


@answers("PJRT_Memory_DebugString", "PJRT_Memory_ToString")
def memory_text(args: s.Text) -> None:
    """A memory as text."""
    found = _memory(args.of)
    args.text, args.text_size = text(f"{found.kind} of PyhloDevice(id={found.device.number})")


@answers("PJRT_Memory_AddressableByDevices")
def memory_devices(args: s.MemoryAddressableByDevices) -> None:
    """The device that has it."""
    args.devices, args.num_devices = kept_numbers([_memory(args.memory).device.handle])
