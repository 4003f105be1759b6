"""The options that tests and chapters share."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--bless`."""
    parser.addoption(
        "--bless",
        action="store_true",
        help="rewrite what golden tests and chapters expect, where what they check besides holds",
    )
