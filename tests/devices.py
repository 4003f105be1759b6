"""Runs a small module on several devices at once."""

import numpy as np

import interpreter
from hlo.read.parse import parse

ADD = "add { x = s32[] parameter(0)\n y = s32[] parameter(1)\n ROOT z = s32[] add(x, y) }\n"


def run(
    text: str, values: list[object], replicas: int = 1, partitions: int = 1
) -> list[np.ndarray]:
    header = f"HloModule m, replica_count={replicas}, num_partitions={partitions}\n"
    module = parse(header + ADD + text)
    return interpreter.evaluate(module, per_device=[(value,) for value in values])


def entry(instruction: str, operand: str = "s32[4]") -> str:
    return f"ENTRY main {{\n x = {operand} parameter(0)\n ROOT r = {instruction}\n}}"


def data(devices: int) -> list[np.ndarray]:
    return [np.arange(4, dtype=np.int32) + 10 * d for d in range(devices)]
