"""Mutations of HLO text, from bytes that flip to modules that still make sense.

Each takes a text and a random generator, and gives another text. None knows whether what it makes
is well formed: the parser and the verifier must say.
"""

import re
from collections.abc import Callable
from random import Random

from hlo.opcode import OPCODES
from tests.fuzz.corpus import ATTRIBUTE, SHAPE, TOKEN, corpus

Mutation = Callable[[str, Random], str]

NUMBERS = (
    *("0", "1", "-1", "2", "3", "5", "7", "8", "64", "65", "127", "128", "255", "-128", "1e999"),
    *("2147483647", "-2147483648", "4294967295", "9223372036854775807", "-9223372036854775808"),
    *("18446744073709551616", "nan", "inf", "-inf", "-0.0", "1e-45", "0.1", "-nan", "1000000"),
)
TYPES = (
    *("pred", "s4", "u4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "bf16", "f16"),
    *("f32", "f64", "c64", "c128", "f8e5m2", "f8e4m3fn", "f8e4m3", "f8e8m0fnu", "f4e2m1fn", "s2"),
)
DIMENSIONS = (0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65, 100)
ALPHABET = " \t\n\r%\"'{}()[]<>=,:;/*\\#@!?._-+0123456789eEfxsROT\x00\x7f\xe9\u2028"
# Elementwise opcodes that take the place of each other, by the number of their operands.
ALIKE = {
    arity: [row.name for row in OPCODES.values() if row.elementwise and row.arity == arity]
    for arity in (1, 2, 3)
}
_DEFINED = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (\S+)", re.MULTILINE)
_INTEGER = re.compile(r"\d+")
_OPCODE = re.compile(r" ([a-z][a-z\-]*)\(")


def _put(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _chosen(found: list[re.Match[str]], random: Random) -> re.Match[str] | None:
    return random.choice(found) if found else None


def bytes_(text: str, random: Random) -> str:
    """Flip, drop, insert, repeat and move some characters."""
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice((1, 1, 2, 8, 40)))
        match random.randrange(5):
            case 0:
                flipped = "".join(chr(ord(c) ^ 1 << random.randrange(7)) for c in text[at:end])
                text = _put(text, at, end, flipped)
            case 1:
                text = _put(text, at, end, "")
            case 2:
                made = "".join(random.choices(ALPHABET, k=random.choice((1, 2, 5))))
                text = _put(text, at, at, made)
            case 3:
                text = _put(text, at, at, text[at:end] * random.choice((1, 2, 50)))
            case _:
                other = random.randrange(len(text) + 1)
                text = _put(text, other, other, text[at:end])
    return text


def tokens(text: str, random: Random) -> str:
    """Drop, repeat, exchange and replace some words, numbers and signs."""
    found = TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(found))
        match random.randrange(5):
            case 0:
                found[at] = ""
            case 1:
                found.insert(at, found[at])
            case 2:
                other = random.randrange(len(found))
                found[at], found[other] = found[other], found[at]
            case 3:
                numbers = [i for i, token in enumerate(found) if token[:1].isdigit()]
                if numbers:
                    found[random.choice(numbers)] = random.choice(NUMBERS)
            case _:
                found[at] = random.choice(corpus().tokens)
    return "".join(found)


def structure(text: str, random: Random) -> str:
    """Drop, repeat and move lines, take lines and computations of other texts, nest brackets."""
    lines = text.splitlines(keepends=True)
    for _ in range(random.choice((1, 1, 2))):
        at = random.randrange(len(lines))
        match random.randrange(6):
            case 0:
                lines[at] = ""
            case 1:
                lines.insert(random.randrange(len(lines)), lines[at])
            case 2:
                other = random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines.insert(at, f"{random.choice(corpus().lines)}\n")
            case 4:
                other = random.choice(corpus().files).split("\n\n")
                lines.insert(at, f"\n{random.choice(other)}\n\n")
            case _:
                opened, closed = random.choice(("()", "{}", "[]"))
                depth = random.choice((1, 5, 60, 2000))
                line = lines[at]
                start = random.randrange(len(line) + 1)
                end = random.randrange(start, len(line) + 1)
                inner = opened * depth + line[start:end] + closed * depth
                lines[at] = _put(line, start, end, inner)
    return "".join(lines)


