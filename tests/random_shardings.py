"""Random shardings of random modules, for some devices."""

from dataclasses import replace
from math import prod
from random import Random

import numpy as np

import hlo
from hlo.types.sharding import Sharding, TileAssignment
from hlo.walk import called_first, rebuild, rebuild_module
from hlo.write.sharding_print import print_sharding
from tests.sharded import call

# The axes of a cube of eight devices.
CUBE = (2, 2, 2)
# How often an array is sharded: a parameter or result of the program, and any other.
AT_THE_ENTRY, INSIDE = 0.7, 0.12


def sharded(module: hlo.Module, random: Random, mesh: tuple[int, ...] = CUBE) -> hlo.Module:
    """A module with shardings; its header lets some parameters and results be sharded freely.

    Parameters
    ----------
    mesh : the sizes of the axes of the devices.
    """
    even = random.random() < 0.5
    entry = module.entry.name
    divided = {
        c.name for c in called_first(module.entry)
        if c is module.entry or any(
            c in i.called for i in module.instructions()
            if i.opcode in ("call", "conditional", "while")
        )
    }  # fmt: skip

    def annotated(computation: hlo.Computation) -> hlo.Computation:
        if computation.name not in divided:
            return computation
        at_the_entry = computation.name == entry
        plan = {
            instr: with_sharding(
                instr, random, mesh, even=even, sums=_may_be_sums(instr, computation)
            )
            for instr in computation.instructions
            if instr.opcode != "parameter" or at_the_entry
            if random.random() < _how_often(instr, computation, at_the_entry=at_the_entry)
            if all(s.is_array and not s.is_dynamic for _, s in instr.shape.leaves())
        }
        return rebuild(computation, plan)

    made = rebuild_module(module, annotated)
    results = len(made.entry.root.shape.leaves())
    parameters = sum(len(p.shape.leaves()) for p in made.entry.parameters)
    header = replace(
        made.header, num_partitions=prod(mesh),
        allow_spmd_sharding_propagation_to_output=_flags(results, random),
        allow_spmd_sharding_propagation_to_parameters=_flags(parameters, random),
    )  # fmt: skip
    return replace(made, header=header)


def _how_often(
    instr: hlo.Instruction, computation: hlo.Computation, *, at_the_entry: bool
) -> float:
    if at_the_entry and (instr.opcode == "parameter" or instr is computation.root):
        return AT_THE_ENTRY
    return INSIDE if instr.shape.is_array else 0


def _flags(count: int, random: Random) -> tuple[bool, ...]:
    return tuple(random.random() < 0.4 for _ in range(count))


def _may_be_sums(instr: hlo.Instruction, computation: hlo.Computation) -> bool:
    """Whether devices may have summands: of a number that nobody outside of the program sees."""
    entry = instr.opcode == "parameter" or instr is computation.root
    return not entry and instr.shape.is_array and instr.shape.element_type.kind != "pred"


def with_sharding(
    instr: hlo.Instruction,
    random: Random,
    mesh: tuple[int, ...] = CUBE,
    *,
    even: bool,
    sums: bool = False,
) -> hlo.Instruction:
    """An instruction with random shardings of its arrays.

    Parameters
    ----------
    even : whether only dimensions are cut that devices can share evenly.
    sums : whether devices that have the same part may have summands of it instead.
    """
    each = tuple(sharding(s.dims, random, mesh, even=even) for _, s in instr.shape.leaves())
    if sums and random.random() < 0.3:
        each = (_summands(each[0]),)
    made = Sharding("tuple", elements=each) if instr.shape.is_tuple else each[0]
    return instr.with_(annotations=replace(instr.annotations, sharding=made))


def _summands(sharding: Sharding) -> Sharding:
    if sharding.kind == "replicated":
        return Sharding("unreduced")
    kinds = ("unreduced",) if sharding.replicate_last else ()
    return replace(sharding, replicate_last=False, last_tile_dims=kinds)


