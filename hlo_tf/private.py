"""All that PyHLO calls of TensorFlow that is not public.

TensorFlow runs a function that is called, its forward function (which returns what a gradient needs
as well) and its gradient in one place: `AtomicFunction.call_flat`, with flat tensors. A function
with PyHLO's mark runs in PyHLO there. So tapes, structures and variables remain TensorFlow's work,
and gradients of any order are compiled, too.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hlo_tf.tensorflow import part, tf

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    # Runs a marked function: it takes the function and its flat arguments, captured ones last.
    Runner = Callable[[Any, Sequence[Any]], Sequence[Any]]

# The attribute of functions that says who runs them. TensorFlow copies it to forward functions and
# gradients, and reads it itself only in a search for other implementations.
MARK = {"api_preferred_device": "pyhlo"}
_FOLDER = "tensorflow.python.eager"
_atomic: Any = part(f"{_FOLDER}.polymorphic_function.atomic_function").AtomicFunction
_context: Any = part(f"{_FOLDER}.context")
_execute: Any = part(f"{_FOLDER}.execute").execute
_record: Any = part(f"{_FOLDER}.record")
_backprop: Any = part(f"{_FOLDER}.backprop_util")
_handles: Any = part("tensorflow.python.ops.resource_variable_ops")
_ops: Any = part("tensorflow.python.framework.ops")
_kernels: Any = part("tensorflow.python.framework.kernels")
_xla: Any = part("tensorflow.python.ops.control_flow_util")
_runners: list[Runner] = []
# Those of functions without the mark; the innermost is asked, and None is its refusal.
_others: list[Callable[[Any, Sequence[Any]], Sequence[Any] | None]] = []
_original: Any = _atomic.call_flat


def _is_marked(function: Any) -> bool:
    found: Any = getattr(function, "_pyhlo_marked", None)
    if found is None:
        (name,) = MARK
        found = name in (given := function.attributes) and given[name].s == MARK[name].encode()
        function._pyhlo_marked = found
    return found


def run_marked_functions(runner: Runner) -> None:
    """Let a function of Python run the marked functions of TensorFlow from now on."""
    if not _runners:

        def call_flat(function: Any, *arguments: Any) -> Sequence[Any]:
            if tf.executing_eagerly():
                with _record.stop_recording():
                    if _is_marked(function):
                        return _runners[-1](function, arguments)
                    results = _others[-1](function, arguments) if _others else None
                    if results is not None:
                        return results
            return _original(function, *arguments)

        _atomic.call_flat = call_flat
    _runners[:] = [runner]


@contextmanager
def running_others(
    runner: Callable[[Any, Sequence[Any]], Sequence[Any] | None],
) -> Generator[None]:
    """Ask a function of Python first to run each function that has no mark."""
    _others.append(runner)
    try:
        yield
    finally:
        _others.remove(runner)


@contextmanager
def without_clusters() -> Generator[None]:
    """Let TensorFlow run all functions that have no mark."""
    with running_others(lambda _function, _arguments: None):
        yield


def run_as_it_is(concrete: Any, arguments: Sequence[Any]) -> Sequence[Any]:
    """The flat results of a concrete function that TensorFlow runs."""
    return _original(concrete.inference_fn, *arguments)


def is_compiled_by_xla(function: Any) -> bool:
    """Whether a function must be compiled by XLA, as its user has said."""
    given = function.attributes
    return "_XlaMustCompile" in given and given["_XlaMustCompile"].b


def copied(operation: Any, inputs: Sequence[Any]) -> Any:
    """A copy of an operation in the graph that is being built."""
    attrs = {k: v for k, v in operation.node_def.attr.items() if k != "_class"}
    with tf.device(operation.device or None):
        return _default_graph()._create_op_internal(
            operation.type,
            list(inputs),
            dtypes=[t.dtype for t in operation.outputs],
            name=operation.name,
            attrs=attrs,
            op_def=operation.op_def,
        )


def last_operation(kind: str) -> Any:
    """The newest operation of a kind in the graph that is being built."""
    operations = _default_graph().get_operations()
    return next(o for o in reversed(operations) if o.type == kind)


def name_of(function: Any) -> str:
    """The name by which TensorFlow knows a function."""
    return function.name.decode()


def forward_name(function: Any) -> str:
    """The name of the function whose results a gradient takes; "" for other functions."""
    given = function.attributes
    return given["forward_function_name"].s.decode() if "forward_function_name" in given else ""


def forward_and_backward(concrete: Any) -> tuple[Any, Any, list[int | Any]]:
    """A function whose results are enough for its gradient, and the gradient, both flat.

    Returns
    -------
    forward : it has the results of the concrete function, then others.
    backward : a concrete function of the gradients of the results, for all inputs; its structured
        results are None for inputs without a gradient.
    saved : the further inputs of `backward`: numbers of results of `forward`, or constant tensors.
    """
    forward, backward = concrete._delayed_rewrite_functions.forward_backward()
    numbers = {id(t): k for k, t in enumerate(concrete.graph.outputs)}
    return forward, backward, [numbers.get(id(t), t) for t in backward.captured_inputs]


def is_trainable(spec: Any) -> bool:
    """Whether results of a type have gradients."""
    return _backprop.IsTrainable(spec.dtype)


def dtype_of_variable(resource: Any) -> Any:
    """The element type of a variable, by its resource."""
    data = _handles.get_eager_safe_handle_data(resource)
    return tf.as_dtype(data.shape_and_type[0].dtype)


def reader_of_variables(kinds: Sequence[Any]) -> Callable[[list[Any]], Sequence[Any]]:
    """A function that gives the values of variables of some element types.

    One operation reads them all. With an operation for each, 59 variables take seven times as long.
    """
    count = len(kinds)
    attributes = ("N", count, "dtypes", [kind.as_datatype_enum for kind in kinds])

    def read(resources: list[Any]) -> Sequence[Any]:
        if not resources:
            return ()
        found: Any = _execute(b"_ReadVariablesOp", count, resources, attributes, _context.context())
        return found

    return read


# With fewer variables, an operation for each is faster than a call of a function.
_FEW_VARIABLES = 8


def writer_of_variables(kinds: Sequence[Any]) -> Callable[[list[Any], list[Any]], object]:
    """A function that assigns values to variables of some element types.

    One function of TensorFlow assigns them all, in a quarter of the time of an operation for each,
    and on this thread: another one would have to be woken.
    """
    attributes = ("executor_type", "SINGLE_THREADED_EXECUTOR")
    made: list[Any] = []

    def one_by_one(resources: list[Any], values: list[Any]) -> None:
        for resource, value in zip(resources, values, strict=True):
            tf.raw_ops.AssignVariableOp(resource=resource, value=value)

    def together(resources: list[Any], values: list[Any]) -> object:
        if not made:
            types = [tf.TensorSpec(None, kind) for kind in kinds]
            concrete = tf.function(one_by_one, autograph=False)
            made.append(concrete.get_concrete_function(resources, types))
        name, given = made[0].inference_fn.name, [*resources, *values]
        return _execute(name, 0, given, attributes, _context.context())

    return one_by_one if len(kinds) < _FEW_VARIABLES else together


def could_record() -> bool:
    """Whether a tape is there that may ask for a gradient."""
    return _record.could_possibly_record()


def graph_of(function: Any) -> Any:
    """The graph that a function was made of."""
    return function.graph


def flat_outputs(function: Any) -> list[Any]:
    """The types of a function's flat results."""
    return list(function.function_type.flat_outputs)


