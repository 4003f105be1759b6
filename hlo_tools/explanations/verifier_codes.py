"""The codes HLO020 to HLO099: of shape inference, and of the verifier."""

from __future__ import annotations

from typing import Final

from hlo_tools.explanations.code import Code

VERIFIER_CODES: Final[dict[str, Code]] = {
    # Shapes
    "HLO020": Code(
        "an array is too large",
        "The bytes of an array must be countable in a signed 64-bit number, whether or not there "
        "is memory for them. It has at most 64 dimensions, as NumPy's arrays, and tuples are "
        "nested at most 90 deep. Where shapes are left out, tuples that hold others many times "
        "are bounded as well. Example: `f32[4294967296,4294967296]`.",
    ),
    "HLO021": Code(
        "operand shapes differ",
        "The operands of most opcodes have the same dimensions. NumPy and StableHLO's front ends "
        "broadcast a smaller operand by themselves; HLO does not. Example: `add(f32[8,4] x, f32[4] "
        "y)` needs `y2 = f32[8,4] broadcast(y), dimensions={1}` first.",
    ),
    "HLO022": Code(
        "an opcode does not work on this element type",
        "Each opcode takes certain kinds of elements: `sine` floating-point and complex ones, "
        "`popcnt` integers, the predicate of `select` pred. Example: `sine(s32[4] x)`; convert x "
        "first.",
    ),
    "HLO023": Code(
        "element types differ",
        "Operands that are combined have the same element type. Only floating-point types may be "
        "mixed, and the result then has the higher precision. Example: `add(f32[4] x, s32[4] y)`; "
        "convert one of them first.",
    ),
    "HLO024": Code(
        "wrong number of operands",
        "The opcode takes another number of operands; `hlo ops` lists how many. Some take them in "
        "groups: `reduce` n arrays and n initial values. Example: `reduce(x)` without an initial "
        "value.",
    ),
    "HLO025": Code(
        "an operand is of the wrong sort",
        "A value is an array, a tuple, a token or a buffer, and each opcode works on one sort. "
        "Example: `negate((f32[4], f32[4]) t)`; take an element with get-tuple-element first.",
    ),
    "HLO026": Code(
        "there is no such dimension",
        "Dimensions are counted from 0, and negative numbers do not count from the end. Example: "
        "`transpose(f32[2,3] x), dimensions={1,2}`.",
    ),
    "HLO027": Code(
        "dimension numbers are repeated or out of order",
        "A dimension can have a role only once, and some lists must rise. Example: `reduce(...), "
        "dimensions={0,0}`.",
    ),
    "HLO028": Code(
        "wrong number of dimensions",
        "An attribute that lists something for each dimension has as many entries as the array has "
        "dimensions, and operands that are matched dimension by dimension have equally many. "
        "Example: `slice(f32[2,3] x), slice={[0:1]}`.",
    ),
    "HLO029": Code(
        "sizes do not match",
        "Dimensions that are matched have the same size: the contracting dimensions of a dot, "
        "operand and result of a broadcast. Example: `dot(f32[2,3] x, f32[4,5] y), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}`.",
    ),
    "HLO030": Code(
        "the declared shape is not what the instruction yields",
        "The shape of a result follows from operands and attributes, and the text must say the "
        "same. Layouts may differ. Example: `f32[5] negate(f32[4] x)`.",
    ),
    "HLO031": Code(
        "a slice reaches out of the array",
        "A slice runs from start to limit, the limit excluded, with 0 <= start <= limit <= size "
        "and a positive stride. Example: `slice(f32[4] x), slice={[2:5]}`.",
    ),
    "HLO032": Code(
        "a window is empty",
        "A window has a positive size, stride and dilation in each dimension. Example: "
        "`window={size=2x2 stride=0x1}`.",
    ),
    "HLO033": Code(
        "negative interior padding",
        "Padding at the ends may be negative, which crops; between elements it may not, since "
        "there is nothing to take away. Example: `pad(x, v), padding=0_0_-1`.",
    ),
    "HLO034": Code(
        "padding crops more than there is",
        "Negative padding at the ends takes elements away, at most all of them. Example: `pad("
        "f32[4] x, v), padding=-3_-2`.",
    ),
    "HLO035": Code(
        "a reshape changes the number of elements",
        "A reshape keeps all elements in row-major order under other dimensions, so the product of "
        "the sizes stays. Example: `f32[2,2] reshape(f32[6] x)`.",
    ),
    "HLO036": Code(
        "an element type cannot become another",
        "A complex number has two parts, so it becomes a real one only by real or imag; and "
        "bitcast-convert regroups bits only where one width divides the other. Nor does a bitcast "
        "make more or fewer bits, though XLA's verifier lets it before layouts are final. Example: "
        "`f32[4] convert(c64[4] x)`.",
    ),
    "HLO037": Code(
        "the dimensions of gather or scatter do not fit",
        "Each dimension of the operand is an offset (or window) dimension, or dropped because the "
        "slice has size 1 in it, or a batching dimension; and an index vector has a component for "
        "each entry of start_index_map. Example: two entries of start_index_map for index vectors "
        "of size 1. A batching dimension starts at the number of its batch, so that "
        "start_index_map (in a scatter, scatter_dims_to_operand_dims) names none; XLA lets it, "
        "and leaves open which of the two starts counts.",
    ),
    "HLO038": Code(
        "the dimensions of a convolution do not fit",
        "The kernel has the input features of one group, the output features divide into the "
        "groups, and the window has the sizes of the kernel's spatial dimensions. Example: 3 input "
        "features and a kernel with 2.",
    ),
    "HLO039": Code(
        "there is no such tuple element",
        "Elements are counted from 0. Example: `get-tuple-element((f32[4], f32[4]) t), index=2`.",
    ),
    "HLO040": Code(
        "a computation does not take what it is given",
        "A called computation has a parameter for each value that it is given, of the same shape. "
        "A reducer takes n accumulators, then n elements; a loop's condition and body take what "
        "the loop carries. Example: `call(f32[4] x), to_apply=f` where f takes f32[].",
    ),
    "HLO041": Code(
        "a computation does not yield what it must",
        "A condition or comparator yields pred[], a reducer what it accumulates, a loop's body "
        "what the loop carries, and all branches of a conditional the same shape. Example: a body "
        "that takes s32[] and yields f32[].",
    ),
    "HLO042": Code(
        "a size has no bound",
        "A dynamic dimension needs a bound, `<=8`, so that memory can be set aside. A size without "
        "one, `?`, can be parsed and printed, but not compiled.",
    ),
    "HLO043": Code(
        "an attribute's value makes no sense",
        "The attribute is known, but not this value. Example: `reduce-precision(x), "
        "exponent_bits=0, mantissa_bits=7`: without an exponent bit nothing would tell 0 from "
        "infinity.",
    ),
    "HLO044": Code(
        "wrong number of called computations",
        "A while calls a condition and a body, a conditional on a pred two branches, a conditional "
        "on an s32 at least one. Example: three branch_computations selected by a pred.",
    ),
    # The graph
    "HLO050": Code(
        "an operand is not there",
        "An operand is an earlier instruction of the same computation. Values of other "
        "computations come in through parameters. A pass that moves an instruction must move what "
        "it needs too.",
    ),
    "HLO051": Code(
        "a name is used twice",
        "Names of instructions are unique in a module, and so are names of computations; "
        "references go by name in the text.",
    ),
    "HLO052": Code(
        "the root is not in its computation",
        "A computation's root is one of its instructions; its value is the computation's.",
    ),
    "HLO053": Code(
        "parameters are misnumbered",
        "The parameters of a computation are numbered 0, 1, 2, ... each once, in any order. "
        "Example: `parameter(1)` without `parameter(0)`.",
    ),
    "HLO055": Code(
        "a control predecessor is not there",
        "A control predecessor is an earlier instruction of the same computation.",
    ),
    "HLO056": Code(
        "a called computation is not in the module before its caller",
        "Computations come after those that they call, the entry among them; so no computation "
        "calls itself.",
    ),
    "HLO057": Code(
        "the entry is fused",
        "A fused computation is part of the one kernel that its fusion becomes, so it cannot be "
        "where the program starts.",
    ),
    "HLO059": Code(
        "execution threads differ",
        "What async-start runs is on the thread that async_execution_thread names; what other "
        "instructions apply is on their own.",
    ),
    "HLO060": Code(
        "a layout is no order of the dimensions",
        "A layout lists each dimension once, the fastest-varying first. Example: `f32[2,3]{1,1}`.",
    ),
    # Devices
    "HLO065": Code(
        "replica groups do not split the devices",
        "Groups name each of 0, ..., n-1 exactly once; for most collectives they have one size. "
        "With use_global_device_ids they must be given, and a channel_id too. Example: "
        "`replica_groups={{0,1},{1,2}}`.",
    ),
    "HLO066": Code(
        "the number of devices does not fit",
        "Where a module says its replica_count or num_partitions, groups name that many; and an "
        "all-gather grows, a reduce-scatter shrinks by the size of a group. Example: "
        "`f32[8] all-gather(f32[2] x), replica_groups={{0,1}}`.",
    ),
    "HLO067": Code(
        "source_target_pairs contradict each other",
        "In a collective-permute a device sends at most once and receives at most once. Example: "
        "`source_target_pairs={{0,1},{0,2}}`.",
    ),
    "HLO068": Code(
        "channels do not match",
        "A send or receive and its end are on the same channel and have the same partner, host or "
        "device; the channel of an all-reduce is positive.",
    ),
    "HLO069": Code(
        "some all-reduces constrain their layout and some do not",
        "constrain_layout keeps layouts equal between modules that are compiled apart; it works "
        "only if all all-reduces of a module have it.",
    ),
    "HLO070": Code(
        "a start and its end do not pair up",
        "What starts is ended once: async-start by async-done, all-gather-start by "
        "all-gather-done, send by send-done; and only the end may use the value of the start.",
    ),
    "HLO071": Code(
        "an asynchronous value is of another form",
        "async-start yields ((operands), result, ...): what was given, what will come, and what "
        "the backend keeps besides. The end takes out the result once all operands are bound.",
    ),
    "HLO072": Code(
        "an asynchronous computation does more than one thing",
        "What async-start runs consists of parameters and one instruction, which may be a call or "
        "a fusion.",
    ),
    # The module
    "HLO075": Code(
        "input_output_alias cannot be kept",
        "An output can reuse the buffer of a parameter if both exist, if they take equally many "
        "bytes, if neither has another alias, and for must-alias if shapes and layouts are the "
        "same.",
    ),
    "HLO076": Code(
        "buffer_donor cannot be kept",
        "A donated buffer belongs to a parameter, or to an array in it, that has no "
        "input_output_alias.",
    ),
    "HLO077": Code(
        "entry_computation_layout is not the entry's",
        "The header repeats what the entry takes and yields, with the layouts that the caller "
        "wants; types and sizes are the same as in the entry.",
    ),
    "HLO079": Code(
        "a sharding does not fit",
        "A sharding has a tile dimension for each dimension of the array, each device once, no "
        "device that there is not, and for a tuple an entry for each array. A loop's parameters "
        "and roots are sharded alike. Example: `f32[4,8] parameter(0), "
        "sharding={devices=[2]0,1}`.",
    ),
    "HLO080": Code(
        "an output cannot share memory with an operand",
        "output_to_operand_aliasing names an output and an operand that exist and have the same "
        "shape.",
    ),
    "HLO081": Code(
        "a buffer is used as a value",
        "A buffer `b(f32[4])` is memory that is written in place. Only tuples, loops, custom-calls "
        "that alias it and dynamic-update-slice may handle one; it comes from and goes to arrays "
        "by the custom-calls Pin and Unpin, and is written at most once.",
    ),
    "HLO083": Code(
        "a computation is not one caller's alone",
        "A fused or asynchronous computation belongs to the one instruction that runs it; copy it "
        "for another. In a fused computation nothing uses the root, which is what comes out last.",
    ),
    "HLO084": Code(
        "a composite is incomplete",
        "A call with is_composite=true stands for an operation that frontend_attributes name: "
        '`frontend_attributes={composite.name="my.op",composite.version="1"}`.',
    ),
    "HLO085": Code(
        "a custom-call's operands are not those that it declares",
        "operand_layout_constraints repeats the operands' shapes, with the layouts that the "
        "function wants.",
    ),
}
