"""Arrays in a device's memory, which go to other libraries and come from them without a copy.

    y = executable.on_device(x)          # x: a torch.Tensor, a cupy.ndarray, a jax.Array, ...
    torch.from_dlpack(y), cupy.asarray(y), np.asarray(y)

References
----------
dmlc/dlpack, *Python Specification for DLPack*; Numba, *CUDA Array Interface*, version 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.support.dlpack import CUDA, Tensor, from_capsule, in_order, to_capsule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from emit_cuda.devices import CudaDevice

# The stream that all libraries share, as they number it.
_SHARED = 1


@dataclass(frozen=True, slots=True)
class Lent:
    """Memory of another library, for one call.

    Attributes
    ----------
    owner : keeps it alive.
    """

    address: int
    dims: tuple[int, ...]
    dtype: np.dtype[Any]
    owner: Any


class DeviceArray:
    """An array in a device's memory, in row-major order; freed with its last reference.

    Parameters
    ----------
    owner : the object that owns the memory, where that is not the device.

    Attributes
    ----------
    address : of the first element.
    """

    def __init__(
        self, device: CudaDevice, address: int, shape: tuple[int, ...], dtype: np.dtype[Any],
        owner: Any = None,
    ) -> None:  # fmt: skip
        self.device, self._address, self.shape, self.dtype = device, address, shape, dtype
        self._owner = owner

    @property
    def address(self) -> int:
        """Of the first element.

        Raises
        ------
        HloError
            HLO112 if the array was donated.
        """
        if not self._address:
            raise HloError("HLO112", "the array was donated: its memory holds a result now")
        return self._address

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def take(self, donor: DeviceArray) -> None:
        """Become the one whose memory it is; the other array has none from then on."""
        self._owner = donor._owner
        donor._address, donor._owner = 0, None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """A copy in the processor's memory."""
        if copy is False:
            raise ValueError("an array of a device is copied to become NumPy's")
        array = fetched(self.device, self.address, self.shape, self.dtype)
        return array if dtype is None else array.astype(dtype)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory, and the stream that writes to it, for libraries of CUDA."""
        if self.device.dlpack_device[0] != CUDA:
            raise AttributeError("the array is in the processor's memory: use DLPack, or NumPy")
        if self.dtype.kind not in "biufc":
            raise AttributeError(f"the interface has no elements of type {self.dtype}: use DLPack")
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False),
            "version": 3, "strides": None, "stream": self.device.handle(0),
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.dlpack_device

    def __dlpack__(self, stream: int | None = None, **_: Any) -> Any:
        """A capsule with the memory.

        Parameters
        ----------
        stream : of the library that takes it, which waits for pending writes to the array; None
            for the one that all share, -1 for none.
        """
        if self.device.dlpack_device[0] == CUDA and stream != -1:
            self.device.order(self.device.handle(0), _SHARED if stream in (None, 0) else stream)
        return to_capsule(
            Tensor(self.address, self.shape, None, self.dtype, self.device.dlpack_device, self)
        )

    def __repr__(self) -> str:
        state = "" if self._address else ", donated"
        return f"DeviceArray({self.dtype.name}{list(self.shape)}, {self.device.name}{state})"

    def __del__(self) -> None:
        if self._address and self._owner is None:
            self.device.free(self._address)


def fetched(
    device: CudaDevice, address: int, dims: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """A copy in the processor's memory of an array in a device's."""
    array = np.empty(dims, dtype)
    if array.size:
        device.read(address, array)
    return array


def lent(device: CudaDevice, argument: Any) -> Lent | None:
    """An argument's memory, if it is on the device; None if it has to be copied there.

    The device waits for pending writes of another library.

    Raises
    ------
    HloError
        HLO112 if its elements do not lie in row-major order, or have a type that HLO lacks, if it
        is on another GPU, or was donated.
    """
    if isinstance(argument, DeviceArray):
        same = argument.device is device
        return Lent(argument.address, argument.shape, argument.dtype, argument) if same else None
    if device.dlpack_device[0] != CUDA:
        return None
    interface = getattr(argument, "__cuda_array_interface__", None)
    if interface is not None:
        return _by_interface(device, interface, argument)
    if hasattr(argument, "__dlpack_device__"):
        kind, number = argument.__dlpack_device__()
        if (int(kind), int(number)) == device.dlpack_device:
            tensor = from_capsule(argument.__dlpack__(stream=device.handle(0)))
            _refuse_gaps(tensor.strides)
            return Lent(tensor.address, tensor.dims, tensor.dtype, tensor.owner)
    return None


def _by_interface(device: CudaDevice, interface: dict[str, Any], owner: Any) -> Lent:
    dims, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is not None and tuple(strides) != in_order(dims, dtype.itemsize) and 0 not in dims:
        _refuse_gaps(strides)
    if not device.holds(interface["data"][0]):
        raise HloError("HLO112", f"an array of another device than {device.name}")
    if interface.get("stream"):
        device.order(interface["stream"], device.handle(0))
    return Lent(interface["data"][0], dims, dtype, owner)


def _refuse_gaps(strides: Any) -> None:
    if strides is not None:
        notes = ["make it contiguous before: x.contiguous(), cupy.ascontiguousarray(x)"]
        raise HloError("HLO112", "an array of a device must lie in row-major order", notes=notes)