def hlo_message(name: str, arguments: Sequence[Any]) -> bytes:
    """The same as a serialized message."""
    return _bytes(name, arguments, "hlo_serialized")


def _bytes(name: str, arguments: Sequence[Any], stage: str) -> bytes:
    return _context.context().get_compiler_ir(
        device_name=None,
        platform_name="CPU",
        function_name=name,
        flat_args=list(arguments),
        captured_inputs=[],
        stage=stage,
    )


def kernels_of(op: str) -> list[Any]:
    """The kernels that are registered for an operation, on all devices."""
    return list(_kernels.get_registered_kernels_for_op(op).kernel)


def is_inside_xla() -> bool:
    """Whether a function is traced that the bridge will compile as a whole."""
    return _xla.GraphOrParentsInXlaContext(_default_graph())


def _default_graph() -> Any:
    return tf.compat.v1.get_default_graph()


def array_of(tensor: Any) -> Any:
    """The NumPy array of a tensor's memory, which nobody may write to."""
    return tensor._numpy()


def tensor_of(array: Any, kind: int) -> Any:
    """The tensor of an array, as `tf.convert_to_tensor` gives it after a search for a way.

    No device is named: to read the name takes three times as long as all else, also an empty one's.

    Parameters
    ----------
    kind : TensorFlow's number of the element type.
    """
    return _ops.EagerTensor(array, None, kind)


def call_flat(concrete: Any, arguments: Sequence[Any], captured: Sequence[Any]) -> Any:
    """Call a concrete function with flat tensors; its result has its structure."""
    return concrete._call_flat(list(arguments), list(captured))


def flat_arguments(concrete: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors among the arguments of a concrete function."""
    kind = concrete.function_type
    defaults = {n: p.default for n, p in kind.parameters.items() if p.default is not p.empty}
    return kind.unpack_inputs(kind.bind_with_defaults(args, kwargs, defaults))


def packed(concrete: Any, results: Sequence[Any]) -> Any:
    """The result of a concrete function from its flat results."""
    return concrete.function_type.pack_output(list(results))
