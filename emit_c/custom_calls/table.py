"""The table of custom calls with a kernel in C alone."""

from __future__ import annotations

from codegen.custom_calls import table
from emit_c.table import emits_c

kernel = table.CustomCallKernels(table.kernel)

emits_c.define("custom-call", kernel.entry())
