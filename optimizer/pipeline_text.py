"""Pipelines as text: `algebraic-simplifier{strict=true},dce,fix(cse,dce)`.

A pass is its name, with options in braces where they differ from their defaults. `fix(...)`
repeats what it holds until nothing changes; any other name with parentheses is a pipeline.

    pipeline := pass ("," pass)*
    pass     := name options? | name options? "(" pipeline ")"
    options  := "{" (key "=" values) ("," key "=" values)* "}"
    values   := value ("," value)*

Several values are those of an option that is a list of numbers: `derivative{wrt=0,2}`. A `-` in it
stands for no number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, Source, Span, did_you_mean
from optimizer.passes import Fixpoint, Pipeline, find

if TYPE_CHECKING:
    from optimizer.log import Pass

# A name may also be that of a file, in which spaces are no ends: `../my folder/my_pass.py:MyPass`.
_FILE = r"[^\s,(){}=][^,(){}=\n]*?\.py(?::\w+)?(?=\s*(?:[,(){}=]|$))"
_TOKEN = re.compile(rf"\s*({_FILE}|[A-Za-z0-9_.:/\\~+\-]+|[(){{}},=])")
FIXPOINT = "fix"


@dataclass(frozen=True)
class PassMaker:
    """A maker of a pass.

    Attributes
    ----------
    title : what messages call it.
    defaults : its options.
    make : takes some of the options by name, with `_` for `-`.
    """

    title: str
    defaults: Mapping[str, Any]
    make: Callable[..., Pass]


Finder = Callable[[str], PassMaker]


def listed(name: str) -> PassMaker:
    """The pass of a name in the table of passes.

    Raises
    ------
    HloError
        HLO151 if no pass has the name.
    """
    return _maker(name, find(name))


def _maker(title: str, pass_class: type[Any]) -> PassMaker:
    return PassMaker(title, option_defaults(pass_class), pass_class)


def parse_pipeline(text: str, find_pass: Finder = listed) -> Pipeline:
    """The pipeline of a text, such as `fix(algebraic-simplifier{strict=true},cse),fusion`.

    Parameters
    ----------
    text : names of passes, with options in braces; `fix(...)` repeats passes until none changes
        anything.
    find_pass : gives the pass of a name.

    Raises
    ------
    HloError
        HLO150 where the text makes no sense, HLO151 for an unknown pass, HLO152 for an option that
        a pass has not, or a value that the option cannot have.
    """
    reader = _PipelineReader(text, find_pass)
    passes = reader.passes()
    if reader.token:
        raise reader.error(f"unexpected `{reader.token}`")
    return Pipeline("pipeline", passes)


class _PipelineReader:
    """Walks over the text, a token at a time."""

    def __init__(self, text: str, find_pass: Finder) -> None:
        self.find_pass = find_pass
        self.source = Source(text, "<pipeline>")
        self.start = self.end = 0
        self.token = ""
        self.advance()

    def advance(self) -> str:
        """Move to the next token, "" at the end, and return the one before it."""
        passed = self.token
        match = _TOKEN.match(self.source.text, self.end)
        rest = self.source.text[self.end :].strip()
        self.start = match.start(1) if match else len(self.source.text) - len(rest)
        self.token = match[1] if match else rest[:1]
        self.end = self.start + len(self.token)
        return passed

    def error(self, message: str, code: str = "HLO150", notes: tuple[str, ...] = ()) -> HloError:
        """An error at the current token."""
        return HloError(code, message, Span(self.source, self.start, self.end), notes)

    def unexpected(self, wanted: str) -> HloError:
        """An error at the current token, in whose place something else is wanted."""
        there = f"`{self.token}`" if self.token else "the end"
        return self.error(f"expected {wanted}, not {there}")

    def expect(self, token: str) -> None:
        if self.token != token:
            raise self.unexpected(f"`{token}`")
        self.advance()

    def word(self, expected: str) -> str:
        if not self.token or self.token in "(){},=":
            raise self.unexpected(expected)
        return self.advance()

    def passes(self) -> tuple[Pass, ...]:
        """One or more, separated by commas."""
        passes = [self.one()]
        while self.token == ",":
            self.advance()
            passes.append(self.one())
        return tuple(passes)

    def one(self) -> Pass:
        """A pass, a pipeline or a fixpoint."""
        span = Span(self.source, self.start, self.end)
        name = self.word("the name of a pass")
        options = self.options()
        if self.token == "(":
            self.advance()
            inner = self.passes()
            self.expect(")")
            composite = Fixpoint if name == FIXPOINT else Pipeline
            return composite(name, inner, **self.values(_maker(name, composite), options))
        try:
            maker = self.find_pass(name)
        except HloError as error:
            raise (error if error.span else error.at(span)) from None
        return maker.make(**self.values(maker, options))

    def options(self) -> dict[str, tuple[str, Span]]:
        """Key to value text, with the place of the key."""
        options: dict[str, tuple[str, Span]] = {}
        if not self.passes_over("{"):
            return options
        word, span = self.option()
        while word:
            if word in options:
                raise HloError("HLO152", f"option `{word}` is given twice", span)
            self.expect("=")
            key, place, values, word = word, span, [self.word("a value")], ""
            while not word and self.passes_over(","):
                following, span = self.option()
                if self.token == "=":
                    word = following
                else:
                    values.append(following)
            options[key] = (",".join(values), place)
        self.expect("}")
        return options

    def option(self) -> tuple[str, Span]:
        """The name of an option, or one more value of the option before, and its place."""
        span = Span(self.source, self.start, self.end)
        return self.word("an option"), span

    def passes_over(self, token: str) -> bool:
        """Move past a token, if it is the next."""
        there = self.token == token
        if there:
            self.advance()
        return there

    def values(self, maker: PassMaker, options: dict[str, tuple[str, Span]]) -> dict[str, Any]:
        """Options as the pass wants them."""
        defaults = maker.defaults
        values: dict[str, Any] = {}
        for key, (text, span) in options.items():
            if key not in defaults:
                message = f"{maker.title} has no option `{key}`"
                known = f"its options are: {', '.join(defaults)}" if defaults else "it has none"
                raise HloError("HLO152", message, span, did_you_mean(key, defaults) or (known,))
            values[key.replace("-", "_")] = _value(text, defaults[key], span)
        return values


def option_defaults(pass_class: type[Any]) -> dict[str, Any]:
    """The options of a pass, as text spells them, with their defaults."""
    if not is_dataclass(pass_class):
        return {}
    return {
        f.name.replace("_", "-"): f.default for f in fields(pass_class) if f.default is not MISSING
    }


_WANTED = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple: "whole numbers between commas",
}


def _value(text: str, default: Any, span: Span) -> Any:
    """An option's value, of the type that its default has."""
    kind = cast("type[Any]", type(default))
    try:
        if kind is tuple:
            return tuple(None if word == "-" else int(word) for word in text.split(","))
        return {"true": True, "false": False}[text] if kind is bool else kind(text)
    except (KeyError, TypeError, ValueError):
        wanted = _WANTED.get(kind, f"a {kind.__name__}")
        raise HloError("HLO152", f"expected {wanted}, not `{text}`", span) from None


def pipeline_text(pass_: Pass) -> str:
    """The text that `parse_pipeline` reads as this pass; of a pipeline without its own name."""
    if isinstance(pass_, Pipeline):
        return ",".join(map(_text, pass_.passes))
    return _text(pass_)


def _text(pass_: Any) -> str:
    defaults = option_defaults(cast("type[Any]", type(pass_)))
    options = {key: getattr(pass_, key.replace("-", "_")) for key in defaults}
    shown = [f"{k}={spelled(v)}" for k, v in options.items() if v != defaults[k]]
    text = pass_.name + ("{" + ",".join(shown) + "}" if shown else "")
    if isinstance(pass_, Pipeline | Fixpoint):
        text += "(" + ",".join(map(_text, pass_.passes)) + ")"
    return text


def spelled(value: Any) -> str:
    """The value of an option, as text spells it."""
    if isinstance(value, tuple):
        return ",".join("-" if n is None else str(n) for n in cast("tuple[Any, ...]", value))
    return str(value).lower() if isinstance(value, bool) else str(value)
