"""PyTorch's own list of core operations: each is compiled, or docs/frontends.md tells why not."""

import re
from pathlib import Path
from typing import Any

from hlo_torch.operations.table import RULES

PAGE = Path(__file__).parents[2] / "docs/frontends.md"


def test_core_aten(torch: Any) -> None:
    from hlo_torch.simpler import decompositions  # noqa: PLC0415 - needs torch

    names = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names()]
    pairs = [name.partition(".") for name in names if ":" not in name]
    packets = [(getattr(torch.ops.aten, name, None), form) for name, _, form in pairs]
    forms = [getattr(packet, form or "default", None) for packet, form in packets]
    core = {form for form in forms if form is not None and torch.Tag.core in form.tags}
    left = {
        str(form).removeprefix("aten.").partition(".")[0]
        for form in core - set(decompositions())
        if str(form).removeprefix("aten.") not in RULES
    }
    (table,) = re.findall(
        r"\| why PyTorch runs it \|\n\| --- .*?\n(.*?)\n\n", PAGE.read_text(), re.DOTALL
    )
    told = {
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert left == told
    assert len(core) > 150
