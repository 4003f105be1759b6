"""Backend configurations of instructions: JSON, or a backend's own text."""

from __future__ import annotations

import json
from typing import Any, cast


def settings(backend_config: str) -> dict[str, Any] | None:
    """The entries of a backend configuration; none for an empty one, None for other text."""
    if not backend_config:
        return {}
    try:
        config = json.loads(backend_config)
    except ValueError:
        return None
    return cast("dict[str, Any]", config) if isinstance(config, dict) else None
