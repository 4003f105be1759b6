"""Functions whose graphs TensorFlow's own pass has marked: `record_graphs.py` runs each once."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

jit_scope: Any = tf.xla.experimental.jit_scope

FUNCTIONS: dict[str, Callable[[], Any]] = {}
ROWS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
STEPS = np.linspace(-1, 1, 40, dtype=np.float32).reshape(2, 5, 4)
IMAGES = np.linspace(0, 1, 384, dtype=np.float32).reshape(2, 8, 8, 3)


def graph(*arguments: Any) -> Callable[[Callable[..., Any]], None]:
    """Enter a function that is called with some arguments."""

    def enter(function: Callable[..., Any]) -> None:
        traced = tf.function(function)
        FUNCTIONS[function.__name__] = lambda: traced(*map(tf.constant, arguments))

    return enter


def text_of(x):
    """A value that leaves XLA and comes back."""
    return tf.strings.to_number(tf.strings.as_string(x))


@graph(ROWS)
def arithmetic(x):
    return tf.reduce_sum(tf.sin(x) * tf.exp(x) + 1.0)


@graph(ROWS)
def three_operations(x):
    return tf.tanh(tf.exp(x * x))


@graph(ROWS)
def two_operations(x):
    return tf.tanh(tf.exp(x))


@graph(ROWS)
def string_in_the_middle(x):
    y = tf.sin(x) * tf.exp(x) + tf.cos(x)
    return tf.cos(text_of(y)) * y + tf.sin(y)


@graph(ROWS)
def cycle_through_a_string(x):
    """The whole would be a cluster but for the way through the string."""
    a = tf.sin(x) * x + tf.cos(x) * 2.0
    b = text_of(tf.reduce_sum(a))
    return a * b + tf.exp(a) * tf.tanh(a)


@graph(ROWS)
def diamond(x):
    a = tf.sin(x * x) + tf.exp(x)
    left, right = text_of(a), tf.tanh(a) * 3.0
    return left * right + tf.sqrt(left * left) - right


@graph(ROWS)
def two_separate_parts(x):
    a = tf.sin(x) * tf.cos(x) + tf.exp(x) * x
    b = tf.strings.length(tf.strings.as_string(x))
    c = tf.cast(b, tf.float32)
    return a, tf.sqrt(c) * tf.exp(-c) + c * c


@graph(ROWS)
def shapes(x):
    size = tf.cast(tf.size(x), tf.float32)
    return tf.reshape(x * size, (tf.shape(x)[1], tf.shape(x)[0])) / size


@graph(ROWS, np.int32([6, 4]))
def shape_argument(x, shape):
    return tf.reshape(tf.sin(x) * x + 1.0, shape) * 2.0


@graph(ROWS)
def shape_of_a_random_number(x):
    """A shape that must be constant and is not."""
    count = tf.random.uniform((), 1, 4, tf.int32)
    return tf.reduce_sum(tf.fill((count, 2), 2.0)) + tf.reduce_sum(tf.sin(x) * x)


@graph(ROWS)
def random_numbers(x):
    noise = tf.random.normal((4, 6)) * tf.random.uniform((4, 6))
    return tf.nn.relu(x + noise) * 2.0


@graph(ROWS)
def stateless_random_numbers(x):
    return x * tf.random.stateless_normal((4, 6), [1, 2]) + tf.exp(x)


@graph(ROWS)
def unique_in_the_middle(x):
    y = tf.cast(tf.round(tf.reshape(x * 3.0 + 1.0, (-1,))), tf.int32)
    found, where = tf.unique(y)
    return found * 2 + 1 - found * found, where


@graph(ROWS)
def where_indices(x):
    found = tf.where(tf.sin(x) * x > tf.exp(x) - 1.0)
    return tf.cast(found, tf.float32) * 2.0 + 1.0


TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1]), tf.constant([10, 20])), 0
)


@graph(ROWS)
def lookup(x):
    """The table is a resource, but no variable."""
    found = tf.cast(TABLE.lookup(tf.cast(x * 2.0, tf.int32)), tf.float32)
    return tf.sin(found) * x + tf.exp(x) * found


VARIABLE, OTHER, COUNT = tf.Variable(ROWS), tf.Variable(ROWS + 1), tf.Variable(0.0)


@graph(ROWS)
def reads_of_variables(x):
    return tf.matmul(x, VARIABLE, transpose_b=True) + tf.reduce_sum(OTHER * 2.0)


@graph(ROWS)
def a_write_after_a_read(x):
    y = VARIABLE * x + 1.0
    VARIABLE.assign(y * 0.5 + x)
    return tf.sin(y)


@graph(ROWS)
def a_read_after_a_write(x):
    """A cluster that writes and then reads has no place for what happens between."""
    VARIABLE.assign_add(x * 2.0 - tf.sin(x))
    return VARIABLE * 2.0 + tf.exp(x)


@graph(ROWS)
def writes_of_two_variables(x):
    VARIABLE.assign_sub(0.1 * x * tf.sin(x))
    OTHER.assign_add(tf.exp(x) * 0.5)
    return VARIABLE + OTHER


@graph(ROWS)
def a_counter(x):
    COUNT.assign_add(1.0)
    return x * COUNT + tf.sin(x) * tf.cos(x)


@graph(ROWS)
def print_in_the_middle(x):
    y = tf.sin(x) * x + tf.exp(x)
    tf.print("sum", tf.reduce_sum(y), output_stream="file:///dev/null")
    return tf.cos(y) * y - tf.tanh(y)


@graph(ROWS)
def assertion(x):
    tf.debugging.assert_less(x, 2.0)
    return tf.sin(x) * x + tf.exp(x) - 1.0


@graph(ROWS)
def numpy_function(x):
    y = tf.sin(x) * x + tf.exp(x)
    z = tf.numpy_function(np.cumsum, [y], tf.float32)
    return tf.exp(-z) * z + tf.sqrt(z * z)


@graph(ROWS)
def conditional(x):
    y = tf.sin(x) * x + tf.exp(x)
    if tf.reduce_sum(y) > 0:
        y = tf.exp(y) * tf.cos(y) + tf.tanh(y) * 3.0
    else:
        y = y * y - 1.0
    return tf.sin(y) + tf.cos(y) * y * 2.0


@graph(ROWS)
def loop(x):
    y = tf.sin(x) * x + tf.exp(x)
    for _ in tf.range(3):
        y = tf.tanh(y) * tf.cos(y) + tf.sin(y) * 0.5
    return tf.exp(y) * y - 1.0


@graph(ROWS)
def loop_with_a_string(x):
    total = tf.constant(0.0)
    for row in x:
        total += text_of(tf.reduce_sum(tf.sin(row) * row + tf.exp(row)))
    return total * 2.0


@graph(ROWS)
def sparse_and_dense(x):
    sparse = tf.sparse.from_dense(x)
    y = tf.sparse.sparse_dense_matmul(sparse, tf.transpose(x))
    return tf.sin(y) * y + tf.exp(y) * 2.0


@graph(ROWS.astype(np.float64), np.int64([1, 2]))
def other_types(x, index):
    return tf.gather(tf.sin(x) * x + tf.exp(x), index), tf.cast(x, tf.float16) * 2.0


@graph(ROWS)
def strings_only(x):
    text = tf.strings.as_string(x)
    return tf.strings.join([text, text]), tf.strings.length(text)


@graph(ROWS)
def gradient_descent(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(x, VARIABLE, transpose_b=True) - 1.0) ** 2)
    VARIABLE.assign_sub(0.1 * tape.gradient(loss, VARIABLE))
    return loss


@graph(ROWS)
def softmax_and_loss(x):
    labels = tf.constant([0, 1, 2, 3])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x * 2.0)
    return tf.reduce_mean(each) + tf.reduce_sum(tf.nn.softmax(x))


@graph(np.ones((1, 8, 8, 3), np.float32), np.ones((3, 3, 3, 4), np.float32))
def convolution(image, kernel):
    y = tf.nn.relu(tf.nn.conv2d(image, kernel, 1, "SAME") + 0.5)
    return tf.nn.max_pool2d(y, 2, 2, "VALID") * 2.0


@graph(ROWS)
def image_file(x):
    pixels = tf.cast(tf.clip_by_value(x, 0, 1) * 255.0, tf.uint8)[..., None]
    back = tf.image.decode_png(tf.io.encode_png(pixels))
    return tf.cast(back, tf.float32) / 255.0 * 2.0 - tf.cast(pixels, tf.float32) * 0.5


@graph(ROWS)
def top_values(x):
    best, where = tf.math.top_k(tf.sin(x) * x + 1.0, 2)
    return tf.exp(best) * best, tf.cumsum(x) * 2.0, where


def network(make: Callable[[], tuple[Callable[..., Any], Any]]) -> None:
    """Enter a function with variables of its own, which are new in each run."""

    def call() -> Any:
        keras.utils.set_random_seed(0)
        function, *arguments = make()
        return tf.function(function)(*map(tf.constant, arguments))

    FUNCTIONS[make.__name__] = call


def trained(model: Any, optimizer: Any, loss_of: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """A training step, and its arguments."""
    model(x)
    optimizer.build(model.trainable_variables)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    return step, x, y


@network
def keras_dense_layers():
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    return trained(
        model, keras.optimizers.Adam(), keras.losses.MeanSquaredError(), ROWS, ROWS[:, :1]
    )


@network
def keras_convolutions():
    model = keras.Sequential(
        [
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(3),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(model, keras.optimizers.SGD(0.1), loss, IMAGES, np.int32([0, 2]))


@network
def keras_lstm():
    """A loop over time, whose gradient keeps lists of tensors."""
    model = keras.Sequential([keras.layers.LSTM(3), keras.layers.Dense(1)])
    return trained(
        model, keras.optimizers.RMSprop(), keras.losses.MeanSquaredError(), STEPS, STEPS[:, 0, :1]
    )


@network
def keras_attention():
    layer = keras.layers.MultiHeadAttention(2, 4)
    layer(STEPS, STEPS)
    return lambda x: layer(x, x, use_causal_mask=True), STEPS


@network
def keras_mixed_precision():
    layers = [keras.layers.Dense(n, dtype="mixed_float16") for n in (8, 4)]
    model = keras.Sequential([*layers, keras.layers.Activation("softmax", dtype="float32")])
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    loss = keras.losses.SparseCategoricalCrossentropy()
    return trained(model, optimizer, loss, ROWS, np.int32([0, 1, 2, 3]))


@network
def keras_dropout():
    """Its seed is a variable, which each run changes."""
    model = keras.Sequential([keras.layers.Dense(8, activation="gelu"), keras.layers.Dropout(0.5)])
    model(ROWS)
    return lambda x: model(x, training=True), ROWS


@network
def random_generator():
    generator = tf.random.Generator.from_seed(3)
    return lambda x: x * generator.normal((4, 6)) + generator.uniform((4, 6)), ROWS


@network
def a_variable_in_a_loop():
    variable = tf.Variable(0.0)

    def count(x):
        for k in tf.range(4):
            variable.assign_add(tf.reduce_sum(tf.sin(x)) * tf.cast(k, tf.float32))
        return variable * 2.0 + tf.exp(x)

    return count, ROWS


@graph(STEPS)
def connectionist_loss(x):
    """A loss of sequences whose alignment with labels is unknown."""
    labels = tf.constant([[1, 2, 2], [3, 1, 0]])
    lengths = tf.constant([3, 2])
    logits = tf.transpose(tf.concat([x, x * 2.0], 1), (1, 0, 2))
    frames = tf.fill([tf.shape(x)[0]], tf.shape(logits)[0])
    return tf.nn.ctc_loss(labels, logits, lengths, frames, blank_index=0)


@graph(STEPS)
def connectionist_loss_of_sparse_labels(x):
    """On a processor it is an operation of its own, which XLA does not have."""
    labels = tf.sparse.from_dense(tf.constant([[1, 2, 2], [3, 1, 0]]))
    logits = tf.transpose(tf.concat([x, x * 2.0], 1), (1, 0, 2))
    frames = tf.fill([tf.shape(x)[0]], tf.shape(logits)[0])
    loss = tf.nn.ctc_loss(labels, logits, None, frames, blank_index=-1)
    return tf.reduce_mean(loss * 0.5) + tf.reduce_sum(tf.sin(x) * x)


@graph(ROWS)
def nested_control_flow(x):
    """Branches in a loop in a branch."""
    total = tf.constant(0.0)
    if tf.reduce_max(x) > 0.5:
        for row in x:
            if tf.reduce_sum(row) > 0:
                total += tf.reduce_sum(tf.sin(row) * row + tf.exp(row))
            else:
                total -= tf.reduce_sum(tf.cos(row) * row - tf.tanh(row))
    return total * 2.0 + tf.exp(total) * total


@graph(ROWS)
def a_loop_that_breaks(x):
    total = tf.constant(0.0)
    for row in x:
        total += tf.reduce_sum(tf.exp(row) * row)
        if total > 1.0:
            break
    return tf.sin(total) * total + tf.cos(total)


@graph(ROWS)
def gradient_of_a_loop(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(3):
            y = tf.sin(y) * y + tf.tanh(y)
        loss = tf.reduce_sum(y * y)
    return tape.gradient(loss, x)


@graph(ROWS, np.int32(1))
def one_of_several(x, choice):
    y = tf.sin(x) * x + tf.exp(x)
    ways = [lambda: tf.exp(y) * y - 1.0, lambda: tf.cos(y) + y * y, lambda: text_of(y) * y]
    return tf.switch_case(choice, ways) * 2.0 + y


@graph(ROWS)
def a_map_of_rows(x):
    found = tf.map_fn(lambda row: tf.cumsum(tf.sin(row)) * row, x)
    return tf.exp(found) * found + 1.0


@graph(ROWS, np.int32([[0, 2], [3, 3]]))
def embedding_gradient(table, ids):
    """The gradient is sparse: places and rows."""
    with tf.GradientTape() as tape:
        tape.watch(table)
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2)
    return tf.convert_to_tensor(tape.gradient(loss, table)) * 0.5 + table


@graph(ROWS)
def a_mask_of_rows(x):
    kept = tf.boolean_mask(x, tf.reduce_sum(x, 1) > 0)
    return tf.exp(kept) * kept + tf.sin(kept) - 1.0


@graph(ROWS)
def segments_and_order(x):
    ids = tf.constant([0, 1, 0, 2])
    sums = tf.math.unsorted_segment_sum(tf.sin(x) * x, ids, 3)
    return tf.gather(sums, tf.argsort(sums[:, 0])) + tf.sort(sums, axis=1)


@graph(ROWS)
def linear_algebra(x):
    square = tf.matmul(x, x, transpose_b=True) + tf.eye(4) * 2.0
    lower = tf.linalg.cholesky(square)
    return tf.linalg.triangular_solve(lower, x) + tf.linalg.inv(square) @ x


@graph(ROWS)
def spectrum(x):
    found = tf.signal.rfft(x * tf.signal.hann_window(6))
    return tf.math.log(tf.abs(found) + 1.0) * 2.0


@graph(ROWS)
def ragged_rows(x):
    rows = tf.RaggedTensor.from_row_splits(tf.reshape(tf.sin(x) * x, (-1,)), [0, 5, 9, 24])
    return tf.reduce_sum(rows * 2.0, axis=1) + tf.exp(tf.reduce_max(rows, axis=1))


@graph(IMAGES)
def image_changes(x):
    y = tf.image.resize(tf.image.flip_left_right(x), (12, 12))
    return tf.image.rgb_to_grayscale(tf.image.adjust_contrast(y, 2.0)) * 0.5


@graph(ROWS)
def manual_scopes(x):
    """Two scopes that ask for XLA: `experimental_jit_scope`."""
    with jit_scope():
        y = tf.sin(x) * x + tf.exp(x)
    with jit_scope():
        z = tf.cos(y) * y + tf.tanh(y)
    return tf.sqrt(z * z) + z * 3.0 - tf.exp(z)
