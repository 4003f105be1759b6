"""Wrong passes about order, hints and the contract with callers, and about dimension numbers.

Most keep the value on an implementation that makes no use of a hint, or on usual dimensions.
"""

from dataclasses import replace

from strategies.subtle import Changing, Heading, replacing

from hlo.types.sharding import Sharding
from hlo.types.values import BufferDonor
from hlo.walk import rebuild
from optimizer.rewriting.make import make


def with_attrs(name, *opcodes, **attrs):
    """A pass that sets attributes of some opcodes."""

    def new(instr):
        if instr.opcode not in opcodes:
            return None
        changed = {k: v(getattr(instr.attrs, k)) if callable(v) else v for k, v in attrs.items()}
        made = replace(instr.attrs, **changed)
        return None if made == instr.attrs else instr.with_(attrs=made)

    return replacing(name, new)


def annotated(name, fits, **annotations):
    """A pass that changes annotations of instructions that fit."""

    def change(computation, log):
        plan = {}
        for instr in computation.instructions:
            new = instr.with_(annotations=replace(instr.annotations, **annotations))
            if fits(instr, computation) and new.annotations != instr.annotations:
                plan |= {instr: new} if log.rewrite(name, instr, new) else {}
        return rebuild(computation, plan)

    return Changing(name, change)


def has_sharding(instr, _computation):
    return instr.annotations.sharding is not None


def is_sharded_parameter(instr, computation):
    return has_sharding(instr, computation) and instr.opcode == "parameter"


def is_sharded_root(instr, computation):
    return has_sharding(instr, computation) and instr is computation.root


def is_sharded_inside(instr, computation):
    return has_sharding(instr, computation) and instr.opcode not in ("parameter", "tuple")


def windows(name, *opcodes, **fields):
    """A pass that sets something of every dimension of a window."""
    change = lambda window: tuple(replace(d, **fields) for d in window)  # noqa: E731
    return with_attrs(name, *opcodes, window=change)


def mirrored(window):
    return tuple(replace(d, pad_low=d.pad_high, pad_high=d.pad_low) for d in window)


def turned(values):
    return tuple(reversed(values))


def without_last(values):
    return values[:-1]


def unwaiting(instr):
    """Nobody needs to wait for what he does not use."""
    return instr.with_(control_predecessors=()) if instr.control_predecessors else None


def reversed_comparator(computation, log):
    """Ascending for descending, in whatever order the parameters come."""
    plan = {}
    for instr in computation.instructions:
        if instr.opcode != "sort":
            continue
        inner = instr.called[0]
        if inner.root.opcode != "compare":
            continue
        other = {"LT": "LE", "GT": "GE"}.get(inner.root.attrs.direction)
        if other is None:
            continue
        root = inner.root.with_(attrs=replace(inner.root.attrs, direction=other))
        new = instr.with_(called=(rebuild(inner, {inner.root: root}),))
        plan |= {instr: new} if log.rewrite("comparator", instr, new) else {}
    return rebuild(computation, plan)


def starts_swapped(instr):
    """The starts of the first two dimensions are exchanged."""
    first = {"dynamic-slice": 1, "dynamic-update-slice": 2}.get(instr.opcode)
    if first is None or len(instr.operands) < first + 2:
        return None
    before, (i, j, *rest) = instr.operands[:first], instr.operands[first:]
    return None if i is j or i.shape != j.shape else instr.with_(operands=(*before, j, i, *rest))


def bitcast_for(opcode):
    """An instruction that only moves elements is taken for one that moves none."""

    def new(instr):
        return (
            make("bitcast", instr.operands[0], shape=instr.shape).with_(name=instr.name)
            if instr.opcode == opcode
            else None
        )

    return new


def reshaped_bitcast(instr):
    """Elements in order of dimensions, not as they lie in memory."""
    if (
        instr.opcode != "bitcast"
        or instr.shape.element_type != instr.operands[0].shape.element_type
    ):
        return None
    return make("reshape", instr.operands[0], shape=instr.shape).with_(name=instr.name)


def uncopied(instr):
    """A copy has the value of its operand."""
    return instr.operands[0] if instr.opcode == "copy" else None


def bare_outfeeds(instr):
    """An outfeed need not wait for the one before."""
    if instr.opcode != "outfeed" or instr.operands[1].opcode != "after-all":
        return None
    token = instr.operands[1]
    return (
        instr.with_(
            operands=(instr.operands[0], token.with_(operands=()).with_(name=f"{token.name}.x"))
        )
        if token.operands
        else None
    )


def without_aliases(module):
    """Nobody has to use the memory of an argument again."""
    return replace(module.header, input_output_alias=())


def without_donors(module):
    return replace(module.header, buffer_donor=())


def all_donors(module):
    """All arguments are given up."""
    header, entry = module.header, module.entry
    if header.input_output_alias or header.buffer_donor:
        return header
    donors = tuple(BufferDonor(n, ()) for n, p in enumerate(entry.parameters) if p.shape.is_array)
    return replace(header, buffer_donor=donors)


