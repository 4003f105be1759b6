"""The backend of `torch.compile`."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo_torch import private
from hlo_torch.compiled import BackendOptions, CompiledGraph
from hlo_torch.report import next_number
from hlo_torch.simpler import decompositions

if TYPE_CHECKING:
    from collections.abc import Generator

    from hlo_torch.private import GraphModule


def backend(module: GraphModule, inputs: list[Any], **options: Any) -> Any:
    """Compile a graph of torch: `torch.compile(model, backend="pyhlo")`.

    Parameters
    ----------
    options : as in `torch.compile(model, backend="pyhlo", options={"fallback": False})`, which
        lets an operation that can't be compiled be an error, as `fullgraph=True` does; else torch
        runs it. `dump_to` is a folder to which the modules are written.
    """
    given: dict[str, Any] = {"fallback": not private.is_whole(), **options.get("options", options)}
    known = [field.name for field in fields(BackendOptions)]
    if wrong := [name for name in given if name not in known]:
        raise TypeError(f"PyHLO has no option {', '.join(wrong)}; it has: {', '.join(known)}")
    chosen = BackendOptions(**given)
    number = next_number()
    known_as = [_plain(node.name) for node in module.graph.find_nodes(op="placeholder")]

    def compiler(kind: str) -> Any:
        def compiled(graph: GraphModule, _inputs: Any) -> Any:
            names = () if kind == "backward" else known_as
            return private.boxed(CompiledGraph(graph, f"{kind} {number}", names, chosen))

        return compiled

    made = private.aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=decompositions(),
    )
    return made(module, inputs)


def _plain(name: str) -> str:
    """An argument's name, of which Dynamo makes "l_x_"; empty for a size that torch left open."""
    found = re.fullmatch(r"[lL]_(?:self_)?(?:modules_|parameters_)?(\w+?)_?", name)
    return found[1] if found else ""


@contextmanager
def compiling_by_default(**options: Any) -> Generator[None]:
    """Let `torch.compile` use PyHLO where no other backend than inductor is asked for.

    Parameters
    ----------
    options : as of `backend`.
    """
    with private.compiling_with(partial(backend, options=options)):
        yield
