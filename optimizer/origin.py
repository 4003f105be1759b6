"""The source location of an instruction in the user's program: the `op_name` of its metadata.

Frameworks write paths there: `jit(main)/layer/add`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Metadata

if TYPE_CHECKING:
    from hlo.attributes.annotations import Annotations
    from hlo.instruction import Instruction

# XLA prints an `op_type` before the `op_name`, and all else after it.
TEXT = r'"(?:[^"\\]|\\.)*"'
METADATA = re.compile(rf"(?P<before>(op_type={TEXT})?) ?(op_name={TEXT})?(?P<after>.*)", re.DOTALL)


def op_name(instr: Instruction) -> str:
    """The name that a framework gave to an instruction; "" for none."""
    return instr.annotations.metadata.op_name if instr.annotations.metadata else ""


def under(prefix: str, name: str) -> str:
    """A name as a path below a prefix, unless it starts with that already."""
    bare = name.removeprefix("/").removesuffix("/")
    if bare.startswith(prefix):
        return name
    return f"{prefix}/{bare}" if bare else prefix


def renamed(annotations: Annotations, path: str) -> Annotations:
    """The same annotations with another `op_name`; the rest of the metadata stays."""
    return replace(annotations, metadata=_renamed(annotations.metadata, path))


# A computation that is called often has the same annotations in every copy.
@lru_cache(maxsize=1 << 12)
def prefixed(annotations: Annotations, prefix: str) -> Annotations:
    """The same annotations with the `op_name` as a path below a prefix."""
    name = annotations.metadata.op_name if annotations.metadata else ""
    return renamed(annotations, under(prefix, name))


def _renamed(metadata: Metadata | None, path: str) -> Metadata:
    old = metadata.text if metadata else ""
    match = METADATA.fullmatch(old)
    before, after = (match["before"], match["after"]) if match else ("", old)
    return Metadata(" ".join(filter(None, (before.strip(), f'op_name="{path}"', after.strip()))))
