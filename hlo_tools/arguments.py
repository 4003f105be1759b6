"""The command-line parser of every verb: it refuses options that would have no effect.

A number that makes no sense, an empty word, and an option that has no effect beside the others are
bad usage, with a message that says why. This file imports nothing of the project, so that the
command answers at once.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option whose value is a whole number, and not less than another."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"`{text}` is no whole number from {least} on")
        return number

    return read


def tolerance(text: str) -> float:
    """The type of an option whose value is a finite number that is not negative."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"`{text}` is no finite number from 0 on")
    return number


def positive_number(text: str) -> float:
    """The type of an option whose value is a finite number above 0."""
    number = tolerance(text)
    if number == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is no finite number above 0")
    return number


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs to the width of the terminal, and leaves indented lines as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        result: list[str] = []
        for fixed, lines in groupby(text.splitlines(), lambda line: line[:1] in ("", " ")):
            block = list(lines)
            result += block if fixed else textwrap.wrap(" ".join(block), width - len(indent))
        return "\n".join(f"{indent}{line}".rstrip() for line in result)


def _spelled(action: argparse.Action) -> str:
    """A positional argument in a line about the usage."""
    name = action.metavar or action.dest
    if action.choices is not None:
        name = "|".join(map(str, action.choices))
    many = {"+": f"{name} [{name} ...]", "*": f"[{name} ...]", "?": f"[{name}]"}
    return many.get(str(action.nargs), str(name))


class Parser(argparse.ArgumentParser):
    """An argument parser that knows which options have an effect only beside which others.

    A condition is an option, `--profile`, or an option with its value, `--platform c`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, **options)
        self._needs: list[tuple[Sequence[str], Sequence[str]]] = []
        self._excludes: list[tuple[str, Sequence[str]]] = []
        self._choices: list[Sequence[str]] = []
        self._behind = ""

    def error(self, message: str) -> NoReturn:
        """End the program with an error and one line about the usage."""
        words = [self.prog, *map(_spelled, self._get_positional_actions())]
        usage = self.usage or " ".join([*words, "[OPTION ...]"])
        usage_line = f"usage: {usage}; `{self.prog} --help` tells more"
        self.exit(2, f"{self.prog}: error: {message}\n{usage_line}\n")

    def only_with(self, options: Sequence[str], *conditions: str) -> None:
        """Refuse each of some options where none of the conditions holds."""
        self._needs.append((options, conditions))

    def not_with(self, option: str, *others: str) -> None:
        """Refuse an option beside any of the others."""
        self._excludes.append((option, others))

    def one_of(self, *options: str) -> None:
        """Ask for exactly one of some options."""
        self._choices.append(options)

    def behind_dashes(self, name: str) -> None:
        """Let the words after `--` be the value of a name, and not this parser's."""
        self._behind = name

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The values of all arguments.

        Where words make no sense, the message goes to standard error and the program ends with
        status 2.
        """
        end = words.index("--") if self._behind and "--" in words else len(words)
        words, behind = words[:end], words[end + 1 :]
        # Without defaults, only options that are written have a value.
        defaults = {action.dest: action.default for action in self._actions}
        for action in self._actions:
            action.default = argparse.SUPPRESS
        namespace, unknown = self.parse_known_args(words)
        if self._behind:
            setattr(namespace, self._behind, list(behind))
        for action in self._actions:
            action.default = defaults[action.dest]
        if unknown:
            self._refuse(unknown)
        self._check(namespace)
        for action in self._actions:
            if not hasattr(namespace, action.dest):
                many = action.nargs == "*" and action.default is None
                setattr(namespace, action.dest, [] if many else action.default)
        return namespace

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        word = unknown[0].partition("=")[0]
        known = [o for action in self._actions for o in action.option_strings]
        near = get_close_matches(word, known, n=1) if word.startswith("-") else []
        hint = f"; did you mean `{near[0]}`?" if near else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")

    def _check(self, namespace: argparse.Namespace) -> None:
        for action in self._actions:
            value = getattr(namespace, action.dest, None)
            if value == "" or (isinstance(value, list) and "" in value):
                metavar = action.metavar or action.dest
                name = action.option_strings[-1] if action.option_strings else metavar
                self.error(f"argument {name} is empty")
        self._check_choices(namespace)
        for options, conditions in self._needs:
            for option in options:
                if self._holds(namespace, option) and not any(
                    self._holds(namespace, condition) for condition in conditions
                ):
                    self.error(f"{option} has no effect without {' or '.join(conditions)}")
        for option, others in self._excludes:
            for other in others:
                if self._holds(namespace, option) and self._holds(namespace, other):
                    self.error(f"{option} has no effect beside {other}")

    def _check_choices(self, namespace: argparse.Namespace) -> None:
        for choices in self._choices:
            chosen = [option for option in choices if self._holds(namespace, option)]
            if len(chosen) != 1:
                others = f", not {' and '.join(chosen)}" if chosen else ""
                self.error(f"one of {', '.join(choices)} is needed{others}")

    def _holds(self, namespace: argparse.Namespace, condition: str) -> bool:
        """Whether an option is given, given a value (`--target=cpu`), or has it (`--stage c`)."""
        if "=" in condition:
            name, _, value = condition.partition("=")
            action = next(a for a in self._actions if name in a.option_strings)
            return str(getattr(namespace, action.dest, None)) == value
        name, _, value = condition.partition(" ")
        action = next(a for a in self._actions if name in (*a.option_strings, a.metavar, a.dest))
        if value:
            return str(getattr(namespace, action.dest, action.default)) == value
        return getattr(namespace, action.dest, None) not in (None, [])
