"""Modules that XLA's partitioner makes for several devices: the part of one of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import jax
import numpy as np
from jax._src.lib import _jax
from jaxlib import _hlo

import hlo

# Devices that the CPU is to stand for; told before JAX looks at it.
DEVICES = 8


def prepare() -> None:
    """Let the CPU stand for several devices."""
    jax.config.update("jax_num_cpu_devices", DEVICES)


def part_of_one_device(text: str) -> str:
    """The module that each device runs, before XLA optimizes it; the text if there is one device.

    XLA tells it only in the files that it dumps while it compiles.
    """
    header = hlo.parse(text).header
    partitions = header.num_partitions
    if partitions == 1:
        return text
    module = _hlo.hlo_module_from_text(text)
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    program = _jax.mlir.xla_computation_to_mlir_module(computation)
    devices = jax.devices("cpu")[:partitions]
    options = _jax.CompileOptions()
    build = options.executable_build_options
    build.num_partitions, build.use_spmd_partitioning = partitions, True
    results = header.allow_spmd_sharding_propagation_to_output
    build.allow_spmd_sharding_propagation_to_output = list(results)
    build.use_shardy_partitioner = "xla.sdy" in text
    build.device_assignment = _jax.DeviceAssignment.create(np.arange(partitions)[None])
    with tempfile.TemporaryDirectory() as folder:
        options.env_option_overrides = [
            ("xla_dump_to", folder),
            ("xla_dump_hlo_pass_re", "spmd-partition.*"),
        ]
        listed = _jax.DeviceList(tuple(devices))
        devices[0].client.compile_and_load(program, listed, options)
        found = sorted(Path(folder).glob("*.after_spmd-partition*.txt"))
        return found[-1].read_text()
