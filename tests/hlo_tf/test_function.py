"""`hlo_tf.function`: recompilation, its explanation, errors with lines, gradients, Keras."""

from pathlib import Path

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="needs TensorFlow: make frontends")

import keras  # noqa: E402

import hlo_tf  # noqa: E402
from hlo_tf.errors import user_lines  # noqa: E402


def test_each_new_shape_and_each_new_constant_is_compiled_once() -> None:
    @hlo_tf.function
    def total(x, axis, keep=False):
        return tf.reduce_sum(x, axis, keepdims=keep)

    for size, axis, keep in ((10, 0, False), (100, 0, False), (10, 0, False), (10, 1, False)):
        x = tf.reshape(tf.range(size, dtype=tf.float32), (1, size))
        mine = total(x, tf.constant(axis), keep=keep)
        np.testing.assert_array_equal(mine, tf.reduce_sum(x, axis))
    total(tf.ones((1, 10)), tf.constant(1), keep=True)
    assert (
        total.explain()
        == """\
total: 5 calls, 4 programs
program  computes  calls  why
1        values    1, 3   first call: keep is False; x is f32[1,10]; axis must be constant and is 0
2        values    2      compiled again: x is f32[1,100] and was f32[1,10]
3        values    4      compiled again: axis must be constant, is 1 and was 0
4        values    5      compiled again: keep is True and was False
compiled again for each change of its shape and element type: x
compiled again for each change of its value, which must be constant: axis
compiled again for each change of its value, a Python object: keep"""
    )


def test_unknown_sizes_are_compiled_as_they_come() -> None:
    """One trace serves all sizes, and has a program for each."""
    double = hlo_tf.function(lambda x: x * 2, input_signature=[tf.TensorSpec([None, None])])
    for dims in ((2, 3), (4, 1), (2, 3)):
        np.testing.assert_array_equal(double(tf.ones(dims)), np.full(dims, 2.0))
    assert double.experimental_get_tracing_count() == 1
    assert "3 calls, 2 programs" in double.explain()


@pytest.mark.parametrize("axis_is_first", [True, False])
def test_a_constant_beside_another_argument_of_its_type(axis_is_first: bool) -> None:
    """The bridge leaves one of two numbers out of the module, and does not say which."""
    if axis_is_first:
        f = hlo_tf.function(lambda axis, b, x: (tf.reduce_sum(x, axis), b + 1))
        give = lambda axis, b: (axis, b)  # noqa: E731
    else:
        f = hlo_tf.function(lambda b, axis, x: (tf.reduce_sum(x, axis), b + 1))
        give = lambda axis, b: (b, axis)  # noqa: E731
    x = tf.reshape(tf.range(6.0), (2, 3))
    for axis, b in ((0, 5), (1, 6), (1, 7)):
        summed, more = f(*map(tf.constant, give(axis, b)), x)
        np.testing.assert_array_equal(summed, tf.reduce_sum(x, axis))
        assert more == b + 1


def test_an_operation_that_cannot_be_compiled_is_named_with_its_line() -> None:
    """Nothing has run then: the variable is as it was."""
    count = tf.Variable(0)

    @hlo_tf.function
    def label(x):
        count.assign_add(1)
        return tf.strings.as_string(x)  # here

    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        label(tf.ones(3))
    assert raised.value.message.startswith("label cannot be compiled: AsString (No registered")
    assert "operation: AsString" in raised.value.message
    assert f"{__file__}:" in raised.value.message
    assert "return tf.strings.as_string(x)  # here" in raised.value.message
    assert count.numpy() == 0


def test_a_line_is_found_where_tensorflow_leaves_out_folders() -> None:
    """Those that all files of a stack share: here PyHLO lies beside the script."""
    here, package = Path(__file__), Path(hlo_tf.__file__).parent
    stack = [
        f'File "{path.relative_to(package.parent)}", line 1, in f'
        for path in (here, package / "functions.py")
    ]
    (line,) = user_lines("\n".join(stack))
    assert line.startswith(f"{here}:1, in f: ")


def test_a_line_inside_of_a_branch_is_found() -> None:
    @hlo_tf.function
    def label(x):
        if tf.reduce_sum(x) > 0:
            x = tf.strings.to_number(tf.strings.as_string(x))  # inside
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"as_string\(x\)\)  # inside"):
        label(tf.ones(3))


