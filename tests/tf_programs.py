"""Programs in the manner of TensorFlow's guide and Model Garden, each made for a compiler.

Each function takes `compiled`, which is `tf.function(jit_compile=True)` or `hlo_tf.function`, and
returns a step: a function without arguments whose results the two compilers must agree on, also
when it is called again. What is random has a seed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

Compiler = Callable[..., Any]
Step = Callable[[], Any]


class Pair(NamedTuple):
    left: Any
    right: Any


PROGRAMS: dict[str, Callable[[Compiler], Step]] = {}


def program(make: Callable[[Compiler], Step]) -> Callable[[Compiler], Step]:
    """Enter a program under its function's name."""
    PROGRAMS[make.__name__] = make
    return make


def uniform(*dims: int, seed: int = 0) -> Any:
    """Numbers between -1 and 1."""
    numbers = np.random.default_rng(seed + sum(dims)).uniform(-1, 1, dims)
    return tf.constant(numbers.astype(np.float32))


def classes(count: int, among: int) -> Any:
    return tf.constant(np.random.default_rng(count).integers(0, among, count))


def trained(compiled: Compiler, model: Any, x: Any, y: Any, optimizer: Any) -> Step:
    """Steps of a training loop of one's own."""
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model(x[:1])
    optimizer.build(model.trainable_variables)

    @compiled
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        changes = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(changes, model.trainable_variables, strict=True))
        return loss

    return lambda: step(x, y)


@program
def mnist_with_gradient_tape(compiled: Compiler) -> Step:
    """The guide's own example: a layer, its loss, and its variables updated by hand."""
    weights, bias = tf.Variable(uniform(784, 10)), tf.Variable(tf.zeros(10))
    images, labels = uniform(64, 784), classes(64, 10)

    @compiled
    def train(images, labels):
        images = tf.cast(images, tf.float32) / 2
        with tf.GradientTape() as tape:
            logits = tf.matmul(images, weights) + bias
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(each)
        for variable, change in zip(
            (weights, bias), tape.gradient(loss, (weights, bias)), strict=True
        ):
            variable.assign_sub(0.1 * change)
        return loss

    return lambda: (train(images, labels), bias.read_value())


@program
def keras_convolutions(compiled: Compiler) -> Step:
    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    images, labels = uniform(16, 16, 16, 3), classes(16, 10)
    return trained(compiled, model, images, labels, keras.optimizers.Adam(1e-3))


@program
def keras_lstm(compiled: Compiler) -> Step:
    model = keras.Sequential([keras.layers.LSTM(16, unroll=True), keras.layers.Dense(4)])
    return trained(compiled, model, uniform(8, 6, 5), classes(8, 4), keras.optimizers.RMSprop(1e-3))


@program
def keras_gru_forward(compiled: Compiler) -> Step:
    """A loop over time, which is a while loop of HLO."""
    layer = keras.layers.GRU(12, return_sequences=True)
    x = uniform(4, 7, 5)
    layer(x)
    call = compiled(layer.__call__)
    return lambda: call(x)


@program
def transformer_encoder(compiled: Compiler) -> Step:
    tokens = keras.Input((12,), dtype="int32")
    x = keras.layers.Embedding(50, 16)(tokens)
    attended = keras.layers.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True)
    x = keras.layers.LayerNormalization()(x + attended)
    inner = keras.layers.Dense(16)(keras.layers.Dense(32, activation="gelu")(x))
    x = keras.layers.LayerNormalization()(x + inner)
    model = keras.Model(tokens, keras.layers.Dense(5)(x[:, 0]))
    ids = tf.reshape(tf.range(48) % 50, (4, 12))
    return trained(compiled, model, ids, classes(4, 5), keras.optimizers.AdamW(1e-3))


