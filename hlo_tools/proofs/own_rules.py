"""Rules in a file of the user: `my_rules.py:RULES`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hlo.errors.error import HloError, did_you_mean
from hlo.support.own_code import load, own_names
from hlo_tools.own_passes import as_rules, is_rules

if TYPE_CHECKING:
    from optimizer.rewriting.rule import Rule


def names_a_file(word: str) -> bool:
    """Whether a word is a file of Python and a name in it."""
    path, colon, _ = word.rpartition(":")
    return bool(colon) and path.endswith(".py")


def find_rules(word: str) -> list[Rule]:
    """The rule, or the rules, that a name in a file refers to.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO204 if it has no such rules, HLO206 if it fails.
    """
    path, _, name = word.rpartition(":")
    loaded = cast("dict[str, Any]", vars(load(Path(path))))
    if not is_rules(loaded.get(name)):
        known = [known for known in own_names(path, loaded, is_rules) if is_rules(loaded[known])]
        notes = did_you_mean(name, known) or (f"there are: {', '.join(known) or 'none'}",)
        raise HloError("HLO204", f"{path} has no rules `{name}`", notes=notes)
    return list(as_rules(loaded[name]).rules)