def test_an_argument_that_is_no_number_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="argument input has the type STRING"):
        hlo_tf.function(tf.strings.length)(tf.constant("a"))


def test_a_tape_outside_differentiates() -> None:
    """The values and the gradient are two programs; a variable that is assigned is read before."""
    scale = tf.Variable(2.0)

    def python(x, axis):
        scale.assign_add(1.0)
        return tf.reduce_sum(tf.sin(x) * scale**2, axis)

    found = []
    for compiled in (hlo_tf.function(python), tf.function(python)):
        scale.assign(2.0)
        x = tf.reshape(tf.range(6.0), (2, 3))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = compiled(x, tf.constant(1))
        found.append([y, *tape.gradient(y, [x, scale]), scale.read_value()])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_second_derivatives() -> None:
    cube = hlo_tf.function(lambda x: x**3)
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        slope = inner.gradient(y, x)
    np.testing.assert_allclose([y, slope, outer.gradient(slope, x)], [8.0, 12.0, 12.0])


def test_a_call_and_its_gradient_inside_of_a_function_of_tensorflow() -> None:
    scale = tf.Variable(3.0)

    @hlo_tf.function
    def square(x, factor):
        return tf.reduce_sum(x * x * scale) * factor, x

    @tf.function
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, same = square(x * 2, tf.constant(2.0))
            total = y + tf.reduce_sum(same)
        return total, *tape.gradient(total, [x, scale])

    total, change, of_scale = outer(tf.ones(3))
    np.testing.assert_allclose([total, of_scale], [78.0, 24.0])
    np.testing.assert_allclose(change, np.full(3, 50.0))
    assert "values, for a gradient" in square.explain()


def test_a_call_inside_of_another_compiled_function_is_part_of_it() -> None:
    inner = hlo_tf.function(lambda x: x + 1)
    outer = hlo_tf.function(lambda x: inner(x) * 2)
    np.testing.assert_array_equal(outer(tf.ones(2)), [4.0, 4.0])
    assert "0 programs" in inner.explain()


def test_random_numbers_without_a_seed_go_on() -> None:
    draw = hlo_tf.function(lambda: tf.random.uniform((4,)))
    first, second = draw().numpy(), draw().numpy()
    assert (first != second).all()


def test_a_method_belongs_to_its_object() -> None:
    class Scaled:
        def __init__(self, by: float) -> None:
            self.by = by

        @hlo_tf.function
        def times(self, x):
            return x * self.by

    two, three = Scaled(2.0), Scaled(3.0)
    assert [float(s.times(tf.constant(5.0))) for s in (two, three, two)] == [10.0, 15.0, 10.0]


def test_every_stage_of_a_function_has_a_text() -> None:
    square = hlo_tf.function(lambda x: tf.reduce_sum(x * x))
    stage = square.get_compiler_ir(tf.ones(8))
    assert stage("hlo").startswith("HloModule lambda")
    assert "fusion" in stage("optimized_hlo")
    assert "void run(" in stage("c") or "int run(" in stage("c")
    assert stage("svg").startswith("<svg")
    for name in ("buffers", "loops", "dot", "cuda"):
        assert stage(name)
    with pytest.raises(ValueError, match="did you mean `buffers`"):
        stage("bufers")


@pytest.fixture
def digits() -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(0)
    return numbers.normal(size=(40, 8)).astype(np.float32), numbers.integers(0, 3, 40)


def classifier() -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dropout(0.2, seed=1),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(3),
    ]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], jit_compile=True)
    return model


def test_keras_models_train_as_with_xla(digits: tuple[np.ndarray, np.ndarray]) -> None:
    """The last batch is smaller, so each step is compiled twice."""
    found = []
    for model in (classifier(), hlo_tf.keras(classifier())):
        options = {"batch_size": 16, "verbose": 0}
        history = model.fit(*digits, epochs=2, shuffle=False, validation_split=0.2, **options)
        values = model.evaluate(*digits, **options)
        found.append([*history.history.values(), values, model.predict(digits[0], **options)])
    for theirs, mine in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)
    assert "train_step: 4 calls" in model.pyhlo_steps["train"].explain()