def another_parameter(module):
    """A result lies in the memory of another argument of its shape."""
    header, parameters = module.header, module.entry.parameters
    if not header.input_output_alias:
        return header
    first, *rest = header.input_output_alias
    shape = parameters[first.parameter].shape
    others = [n for n, p in enumerate(parameters) if p.shape == shape and n != first.parameter]
    if not others or not shape.is_array:
        return header
    taken = {a.parameter for a in header.input_output_alias}
    if others[0] in taken:
        return header
    return replace(header, input_output_alias=(replace(first, parameter=others[0]), *rest))


def must_become_may(module):
    """What must share memory may."""
    aliases = tuple(replace(a, must=False) for a in module.header.input_output_alias)
    return replace(module.header, input_output_alias=aliases)


def may_becomes_must(module):
    """What may share memory must."""
    aliases = tuple(replace(a, must=True) for a in module.header.input_output_alias)
    return replace(module.header, input_output_alias=aliases)


def silent_calls(instr):
    """A custom call has no effect but its value."""
    attrs = instr.attrs
    if instr.opcode != "custom-call" or not attrs.custom_call_has_side_effect:
        return None
    return instr.with_(attrs=replace(attrs, custom_call_has_side_effect=False))


def first_of_equal_updates(instr):
    """Of updates of one element, the last one counts."""
    if instr.opcode != "scatter" or len(instr.operands) != 3:
        return None
    inner = instr.called[0]
    if inner.root.opcode != "add":
        return None
    root = inner.parameters[1]
    made = replace(inner, instructions=inner.parameters, root=root)
    return instr.with_(called=(made,))


REPLICATED = Sharding("replicated")
PASSES = (
    # What XLA may make use of, or leave open.
    with_attrs("unstable_sort", "sort", is_stable=False),
    with_attrs("unique_updates", "scatter", unique_indices=True),
    with_attrs("sorted_updates", "scatter", indices_are_sorted=True),
    with_attrs("sorted_gather", "gather", indices_are_sorted=True),
    with_attrs("both_hints", "scatter", unique_indices=True, indices_are_sorted=True),
    Changing("comparator_of_equals", reversed_comparator),
    # The contract with callers.
    annotated("without_shardings", has_sharding, sharding=None),
    annotated("parameters_without_shardings", is_sharded_parameter, sharding=None),
    annotated("root_without_sharding", is_sharded_root, sharding=None),
    annotated("inner_shardings_lost", is_sharded_inside, sharding=None),
    annotated("replicated_everywhere", has_sharding, sharding=REPLICATED),
    annotated("replicated_parameters", is_sharded_parameter, sharding=REPLICATED),
    annotated("all_annotations_lost", has_sharding, sharding=None, metadata=None),
    Heading("without_aliases", without_aliases),
    Heading("without_donors", without_donors),
    Heading("all_donors", all_donors),
    Heading("another_parameter", another_parameter),
    Heading("must_become_may", must_become_may),
    Heading("may_becomes_must", may_becomes_must),
    # Order.
    replacing("unwaiting", unwaiting),
    replacing("bare_outfeeds", bare_outfeeds),
    replacing("silent_calls", silent_calls),
    replacing("uncopied", uncopied),
    # Memory.
    replacing("transpose_as_bitcast", bitcast_for("transpose")),
    replacing("reshape_as_bitcast", bitcast_for("reshape")),
    replacing("bitcast_as_reshape", reshaped_bitcast),
    # Dimensions.
    with_attrs("fewer_reversed", "reverse", dimensions=without_last),
    with_attrs("permuted_start_index_map", "gather", start_index_map=turned),
    with_attrs("permuted_scatter_dims", "scatter", scatter_dims_to_operand_dims=turned),
    replacing("starts_swapped", starts_swapped),
    replacing("last_update_counts", first_of_equal_updates),
    with_attrs("reverse_of_pairs", "collective-permute", source_target_pairs=lambda pairs: tuple((b, a) for a, b in pairs)),
    windows("unreversed_windows", "convolution", reversal=False),
    windows("undilated_windows", "convolution", "reduce-window", window_dilation=1),
    windows("undilated_bases", "convolution", "reduce-window", base_dilation=1),
    with_attrs("mirrored_padding", "convolution", "reduce-window", window=mirrored),
    with_attrs("other_triangle", "triangular-solve", "cholesky", lower=lambda lower: not lower),
    with_attrs("unit_diagonal", "triangular-solve", unit_diagonal=True),
    with_attrs("untransposed", "triangular-solve", transpose_a="NO_TRANSPOSE"),
    with_attrs("smallest_first", "topk", largest=lambda largest: not largest),
    with_attrs("iota_along_the_first", "iota", iota_dimension=0),
)  # fmt: skip