def attributes(text: str, random: Random) -> str:
    """Change, drop, add and exchange attributes of instructions and of the module."""
    for _ in range(random.choice((1, 1, 2))):
        found = list(ATTRIBUTE.finditer(text))
        one = _chosen(found, random)
        match random.randrange(4) if one else 3:
            case 0 if one:
                integers = list(_INTEGER.finditer(text, one.start(2), one.end(2)))
                number = _chosen(integers, random)
                if number:
                    new = random.choice((*NUMBERS[:8], str(int(number[0]) + 1)))
                    text = _put(text, number.start(), number.end(), new)
            case 1 if one:
                text = _put(text, one.start(), one.end(), "")
            case 2 if one:
                like = [a for a in corpus().attributes if a.startswith(f"{one[1]}=")]
                new = random.choice(like or corpus().attributes)
                text = _put(text, one.start(), one.end(), f", {new}")
            case _:
                ends = [m.end() for m in re.finditer(r"\)(?=,|$)", text, re.MULTILINE)]
                at = random.choice(ends) if ends else len(text)
                text = _put(text, at, at, f", {random.choice(corpus().attributes)}")
    return text


def shapes(text: str, random: Random) -> str:
    """Change one shape: its type, a dimension, its rank or its layout."""
    one = _chosen(list(SHAPE.finditer(text)), random)
    if one is None:
        return tokens(text, random)
    kind, _, rest = one[0].partition("[")
    dims, _, layout = rest.partition("]")
    sizes = dims.split(",") if dims else []
    match random.randrange(6):
        case 0:
            kind = random.choice(TYPES)
        case 1 if sizes:
            sizes[random.randrange(len(sizes))] = random.choice(NUMBERS[:14])
        case 2:
            sizes.insert(random.randrange(len(sizes) + 1), str(random.choice(DIMENSIONS)))
        case 3 if sizes:
            at = random.randrange(len(sizes))
            sizes[at] = f"<={sizes[at]}"
        case 4:
            order = [str(i) for i in range(len(sizes))]
            random.shuffle(order)
            layout = f"{{{','.join(order)}}}"
        case _:
            new = random.choice(corpus().shapes)
            return _put(text, one.start(), one.end(), new)
    return _put(text, one.start(), one.end(), f"{kind}[{','.join(sizes)}]{layout}")


def calls(text: str, random: Random) -> str:
    """Change a custom call's target, shapes, operands or configuration; else add one."""
    found = list(re.finditer(r'custom_call_target="([^"]*)"', text))
    one = _chosen(found, random)
    if one is None:
        named = _chosen(list(_DEFINED.finditer(text)), random)
        if named is None:
            return text
        shape = random.choice((named[2], random.choice(corpus().shapes)))
        target = random.choice(corpus().targets)
        line = f'  cc = {shape} custom-call({named[1]}), custom_call_target="{target}"\n'
        at = text.find("\n", named.end()) + 1
        return _put(text, at, at, line)
    start = text.rfind("\n", 0, one.start()) + 1
    end = text.find("\n", one.end())
    line = text[start : end if end >= 0 else len(text)]
    match random.randrange(5):
        case 0:
            line = line.replace(one[1], random.choice(corpus().targets))
        case 1 | 2:
            line = shapes(line, random)
        case 3:
            line = re.sub(r"= \d+ :", lambda _: f"= {random.choice(NUMBERS[:14])} :", line, count=1)
        case _:
            line = _other_operand(line, text, random)
    return _put(text, start, start + len(text[start:end]), line)


def donation(text: str, random: Random) -> str:
    """Let a module donate parameters to results, or change what it donates."""
    header = text.find("HloModule")
    end = text.find("\n", header)
    if header < 0 or end < 0:
        return text
    line = text[header:end]

    def index() -> str:
        return "{" + ",".join(str(random.randrange(3)) for _ in range(random.randrange(3))) + "}"

    if "alias={" in line or "donor={" in line:
        numbers = list(_INTEGER.finditer(line, line.find("={")))
        one = _chosen(numbers, random)
        line = _put(line, one.start(), one.end(), str(random.randrange(4))) if one else line
    elif random.random() < 0.6:
        kind = random.choice(("may-alias", "must-alias"))
        entries = [
            f"{index()}: ({random.randrange(3)}, {index()}, {kind})"
            for _ in range(random.choice((1, 1, 2)))
        ]
        line += f", input_output_alias={{ {', '.join(entries)} }}"
    else:
        line += f", buffer_donor={{ ({random.randrange(3)}, {index()}) }}"
    return _put(text, header, end, line)


