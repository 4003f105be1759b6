"""The options with which JAX compiles a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo_jax.abi.proto import bytes_field, fields, number_field, packed, varint
from hlo_jax.private.programs import check_options, compile_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Compiler options of PyHLO, as in `jax.jit(f, compiler_options={"pyhlo_engine": "c"})`.
OWN_OPTIONS = ("pyhlo_engine", "pyhlo_subnormals", "pyhlo_threads")


class OptionError(ValueError):
    """A compiler option that there is not, or a value that it can't have."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """The options of a program beside its text.

    Attributes
    ----------
    devices : numbers of the devices, by replica and then by partition; empty if JAX leaves them to
        the client.
    use_shardy : whether shardings are those of Shardy, or of GSPMD.
    propagate_to_parameters, propagate_to_output : whether the partitioner may choose shardings.
    overrides : compiler options of PyHLO that the user gave.
    """

    num_replicas: int
    num_partitions: int
    devices: tuple[int, ...]
    use_shardy: bool
    propagate_to_parameters: tuple[bool, ...]
    propagate_to_output: tuple[bool, ...]
    overrides: Mapping[str, str]
    serialized: bytes

    def assignment(self, devices: Sequence[int]) -> bytes:
        """The devices as a DeviceAssignmentProto, which has a list for each partition."""
        columns = [devices[k :: self.num_partitions] for k in range(self.num_partitions)]
        head = number_field(1, self.num_replicas) + number_field(2, self.num_partitions)
        lists = (bytes_field(1, b"".join(map(varint, column))) for column in columns)
        return head + b"".join(bytes_field(3, column) for column in lists)


def read_options(serialized: bytes) -> CompileOptions:
    """The options in a CompileOptionsProto.

    Raises
    ------
    OptionError
        If there is a compiler option that neither PyHLO nor XLA has. Those of XLA are checked, by
        XLA itself, but mean nothing here.
    """
    given = compile_options(serialized)
    build = given.executable_build_options
    replicas, partitions = build.num_replicas or 1, build.num_partitions or 1
    assignment = build.device_assignment or given.device_assignment
    devices: tuple[int, ...] = ()
    if assignment is not None:
        replicas, partitions = assignment.replica_count(), assignment.computation_count()
        devices = device_numbers(assignment.serialize())
    overrides: dict[str, Any] = dict(given.env_option_overrides)
    foreign = [(name, value) for name, value in overrides.items() if name not in OWN_OPTIONS]
    if foreign and (wrong := check_options(foreign)):
        raise OptionError(wrong)
    return CompileOptions(
        num_replicas=replicas,
        num_partitions=partitions,
        devices=devices,
        use_shardy=bool(build.use_shardy_partitioner),
        propagate_to_parameters=tuple(build.allow_spmd_sharding_propagation_to_parameters),
        propagate_to_output=tuple(build.allow_spmd_sharding_propagation_to_output),
        overrides={name: str(value) for name, value in overrides.items()},
        serialized=serialized,
    )


def device_numbers(assignment: bytes) -> tuple[int, ...]:
    """The devices of a DeviceAssignmentProto, by replica and then by partition."""
    columns = [
        packed(content)
        for number, message in fields(assignment)
        if number == 3 and isinstance(message, bytes)
        for _, content in fields(message)
        if isinstance(content, bytes)
    ]
    return tuple(device for row in zip(*columns, strict=True) for device in row)
