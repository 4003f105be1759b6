"""Functions whose graphs TensorFlow's own pass has marked: `record_graphs.py` runs each once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

FUNCTIONS: dict[str, Callable[[], Any]] = {}
ROWS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)


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
