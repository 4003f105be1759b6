"""Meshes of devices: those that a text declares, and those that it writes within shardings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.numbers import integer_of
from hlo.frontends.stablehlo.operation import UNREADABLE, Operation
from hlo.types.shardy import mesh, mesh_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.types.sharding import Mesh

_WITHIN = re.compile(r"(?<=<)mesh<[^<>]*>")
_DECLARED = re.compile(r'sdy\.mesh\s+@"?([\w$.-]+)|sym_name\s*=\s*"([^"]*)"')


def declared_meshes(operations: Iterable[Any]) -> dict[str, Mesh]:
    """The meshes by name: `sdy.mesh @name = <["x"=2, "y"=4]>`, or the same in other forms."""
    meshes: dict[str, Mesh] = {}
    for operation in operations:
        if not isinstance(operation, Operation) or operation.name != "sdy.mesh":
            continue
        try:
            name = operation.attributes.get("sym_name")
            if name is not None:
                meshes[name] = mesh_of(str(operation.attributes["mesh"].words[0]))
                continue
            ((symbol, tagged),) = (e for e in operation.attributes.items() if e[0].startswith("@"))
            if tagged.name == "sdy.mesh":
                meshes[symbol[1:].strip('"')] = mesh_of(str(tagged.words[0]))
                continue
            devices = tagged.fields.get("device_ids")
            meshes[symbol[1:].strip('"')] = mesh(tagged.words[0], devices)
        except UNREADABLE as error:
            raise HloError("HLO012", f"this mesh can't be read: {error}", operation.span) from None
    return meshes


def mesh_in_place(written: Any) -> Mesh:
    """The mesh of `#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>`."""
    axes = [axis.fields for axis in written.fields["axes"]]
    pairs = [(str(axis["name"]), integer_of(axis["size"])) for axis in axes]
    devices = written.fields.get("device_ids")
    return mesh(pairs, None if devices is None else [integer_of(d) for d in devices])


class LiftedMeshes:
    """The meshes that a text writes within shardings, each with a name as XLA makes it.

    Parameters
    ----------
    text : of the program, whose own names are not to be used again.
    """

    def __init__(self, text: str) -> None:
        self._taken = {first or second for first, second in _DECLARED.findall(text)}
        self.meshes: dict[str, Mesh] = {}

    def named(self, sharding: str) -> str:
        """A sharding's text with names for its meshes: `<@mesh, [{"x"}]>`."""
        return _WITHIN.sub(lambda match: f"@{self.name_of(mesh_of(match[0]))}", sharding)

    def name_of(self, wanted: Mesh) -> str:
        """The name of a mesh."""
        for name, known in self.meshes.items():
            if known == wanted:
                return name
        one = wanted.maximal_device
        names = (f"maximal_mesh_{one}",) if one is not None else ("mesh",)
        more = (f"mesh_{k}" for k in range(len(self._taken) + len(self.meshes) + 1))
        used = self._taken | set(self.meshes)
        name = next(name for name in (*names, *more) if name not in used)
        self.meshes[name] = wanted
        return name