@program
def residual_block(compiled: Compiler) -> Step:
    image = keras.Input((8, 8, 4))
    x = keras.layers.Conv2D(4, 3, padding="same", use_bias=False)(image)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.Activation("relu")(x)
    x = keras.layers.Conv2D(4, 3, padding="same", use_bias=False)(x)
    x = keras.layers.Flatten()(keras.layers.Activation("relu")(x + image))
    model = keras.Model(image, keras.layers.Dense(3)(x))
    sgd = keras.optimizers.SGD(1e-2, momentum=0.9)
    return trained(compiled, model, uniform(8, 8, 8, 4), classes(8, 3), sgd)


@program
def mixed_precision(compiled: Compiler) -> Step:
    """Variables are f32, and arithmetic is bf16."""
    layers = [keras.layers.Dense(n, dtype="mixed_bfloat16") for n in (32, 4)]
    model = keras.Sequential([*layers, keras.layers.Activation("linear", dtype="float32")])
    return trained(compiled, model, uniform(8, 16), classes(8, 4), keras.optimizers.SGD(1e-2))


@program
def depthwise_mobile_block(compiled: Compiler) -> Step:
    layers = [keras.layers.DepthwiseConv2D(3, strides=2), keras.layers.Conv2D(6, 1)]
    x = uniform(2, 9, 9, 4)
    for layer in layers:
        layer.build(x.shape)
    call = compiled(lambda x: tf.nn.relu6(layers[1](layers[0](x))))
    return lambda: call(x)


@program
def unique_values(compiled: Compiler) -> Step:
    """The number of results depends on values: HLO bounds it."""
    call = compiled(tf.unique)
    return lambda: call(tf.constant([3, 1, 3, 2, 1]))


@program
def masks(compiled: Compiler) -> Step:
    call = compiled(lambda x: (tf.boolean_mask(x, x > 0), tf.where(x > 0)))
    return lambda: call(uniform(9))


@program
def counters_in_variables(compiled: Compiler) -> Step:
    count, rows = tf.Variable(0), tf.Variable(tf.zeros((4, 3)))

    @compiled
    def step(row):
        count.assign_add(1)
        rows.scatter_nd_update([[count % 4]], [row])
        return count.read_value(), rows.read_value()

    return lambda: step(tf.constant([1.0, 2.0, 3.0]))


@program
def variables_as_arguments(compiled: Compiler) -> Step:
    """Variables are passed, not captured."""
    left, right = tf.Variable(uniform(3)), tf.Variable(uniform(3))

    @compiled
    def swap(a, b):
        kept = a.read_value()
        a.assign(b.read_value() * 2)
        b.assign(kept)
        return tf.reduce_sum(a - b)

    return lambda: (swap(left, right), left.read_value(), right.read_value())


@program
def stateless_random_numbers(compiled: Compiler) -> Step:
    @compiled
    def draw(seed):
        normal = tf.random.stateless_normal((3, 4), seed)
        whole = tf.random.stateless_uniform((5,), seed, 0, 100, tf.int32)
        return normal, whole, tf.random.stateless_uniform((2,), seed, dtype=tf.float64)

    return lambda: draw(tf.constant([1, 2]))


@program
def random_generator(compiled: Compiler) -> Step:
    """The state is a variable, and advances."""
    generator = tf.random.Generator.from_seed(7)
    return compiled(lambda: (generator.normal((4,)), generator.uniform((3,))))


@program
def dropout_with_seed(compiled: Compiler) -> Step:
    layer = keras.layers.Dropout(0.5, seed=3)
    call = compiled(lambda x: layer(x, training=True))
    return lambda: call(tf.ones((4, 8)))


@program
def while_loop(compiled: Compiler) -> Step:
    @compiled
    def collatz(n):
        steps = tf.constant(0)
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    return lambda: collatz(tf.constant(27))


@program
def branches(compiled: Compiler) -> Step:
    @compiled
    def choose(x, which):
        if tf.reduce_sum(x) > 0:
            x = x * 2
        return tf.switch_case(which, [lambda: x + 1, lambda: x - 1, lambda: x * x])

    return lambda: [choose(uniform(4), tf.constant(k)) for k in range(3)]


