"""Every expander."""

from __future__ import annotations

from optimizer.expanders import (
    logistic_expander,
)

MODULES = (logistic_expander,)