def resized(text: str, random: Random) -> str:
    """Give another size to all dimensions of one size, or another type to all arrays of one."""
    found = list(SHAPE.finditer(text))
    one = _chosen(found, random)
    if one is None:
        return text
    kind, _, dims = one[0].partition("[")
    sizes = _INTEGER.findall(dims.partition("]")[0])
    if random.random() < 0.4 or not sizes:
        return re.sub(rf"\b{kind}\[", f"{random.choice(TYPES)}[", text)
    old, new = random.choice(sizes), str(random.choice(DIMENSIONS))

    def change(match: re.Match[str]) -> str:
        head, bracket, rest = match[0].partition("[")
        inner, closing, layout = rest.partition("]")
        return head + bracket + re.sub(rf"\b{old}\b", new, inner) + closing + layout

    text = SHAPE.sub(change, text)
    # Limits of slices and sizes of windows are often whole dimensions.
    return (
        re.sub(rf"(?<=[:=x,{{ ]){old}(?=[\]x,}} ])", new, text) if random.random() < 0.5 else text
    )


def opcode(text: str, random: Random) -> str:
    """Put an elementwise opcode in the place of another one."""
    found = [m for m in _OPCODE.finditer(text) if any(m[1] in names for names in ALIKE.values())]
    one = _chosen(found, random)
    if one is None:
        return text
    names = next(names for names in ALIKE.values() if one[1] in names)
    return _put(text, one.start(1), one.end(1), random.choice(names))


def operand(text: str, random: Random) -> str:
    """Let an instruction read another value of the same shape, or make another one the root."""
    if random.random() < 0.3:
        found = list(re.finditer(r"^( +)(?!ROOT )(?=\S+ = )", text, re.MULTILINE))
        one = _chosen(found, random)
        if one is None:
            return text
        start = text.rfind("{\n", 0, one.start()) + 1
        end = text.find("\n}", one.start())
        body = text[start:end].replace("ROOT ", "")
        at = one.end() - start - 5 * text.count("ROOT ", start, one.end())
        body = _put(body, at, at, "ROOT ") if body[at - 1 : at] == " " else body
        # The declared layout of the entry's result is gone with its root.
        text = _put(text, start, end, body)
        return re.sub(r", entry_computation_layout=\{.*\}(?=,|$)", "", text, count=1, flags=re.M)
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines))
    lines[at] = _other_operand(lines[at], text, random)
    return "".join(lines)


def _other_operand(line: str, text: str, random: Random) -> str:
    defined = _DEFINED.findall(text)
    shape_of = dict(defined)
    start = line.find("(", line.find(" = ") + 1)
    used = [m for m in re.finditer(r"[\w.\-]+", line) if m.start() > start and m[0] in shape_of]
    one = _chosen(used, random)
    if one is None:
        return line
    like = [name for name, shape in defined if shape == shape_of[one[0]]]
    chosen = random.choice(like if random.random() < 0.8 else list(shape_of))
    return _put(line, one.start(), one.end(), chosen)


def constant(text: str, random: Random) -> str:
    """Put other numbers into a constant, extremes among them."""
    found = list(re.finditer(r" constant\((.*?)\)", text))
    one = _chosen(found, random)
    if one is None:
        return text
    written = re.sub(
        r"[-\w.+]+",
        lambda m: random.choice(NUMBERS) if random.random() < 0.6 else m[0],
        one[1],
    )
    return _put(text, one.start(1), one.end(1), written)


def repeated(text: str, random: Random) -> str:
    """Append an instruction that is like another one, and let the root of its computation be."""
    found = list(re.finditer(r"^  (?:ROOT )?(%?[\w.\-]+)( = .*)$", text, re.MULTILINE))
    one = _chosen(found, random)
    if one is None:
        return text
    line = _other_operand(one[2], text, random)
    return _put(text, one.end(), one.end(), f"\n  again.{random.randrange(1000)}{line}")


TEXTUAL: dict[str, Mutation] = {
    "bytes": bytes_,
    "tokens": tokens,
    "structure": structure,
    "attributes": attributes,
    "shapes": shapes,
    "custom calls": calls,
    "donation": donation,
}
GENTLE: dict[str, Mutation] = {
    "size": resized,
    "opcode": opcode,
    "operand": operand,
    "constant": constant,
    "repeated": repeated,
    "attributes": attributes,
    "custom calls": calls,
    "donation": donation,
}


def text_of(random: Random) -> tuple[str, str]:
    """A mutated text, and the kind of its last mutation."""
    text = corpus().text(random)
    kind = random.choice(list(TEXTUAL))
    for _ in range(random.choice((0, 0, 1))):
        text = random.choice(list(GENTLE.values()))(text, random)
    return TEXTUAL[kind](text, random) if text else text, kind


def module_of(random: Random) -> tuple[str, str]:
    """A text that was changed so that it is often well formed, and the kind of its last change."""
    text, kind = corpus().text(random), "none"
    for _ in range(random.choice((1, 1, 2, 3))):
        kind = random.choice(list(GENTLE))
        text = GENTLE[kind](text, random)
    return text, kind
