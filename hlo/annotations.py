"""What any instruction may carry beside its meaning: sharding, metadata, backend configuration.

Nothing here changes a value. Passes carry it along; the printer writes it after the attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.sharding import Sharding
    from hlo.values import FrontendAttributes


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where an instruction came from in the user's program.

    Attributes
    ----------
    text : all of it, as XLA prints it between the braces.
    op_name : the path of names in the framework, such as "jit(f)/dot_general".
    source_file, source_line : the user's source; "" and 0 where unknown.
    stack_frame_id : a row of the module's StackFrames table; 0 where there is none.
    """

    text: str
    op_name: str = ""
    source_file: str = ""
    source_line: int = 0
    stack_frame_id: int = 0


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


NO_ANNOTATIONS = Annotations()