def sharding(
    dims: tuple[int, ...],
    random: Random,
    mesh: tuple[int, ...] = CUBE,
    manual: tuple[int, ...] = (),
    *,
    even: bool,
) -> Sharding:
    """A sharding by the axes of a mesh of devices, in any order.

    Parameters
    ----------
    manual : the axes of a region, whose devices run on parts of their own.
    """
    axes = [axis for axis in range(len(mesh)) if axis not in manual]
    random.shuffle(axes)
    counts, cutting = [1] * len(dims), list[tuple[int, int]]()
    for d in random.sample(range(len(dims)), min(len(dims), random.randint(0, 2))):
        for _ in range(random.randint(1, 2)):
            if axes and not (even and dims[d] % (mesh[axes[-1]] * counts[d])):
                cutting.append((d, axes.pop()))
                counts[d] *= mesh[cutting[-1][1]]
    groups = {"manual": [*manual], "replicated": sorted(axes)}
    sizes = {kind: prod(mesh[axis] for axis in among) for kind, among in groups.items()}
    kinds = tuple(kind for kind, size in sizes.items() if size > 1)
    if prod(counts) == 1 and not manual:
        return Sharding("replicated")
    order = [axis for _, axis in sorted(cutting, key=lambda pair: pair[0])]
    order += [axis for among in groups.values() for axis in among]
    devices = np.arange(prod(mesh)).reshape(mesh).transpose(order).reshape(-1)
    tiles = TileAssignment((*counts, *(sizes[k] for k in kinds)), tuple(int(d) for d in devices))
    if not manual:
        return Sharding("tiled", tiles, replicate_last=bool(kinds))
    return Sharding("tiled", tiles, last_tile_dims=kinds)


AXES = ("x", "y", "z")


def in_region(module: hlo.Module, random: Random) -> hlo.Module | None:
    """A module that runs another one in a region along some axes of a cube of devices.

    The devices of other axes run the region together, on shardings of its own. None if no dimension
    of the result tells apart those of the region.
    """
    manual = tuple(sorted(random.sample(range(3), random.randint(1, 2))))
    named = ", ".join(f'"{AXES[axis]}"' for axis in manual)
    body = module.entry
    if not body.root.shape.is_array or not body.root.shape.rank:
        return None

    def outside(shape: hlo.Shape, *, all_of: bool) -> tuple[hlo.Shape, str]:
        """The shape of a whole, and how it is cut by axes of the region."""
        by = list[list[int]]([] for _ in shape.dims)
        for axis in manual if shape.rank else ():
            if all_of or random.random() < 0.6:
                by[random.randrange(shape.rank)].append(axis)
        dims = tuple(n * 2 ** len(axes) for n, axes in zip(shape.dims, by, strict=True))
        said = ", ".join("{" + ", ".join(f'"{AXES[a]}"' for a in axes) + "}" for axes in by)
        return shape.with_dims(dims), f"<@mesh, [{said}]>"

    def inside(instr: hlo.Instruction) -> hlo.Instruction:
        made = sharding(instr.shape.dims, random, CUBE, manual, even=random.random() < 0.5)
        return instr.with_(annotations=replace(instr.annotations, sharding=made))

    plan = {i: inside(i) for i in body.instructions if i.shape.is_array and random.random() < 0.4}
    annotated = replace(rebuild(body, plan), name="body")
    lines, locals_ = list[str](), list[str]()
    for n, parameter in enumerate(body.parameters):
        whole, said = outside(parameter.shape, all_of=False)
        cut = print_sharding(sharding(whole.dims, random, even=True))
        lines += [f"p{n} = {whole} parameter({n}), sharding={cut}"]
        lines += [f"l{n} = {call('in', f'p{n}', str(parameter.shape), said, named)}"]
        locals_.append(f"l{n}")
    whole, said = outside(body.root.shape, all_of=True)
    lines += [f"c = {body.root.shape} call({', '.join(locals_)}), to_apply=body"]
    lines += [f"ROOT w = {call('out', 'c', str(whole), said, named)}"]
    called = (
        str(replace(module, entry=annotated, computations=(*body.callees, annotated)))
        .partition("\n")[2]
        .replace("ENTRY ", "")
    )
    return hlo.parse(
        "HloModule m, num_partitions=8, frontend_attributes={xla.sdy.meshes="
        '{mesh = #sdy.mesh<["x"=2, "y"=2, "z"=2]>}}\n'
        f"{called}\nENTRY e {{\n" + "\n".join(lines) + "\n}"
    )
