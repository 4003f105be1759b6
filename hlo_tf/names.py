"""The names that TensorFlow gives to functions: `__inference_step_12`, `__backward_step_9_31`."""

from __future__ import annotations

import re

_PREFIX = re.compile(r"^(?:__inference_)?_*")
_ROLES = {"forward_": "values, for a gradient", "backward_": "gradient"}


def plain_name(name: str) -> str:
    """A function's name, as the user has given it, without TensorFlow's prefixes and counters."""
    plain = _without_counters(name)
    for prefix in _ROLES:
        plain = plain.removeprefix(prefix)
    return plain or name


def module_name(name: str) -> str:
    """The name of a function's module, which is the same each time that a script is run."""
    return re.sub(r"[^\w.-]", "_", _without_counters(name)).strip("_") or "function"


def role_of(name: str) -> str:
    """The part of the user's function that a function of TensorFlow computes."""
    plain = _without_counters(name)
    return next((role for prefix, role in _ROLES.items() if plain.startswith(prefix)), "values")


def _without_counters(name: str) -> str:
    return re.sub(r"(?:_\d+)+$", "", _PREFIX.sub("", name))
