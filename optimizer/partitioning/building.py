"""New computations for old ones, whose arrays devices hold parts of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hlo.attributes.annotations import Annotations
from hlo.effects import has_effect
from hlo.types.values import FrontendAttributes
from hlo.walk import called_first, needed_first
from optimizer.expanders.op_expander import element
from optimizer.partitioning.cuts import whole
from optimizer.partitioning.held import Held, free_part
from optimizer.rewriting.adopting import new_below
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.attributes import Attrs
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from hlo.types.shape import Shape
    from optimizer.partitioning.communication import Network
    from optimizer.partitioning.cuts import ArrayCut
    from optimizer.partitioning.flow import Flow, Node

    Cuts = Mapping[tuple[int, ...], ArrayCut]
    Plan = tuple[tuple[ArrayCut | None, ...], tuple[ArrayCut, ...]]


@dataclass(frozen=True)
class Devices:
    """The devices that run a module, and the cuts of its arrays.

    Attributes
    ----------
    cuts : of each node of `flow`.
    has_summands : whether devices have summands of any array.
    notes : the opcode of each new collective, the old instruction that needs it, and itself.
    kept : the names of old instructions that new ones have.
    plans : how an old instruction is divided: the cuts in which its operands are taken, and those
        in which its results come.
    """

    network: Network
    names: NameSupply
    flow: Flow
    cuts: Mapping[Node, ArrayCut]
    has_summands: bool = False
    notes: list[tuple[str, Instruction, Instruction]] = field(
        default_factory=list["tuple[str, Instruction, Instruction]"]
    )
    kept: set[str] = field(default_factory=set[str])
    plans: dict[Instruction, Plan] = field(default_factory=dict["Instruction", "Plan"])

    def adopted(self, module: Module) -> Computation:
        """The entry of another module under new names, its collectives in channels of their own."""
        channels: dict[int, int] = {}

        def renumbered(instr: Instruction) -> Attrs:
            channel = getattr(instr.attrs, "channel_id", None)
            if not channel:
                return instr.attrs
            if channel not in channels:
                channels[channel] = next(self.network.channels)
            attrs: Any = instr.attrs
            return replace(attrs, channel_id=channels[channel])

        adopted_computations: dict[Computation, Computation] = {}
        for computation in called_first(module.entry):
            new: dict[Instruction, Instruction] = {}
            for instr in computation.instructions:
                new[instr] = instr.with_(
                    name=self.names.unique(instr.name),
                    operands=tuple(new[o] for o in instr.operands),
                    called=tuple(adopted_computations[c] for c in instr.called),
                    control_predecessors=tuple(new[p] for p in instr.control_predecessors),
                    attrs=renumbered(instr),
                    # Its lines are rows of the other module's tables.
                    annotations=replace(without_sharding(instr.annotations), metadata=None),
                )  # fmt: skip
            adopted_computations[computation] = replace(
                computation, name=self.names.unique(computation.name),
                instructions=tuple(new.values()), root=new[computation.root],
            )  # fmt: skip
        return adopted_computations[module.entry]


@dataclass
class PartsBuilder:
    """The new instructions of one computation.

    Attributes
    ----------
    values : the arrays of each old instruction's value, by index.
    order : the new instructions.
    became : the new instruction that does the work of an old one.
    collectives : new ones, each with the old instruction that needs it.
    """

    devices: Devices
    values: dict[Instruction, dict[tuple[int, ...], Held]] = field(
        default_factory=dict["Instruction", "dict[tuple[int, ...], Held]"]
    )
    order: dict[Instruction, None] = field(default_factory=dict["Instruction", None])
    collectives: list[tuple[Instruction, Instruction]] = field(
        default_factory=list["tuple[Instruction, Instruction]"]
    )
    became: dict[Instruction, Instruction] = field(
        default_factory=dict["Instruction", "Instruction"]
    )

    def put(self, root: Instruction, old: Instruction, *, keeps: bool = False) -> Instruction:
        """Put new instructions into the order, with names.

        Parameters
        ----------
        keeps : whether the root is the old instruction itself, on parts.
        """
        new_of: dict[Instruction, Instruction] = {}
        for instr in new_below(root, self.order):
            own = keeps and instr is root
            annotations = Annotations(metadata=old.annotations.metadata)
            name = self.devices.names.unique(instr.opcode)
            before: tuple[Instruction, ...] = ()
            if own:
                annotations = without_sharding(old.annotations)
                if old.name not in self.devices.kept:
                    name = old.name
                    self.devices.kept.add(name)
                before = tuple(self.became[p] for p in old.control_predecessors if p in self.became)
            elif instr.opcode == "custom-call":
                annotations = replace(annotations, backend_config=instr.annotations.backend_config)
            new = new_of[instr] = instr.with_(
                name=name, operands=tuple(new_of.get(o, o) for o in instr.operands),
                control_predecessors=before, annotations=annotations, span=old.span,
            )  # fmt: skip
            self.order[new] = None
            if not own and "collective" in new.row.traits:
                self.collectives.append((new, old))
        return new_of.get(root, root)

    def piece(self, held: Held, cut: ArrayCut, old: Instruction) -> Instruction:
        """A part of an array in some cut."""
        version = held.versions.get(cut)
        if version is not None:
            return version
        if held.made_by and not cut.is_whole and not cut.summed:
            part = free_part(self._on_parts(held.made_by), cut)
            if part is not None:
                held.versions[cut] = self.put(part, held.made_by)
                return held.versions[cut]
        nearest, steps = held.nearest(cut)
        moved = steps.run(self.devices.network, held.versions[nearest], held.shape.dims)
        moved = laid_out(moved, held.shape)
        held.versions[cut] = moved if moved in self.order else self.put(moved, old)
        return held.versions[cut]

    def _on_parts(self, instr: Instruction) -> Instruction:
        """An instruction on scalars, on the new ones."""
        operands = tuple(self.whole(o) for o in instr.operands)
        return instr.with_(operands=operands)

    def whole(self, instr: Instruction) -> Instruction:
        """The value that each device has of an old instruction, where all of it is whole."""
        return self.formed(instr, None)

    def formed(
        self, instr: Instruction, cuts: Mapping[tuple[int, ...], ArrayCut] | None,
        path: tuple[int, ...] = (), shape: Shape | None = None,
    ) -> Instruction:  # fmt: skip
        """A value whose arrays have some cuts, made of its arrays; None for whole ones."""
        shape = shape or instr.shape
        if shape.is_tuple:
            parts = [
                self.formed(instr, cuts, (*path, n), one) for n, one in enumerate(shape.elements)
            ]
            return self.put(make("tuple", *parts), instr)
        held = self.values[instr][path]
        cut = cuts[path] if cuts else whole(len(held.cut.dims), held.cut.manual)
        return self.piece(held, cut, instr)

    def keep(
        self, old: Instruction, new: Instruction, cuts: Mapping[tuple[int, ...], ArrayCut]
    ) -> None:
        """Record the value of an old instruction: a new one, whose arrays have some cuts."""
        self.became[old] = new
        self.values[old] = {}
        for path, shape in old.shape.leaves():
            one = new
            for index in path:
                one = self.put(element(one, index), old)
            if laid_out(one, shape) is not one:
                one = self.put(laid_out(one, shape), old)
            self.values[old][path] = Held(shape, {cuts[path]: one})

    def built(self, computation: Computation, root: Instruction) -> Computation:
        """The new computation, without instructions that nobody needs."""
        name, taken = computation.name, self.devices.kept
        if name in taken:
            name = self.devices.names.unique(name)
        taken.add(name)
        # Collectives have effects, so they would stay where only dead instructions need them.
        effects = [new for old, new in self.became.items() if has_effect(old)]
        parameters = [i for i in self.order if i.opcode == "parameter"]
        starts = (*parameters, *effects, root)
        live = set(needed_first(starts, lambda i: (*i.operands, *i.control_predecessors)))
        order = tuple(instr for instr in self.order if instr in live)
        notes = [(new.opcode, old, new) for new, old in self.collectives if new in live]
        self.devices.notes.extend(notes)
        return replace(computation, name=name, instructions=order, root=root)


def laid_out(part: Instruction, whole: Shape) -> Instruction:
    """A part whose bytes lie in the order of the array's, for bitcasts read them."""
    if not whole.is_array or whole.is_dynamic or part.shape.layout == whole.layout:
        return part
    return make("copy", part, shape=part.shape.with_layout(whole.layout))


def without_sharding(annotations: Annotations) -> Annotations:
    """Annotations that name no devices nor axes of meshes."""
    attributes = annotations.frontend_attributes
    entries = attributes.entries if attributes else ()
    entries_kept = tuple(e for e in entries if not e[0].startswith("xla.sdy."))
    left = FrontendAttributes(entries_kept) if entries_kept else None
    return replace(annotations, sharding=None, frontend_attributes=left)