@program
def gradient_of_a_loop(compiled: Compiler) -> Step:
    @compiled
    def newton(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(5):
                y = y - (y * y - x) / (2 * y)
            total = tf.reduce_sum(y)
        return y, tape.gradient(total, x)

    return lambda: newton(tf.constant([2.0, 9.0, 10.0]))


@program
def tensor_arrays(compiled: Compiler) -> Step:
    @compiled
    def running(x):
        made = tf.TensorArray(tf.float32, size=6)
        total = tf.zeros(3)
        for k in tf.range(6):
            total += x[k]
            made = made.write(k, total)
        return made.stack()

    return lambda: running(uniform(6, 3))


@program
def nested_structures(compiled: Compiler) -> Step:
    @compiled
    def step(state, *, scale=2.0):
        pair = Pair(state["a"] * scale, (state["b"][0], None))
        return {"pair": pair, "list": [state["b"][1], 3], "empty": ()}

    return lambda: step({"a": uniform(2), "b": [uniform(3), uniform(1)]}, scale=0.5)


@program
def linear_algebra(compiled: Compiler) -> Step:
    @compiled
    def solve(a, b):
        square = tf.matmul(a, a, transpose_b=True) + tf.eye(4)
        return tf.linalg.cholesky(square), tf.linalg.solve(square, b), tf.linalg.inv(square)

    return lambda: solve(uniform(4, 4), uniform(4, 2))


@program
def spectra(compiled: Compiler) -> Step:
    call = compiled(lambda x: (tf.abs(tf.signal.rfft(x)), tf.signal.irfft(tf.signal.rfft(x))))
    return lambda: call(uniform(3, 16))


@program
def sorting(compiled: Compiler) -> Step:
    call = compiled(lambda x: (tf.sort(x), tf.argsort(x), tf.math.top_k(x, 3)))
    return lambda: call(uniform(4, 7))


@program
def shapes_that_are_arguments(compiled: Compiler) -> Step:
    """The axis and the shape must be constant."""

    @compiled
    def reshape(x, axis, shape):
        return tf.reduce_sum(tf.reshape(x, shape), axis)

    x = uniform(12)
    return lambda: [
        reshape(x, tf.constant(axis), tf.constant(shape))
        for axis in (0, 1)
        for shape in ((3, 4), (6, 2))
    ]


@program
def ragged_rows(compiled: Compiler) -> Step:
    rows = tf.RaggedTensor.from_row_lengths(uniform(6), [1, 0, 3, 2])
    call = compiled(lambda rows: rows * 2)
    return lambda: call(rows)


@program
def einsum_attention(compiled: Compiler) -> Step:
    @compiled
    def attend(q, k, v):
        weights = tf.nn.softmax(tf.einsum("bqhd,bkhd->bhqk", q, k) / 2.0)
        return tf.einsum("bhqk,bkhd->bqhd", weights, v)

    return lambda: attend(*(uniform(2, 5, 3, 4, seed=k) for k in range(3)))


@program
def image_pipeline(compiled: Compiler) -> Step:
    @compiled
    def prepare(images):
        images = tf.image.resize(tf.cast(images, tf.float32), (6, 6))
        images = tf.image.flip_left_right(tf.image.adjust_brightness(images, 0.1))
        return tf.image.per_image_standardization(images)

    bytes_ = tf.constant(np.arange(2 * 8 * 8 * 3).reshape(2, 8, 8, 3) % 256, tf.uint8)
    return lambda: prepare(bytes_)


@program
def embedding_bag(compiled: Compiler) -> Step:
    """A gradient that is sparse."""
    table = tf.Variable(uniform(20, 4))

    @compiled
    def step(ids, segments):
        with tf.GradientTape() as tape:
            bags = tf.math.unsorted_segment_sum(tf.gather(table, ids), segments, 2)
            loss = tf.reduce_sum(bags**2)
        change = tf.convert_to_tensor(tape.gradient(loss, table))
        table.assign_sub(0.1 * change)
        return loss, change

    return lambda: step(tf.constant([1, 5, 5, 7]), tf.constant([0, 0, 1, 1]))
