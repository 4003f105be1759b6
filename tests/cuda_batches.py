"""Many modules in one file of CUDA C: a compiler takes a second for all instead of one for each.

They run on this processor; where `PYHLO_TESTS_ON_GPU=1` is set, those that nothing checks run on a
GPU, three times each: as launches, while a graph is recorded, and as that graph.
"""

import os
import random
from dataclasses import dataclass, field
from functools import cache

import pytest

import emit_cuda
import interpreter
from codegen.expressions import Apply, Cast, Load
from codegen.kinds import Vector
from codegen.statements import Call, nested, trees
from codegen.walk import names_of, walk
from emit_cuda.executable import CudaExecutable
from emit_cuda.gpu import GpuDevice
from emit_cuda.host.device import HostDevice
from emit_cuda.kernels.file import KernelFile
from emit_cuda.nvrtc import MOST_SHARED_BYTES
from hlo.errors.error import HloError
from hlo_tools.generate.values import tame
from interpreter.numbers.compare import ROUNDING, compare
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.pipelines import prepare

# Of three generations of GPUs; what compiles for one nearly always does for the others.
ARCHITECTURES = [
    pytest.param("sm_80", marks=pytest.mark.slow),
    "sm_90",
    pytest.param("sm_100", marks=pytest.mark.slow),
]


ON_GPU = bool(os.environ.get("PYHLO_TESTS_ON_GPU"))
# In checked mode, and without: then the same kernels are compiled in another way. Some tests of
# each kind of kernel do both in `make test`; others need not, but on a GPU nothing is checked.
CHECKED_AND_NOT = pytest.mark.parametrize(
    "checked", [pytest.param(False, marks=() if ON_GPU else pytest.mark.slow), True]
)


@dataclass
class Batch:
    """Modules with arguments, whose kernels share a file."""

    optimize: bool = False
    cases: list = field(default_factory=list)
    most_shared: int = MOST_SHARED_BYTES
    kernels: KernelFile = None

    def __post_init__(self):
        self.kernels = KernelFile(None, self.most_shared)

    def add(self, module, arguments):
        """Add a module, unless it means nothing for these arguments, or its sizes are dynamic."""
        try:
            expected = interpreter.evaluate(module, *arguments)
        except HloError:
            return
        if is_dynamic(module):
            return
        made = prepare(emit_cuda.optimized(module) if self.optimize else module, "gpu")
        program = emit_cuda.emit(made, self.kernels)
        self.cases.append((module, arguments, expected, program))

    def differences(self, promise=ROUNDING, *, checked=False):
        """What is not as the interpreter says, module by module."""
        device, found = HostDevice(checked=True) if checked else unchecked(), []
        kernels = device.load(self.kernels.source(""))
        for module, arguments, expected, program in self.cases:
            executable = CudaExecutable(module.entry, program, device, kernels)
            for call in range(3 if device.captures else 1):
                difference = compare(executable(*arguments), expected, promise)
                if difference is not None:
                    found.append(f"call {call}: {difference}\n{module}")
                    break
        return found


def batch_of(modules, values=tame, **options):
    """A batch of modules, with the same arguments each time.

    Parameters
    ----------
    values : draws the value of a parameter from its shape and a generator.
    options : of `Batch`.
    """
    batch = Batch(**options)
    for number, module in enumerate(modules):
        batch.add(module, [values(p.shape, random.Random(number)) for p in module.entry.parameters])
    return batch


def kernels_in_cuda(module, *, optimize=True):
    """The kernels of a module, as data."""
    kernels = KernelFile()
    emit_cuda.emit(prepare(emit_cuda.optimized(module) if optimize else module, "gpu"), kernels)
    return kernels


def names_in_cuda(module, *, optimize=True):
    """The functions and types that they use."""
    return kernels_in_cuda(module, optimize=optimize).words.keys()


def statements_in(kernels):
    """The statements of some kernels, and those inside of them."""
    return [s for each in kernels for s in nested(each.statements)]


def trees_in(kernels):
    """The expressions of some kernels, and those inside of them."""
    return [part for s in statements_in(kernels) for tree in trees(s) for part in walk(tree)]


def callees_in(kernels):
    """The names of the functions that some kernels call, each as often as one does."""
    values = [each.function.name for each in trees_in(kernels) if isinstance(each, Apply)]
    return values + [s.function.name for s in statements_in(kernels) if isinstance(s, Call)]


def vectors_in(kernels, array=None):
    """The types of the vectors that some kernels load or store at once, of one array or of all."""
    return [
        each.pointer.kind.to.name
        for each in trees_in(kernels)
        if isinstance(each, Load)
        and isinstance(each.pointer, Cast)
        and isinstance(each.pointer.kind.to, Vector)
        and array in (None, names_of(each.pointer)[0])
    ]


@cache
def unchecked():
    """The device that runs what nothing checks."""
    return GpuDevice() if ON_GPU else HostDevice()
