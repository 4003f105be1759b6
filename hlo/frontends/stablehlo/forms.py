"""Custom forms of operations: which of their items are operands, and which attributes.

Most forms are alike: values are operands, `name = value` and dictionaries are attributes. What is
written otherwise has a function of its own here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hlo.frontends.stablehlo.items import Binding, Keyword, Parentheses, ValueName, Word
from hlo.frontends.stablehlo.operation import BlockArgument, Region
from hlo.frontends.stablehlo.table import plain_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Form = tuple[tuple[str, ...], dict[str, Any], tuple[Region, ...]]
    Reader = Callable[[Sequence[Any], Sequence[Any]], Form]

_FORMS: dict[str, Reader] = {}


def form_of(name: str, items: Sequence[Any], trailers: Sequence[Any]) -> Form:
    """The operands, attributes and regions that an operation is written with."""
    return _FORMS.get(plain_name(name), _usual)(items, trailers)


def _form(*names: str) -> Callable[[Reader], Reader]:
    def enter(read: Reader) -> Reader:
        _FORMS.update(dict.fromkeys(names, read))
        return read

    return enter


def _usual(items: Sequence[Any], trailers: Sequence[Any]) -> Form:
    """Values, in parentheses or not; keywords; dictionaries; words.

    A list after a keyword's is more of its value: `dims = [0] x [1]`. What has no name at all is
    in the attribute `words`.
    """
    attributes: dict[str, Any] = {}
    operands: list[str] = []
    words: list[Any] = []
    last = ""
    for item in _flat(items):
        match item:
            case ValueName():
                operands.append(str(item))
            case Keyword(name, value):
                attributes[name], last = value, name
            case dict():
                attributes |= item
            case Word("x"):
                pass
            case tuple() if last:
                before: Any = attributes[last]
                lists: tuple[Any, ...] = before if isinstance(before, _Lists) else (before,)
                attributes[last] = _Lists((*lists, cast("Any", item)))
            case _:
                words.append(item)
    if words:
        attributes["words"] = tuple(words)
    regions = tuple(trailer for trailer in trailers if isinstance(trailer, Region))
    for trailer in trailers:
        attributes |= trailer if isinstance(trailer, dict) else {}
    return tuple(operands), attributes, regions


class _Lists(tuple[Any, ...]):
    """Several lists that are one value: `[0] x [1]`."""

    __slots__ = ()


def _flat(items: Iterable[Any]) -> list[Any]:
    """The items, with the contents of parentheses in place of these."""
    flat: list[Any] = []
    for item in items:
        flat += _flat(item) if isinstance(item, Parentheses) else [item]
    return flat


@_form("stablehlo.slice")
def _slice(items: Sequence[Any], _trailers: Sequence[Any]) -> Form:
    """`stablehlo.slice %0 [0:2, 1:8:3]`."""
    operand, ranges = items[0], items[1]
    starts, limits, *_ = zip(*(r[:2] for r in ranges), strict=True) if ranges else ((), ())
    strides = tuple(r[2] if len(r) > 2 else 1 for r in ranges)
    attributes = {"start_indices": starts, "limit_indices": limits, "strides": strides}
    return (str(operand),), attributes, ()


@_form("stablehlo.while")
def _while(items: Sequence[Any], trailers: Sequence[Any]) -> Form:
    """`stablehlo.while(%a = %0, %b = %1) : ... cond { ... } do { ... }`."""
    bindings = [item for item in _flat(items) if isinstance(item, Binding)]
    blocks = [item for item in (*items, *trailers) if isinstance(item, Region)]
    operands, attributes, _ = _usual([i for i in items if isinstance(i, dict)], trailers)
    operands = tuple(binding.value for binding in bindings)
    attributes["names"] = tuple(binding.name for binding in bindings)
    return operands, attributes, tuple(blocks)


@_form("stablehlo.reduce")
def _reduce(items: Sequence[Any], trailers: Sequence[Any]) -> Form:
    """`stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1]`.

    Or, after the types, `reducer(%a: T, %b: T) { ... }`: a pair for each operand, of what is
    folded so far and of the next element.
    """
    _, attributes, _ = _usual([i for i in items if not isinstance(i, Parentheses)], ())
    attributes.pop("words", None)
    pairs = [_flat([item]) for item in items if isinstance(item, Parentheses)]
    values = [[str(v) for v in pair if isinstance(v, ValueName)] for pair in pairs]
    operands = (*(pair[0] for pair in values), *(pair[1] for pair in values))
    blocks: list[Region] = [trailer for trailer in trailers if isinstance(trailer, Region)]
    arguments_in_pairs: list[tuple[BlockArgument, ...]] = [
        trailer
        for trailer in trailers
        if isinstance(trailer, tuple) and not isinstance(trailer, Word)
    ]
    if blocks:
        folded, new = (tuple(pair[k] for pair in arguments_in_pairs) for k in (0, 1))
        blocks = [Region((*folded, *new), blocks[0].operations)]
    for trailer in trailers:
        attributes |= trailer if isinstance(trailer, dict) else {}
    return operands, attributes, tuple(blocks)


@_form("sdy.manual_computation", "sdy.named_computation")
def _block(items: Sequence[Any], _trailers: Sequence[Any]) -> Form:
    """`sdy.manual_computation(%0) in_shardings=[...] manual_axes={"x"} (%1: T) { ... }`."""
    regions = [item for item in items if isinstance(item, Region)]
    lists = [item for item in items if isinstance(item, Parentheses)]
    _, attributes, _ = _usual([i for i in items if not isinstance(i, Region | Parentheses)], ())
    operands, arguments = ([i for i in _flat([part]) if not isinstance(i, dict)] for part in lists)
    pairs = zip(arguments[::2], arguments[1::2], strict=True)
    block_arguments = tuple(BlockArgument(str(name), shape) for name, shape in pairs)
    block = Region(block_arguments, regions[0].operations)
    return tuple(str(name) for name in operands), attributes, (block,)


@_form("chlo.scan")
def _scan(items: Sequence[Any], _trailers: Sequence[Any]) -> Form:
    """`chlo.scan(%0) inits (%1) dimension=0 { ... }`: what is scanned, and what is carried."""
    scanned, carried = (item for item in items if isinstance(item, Parentheses))
    rest = [i for i in items if not isinstance(i, Parentheses | Region)]
    _, attributes, _ = _usual(rest, ())
    attributes["carried"] = len(carried)
    operands = tuple(str(name) for name in (*scanned, *carried))
    return operands, attributes, tuple(i for i in items if isinstance(i, Region))


@_form("stablehlo.get_tuple_element")
def _get_tuple_element(items: Sequence[Any], _trailers: Sequence[Any]) -> Form:
    """`stablehlo.get_tuple_element %0[1]`."""
    return (str(items[0]),), {"index": items[1][0]}, ()
