"""NVIDIA's libraries: cuBLASLt for products, cuFFT for transforms, NCCL between GPUs.

`gemm-rewriter` says which products a library computes faster; `codegen.program.library_calls` says
whether a library can compute an instruction as it is, `cublas` and `cufft` call it. Without a
library, or with `--no-library`, kernels compute everything. NCCL carries arrays from GPU to GPU.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codegen.program.library_calls import LibraryFft, LibraryGemm
from emit_cuda.libraries.cublas import Cublas
from emit_cuda.libraries.cufft import Cufft
from emit_cuda.libraries.nccl import Nccl
from emit_cuda.nvrtc.library import libraries_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from codegen.program.library_calls import LibraryFunction


@dataclass(frozen=True, slots=True)
class Libraries:
    """The libraries that are there; their plans belong to one executable.

    Attributes
    ----------
    cublas, cufft, nccl : None where they are missing.
    """

    cublas: Cublas | None = None
    cufft: Cufft | None = None
    nccl: Nccl | None = None

    def has(self, call: LibraryFunction) -> bool:
        """Whether the library of a call is there."""
        return (self.cublas if isinstance(call, LibraryGemm) else self.cufft) is not None

    def run(self, call: LibraryFunction, addresses: Sequence[int], stream: int) -> None:
        """Let a library compute, on a stream of the current context.

        Raises
        ------
        HloError
            HLO192 if the library refuses.
        """
        if isinstance(call, LibraryFft):
            assert self.cufft is not None
            self.cufft.run(call, addresses, stream)
        else:
            assert self.cublas is not None
            self.cublas.run(call, addresses, stream)


def libraries(
    cublas: Path | None = None, cufft: Path | None = None, nccl: Path | None = None
) -> Libraries:
    """The libraries at some paths, or where NVIDIA's wheels and the toolkit have them."""
    blas = _loaded(cublas or next(libraries_named("libcublasLt.so*"), None))
    fourier = _loaded(cufft or next(libraries_named("libcufft.so*"), None))
    return replace(
        carrying(nccl),
        cublas=Cublas(blas) if blas else None,
        cufft=Cufft(fourier) if fourier else None,
    )


def carrying(nccl: Path | None = None) -> Libraries:
    """NCCL alone, which no kernel can take the place of."""
    library = _loaded(nccl or next(libraries_named("libnccl.so*"), None))
    return Libraries(nccl=Nccl(library) if library else None)


def _loaded(path: Path | None) -> Any:
    try:
        return ctypes.CDLL(str(path)) if path else None
    except OSError:
        return None
