"""Long lists of examples: some are tried in each run of the tests, and all in the slow ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def thinned(examples: Iterable[Any], of: int) -> list[Any]:
    """The parameters of a test: one in `of` examples as it is, and the others marked as slow."""
    return [
        example if index % of == 0 else pytest.param(example, marks=pytest.mark.slow)
        for index, example in enumerate(examples)
    ]
