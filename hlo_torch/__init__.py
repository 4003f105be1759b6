"""PyHLO as a backend of `torch.compile`.

    model = torch.compile(model, backend="pyhlo")

torch traces the model and its gradients to graphs of ATen operations; each becomes a module of HLO,
which is compiled to C. The files, each of which needs only those before it: `graph` (such a graph,
without torch), `operations` (what each operation is in HLO), `lowering` (a graph as a module),
`report`; and with torch: `arrays`, `capture`, `segments`, `compiled`, `simpler` (operations that
are made of others first), `dynamo`.
"""

from __future__ import annotations

from typing import Any

from hlo_torch.report import forget, report

__all__ = ["backend", "forget", "report"]


def backend(module: Any, inputs: list[Any], **options: Any) -> Any:
    """Compile a graph of torch: what `torch.compile(model, backend="pyhlo")` calls.

    Parameters
    ----------
    module : the graph, as a `torch.fx.GraphModule`.
    inputs : its arguments, or tensors of their shapes.
    options : those of `torch.compile`: see `hlo_torch.dynamo.backend`.
    """
    from hlo_torch.dynamo import backend as compiled  # noqa: PLC0415 - imports torch

    return compiled(module, inputs, **options)
