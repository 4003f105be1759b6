"""torch, and all that is called of it that is not public.

It is imported where it is there; nothing else of PyHLO needs it, nor do type checkers. What begins
with an underscore is not promised to stay: where a new version of torch breaks something, this is
the file to look at. It was tried with the versions in `TRIED`.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

TRIED = ("2.13.0",)
torch: Any = import_module("torch")
# A node of a graph, and a graph with the tensors that it holds: torch.fx.Node, .GraphModule.
Node = Any
GraphModule = Any


def aot_autograd(**options: Any) -> Callable[..., Any]:
    """A backend that is given graphs of ATen operations, gradients among them.

    What a gradient can compute again from other values, without a product or a sum, is not handed
    to it: each tensor that it takes costs microseconds at each call.
    """
    divide = import_module("functorch.compile").min_cut_rematerialization_partition
    make = import_module("torch._dynamo.backends.common").aot_autograd
    return make(partition_fn=divide, **options)


def boxed(function: Any) -> Any:
    """A function whose arguments come as a list that it may empty."""
    return import_module("torch._functorch.aot_autograd").make_boxed_func(function)


def is_whole() -> bool:
    """Whether the graph that torch is compiling must be the only one: `fullgraph=True`."""
    translator = import_module("torch._dynamo.symbolic_convert").InstructionTranslator
    try:
        return bool(translator.current_tx().one_graph)
    except AttributeError:
        return False


def registered_decompositions() -> dict[Any, Any]:
    """By operation, the function that makes simpler ones of it: all that torch has."""
    return dict(import_module("torch._decomp").global_decomposition_table["post_autograd"])


@contextmanager
def compiling_with(backend: Any) -> Generator[None]:
    """Let `torch.compile` use a backend where no other one than inductor is asked for.

    The modes and options that are meant for inductor are left out.
    """
    original = torch.compile

    def compile_(model: Any = None, **given: Any) -> Any:
        if given.get("backend") in (None, "inductor"):
            given = {**given, "backend": backend, "mode": None, "options": None}
        return original(model, **given)

    torch.compile = compile_
    try:
        yield
    finally:
        torch.compile = original


def is_operation(target: Any) -> bool:
    """Whether a node calls an operation of ATen, and not a function of Python."""
    return isinstance(target, torch._ops.OpOverload)


def propagated(module: GraphModule, given: Iterable[Any]) -> GraphModule:
    """A copy of a graph whose nodes know the sizes that some arguments have."""
    fakes, copied = import_module("torch._subclasses.fake_tensor"), import_module("copy")
    made: Any = copied.deepcopy(module)
    mode = fakes.FakeTensorMode(allow_non_fake_inputs=True)
    like = [
        mode.from_tensor(a, static_shapes=True) if isinstance(a, torch.Tensor) else a for a in given
    ]
    for node, value in zip(made.graph.find_nodes(op="placeholder"), like, strict=True):
        if not isinstance(value, torch.Tensor):
            node.meta["val"] = value
    prop = import_module("torch.fx.passes.fake_tensor_prop").FakeTensorProp
    prop(made, mode).propagate_dont_convert_inputs(*like)
    return made
