"""Annotations of instructions beside their meaning: sharding, metadata, backend configuration.

Nothing here changes a value. Passes carry it along; the printer writes it after the attributes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.types.sharding import Sharding
    from hlo.types.values import FrontendAttributes


@dataclass(frozen=True, slots=True)
class Metadata:
    """The origin of an instruction in the user's program.

    Attributes
    ----------
    text : all of it, as XLA prints it between the braces.
    """

    text: str

    @property
    def op_name(self) -> str:
        """The path of names in the framework, such as "jit(f)/dot_general"."""
        return self._string("op_name")

    @property
    def source_file(self) -> str:
        """The user's source; "" where unknown."""
        return self._string("source_file")

    @property
    def source_line(self) -> int:
        """The line of the user's source; 0 where unknown."""
        return self._number("source_line")

    @property
    def stack_frame_id(self) -> int:
        """The row of the module's StackFrames table; 0 where there is none."""
        return self._number("stack_frame_id")

    def _string(self, key: str) -> str:
        match = re.search(rf'(?:^| ){key}="((?:[^"\\]|\\.)*)"', self.text)
        return match[1] if match else ""

    def _number(self, key: str) -> int:
        match = re.search(rf"(?:^| ){key}=(\d+)", self.text)
        return int(match[1]) if match else 0


@dataclass(frozen=True, slots=True)
class Annotations:
    """Everything that an instruction carries beside its meaning.

    Attributes
    ----------
    backend_config, statistics, origin : kept as written, braces or quotes included; "" for none.
    """

    sharding: Sharding | None = None
    frontend_attributes: FrontendAttributes | None = None
    statistics: str = ""
    metadata: Metadata | None = None
    backend_config: str = ""
    origin: str = field(default="")

    def inherited(self, sharding: Sharding | None = None) -> Annotations:
        """The annotations for another instruction: all but those of one backend or one shape."""
        if sharding is self.sharding and not self.backend_config:
            return self
        return replace(self, sharding=sharding, backend_config="")


NO_ANNOTATIONS = Annotations()
