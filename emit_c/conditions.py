"""The conditions of a call in C: with subnormal numbers or without, and on how many threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.subnormals import chosen_subnormals
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.subnormals import Subnormals

_TEXT = """\
struct hlo_choice choice = {{.threads = {threads}}};

// What others call. {about}
int call(const void *const *in, void *const *out, u8 *arena) {{
  const struct hlo_caller caller = hlo_begin_call(&choice, {flush});
  const int status = {entry}(in, out, arena);
  hlo_end_call(&caller);
  return status;
}}
"""
_ABOUT = {
    "flush": "Meanwhile subnormal numbers are zeros, as in XLA's code for CPUs.",
    "keep": "Meanwhile subnormal numbers are kept, as IEEE 754 says.",
}


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions under which a module computes.

    Attributes
    ----------
    subnormals : whether subnormal numbers count as zeros.
    threads : at most so many; 0 for all or one, whichever takes less time.
    """

    subnormals: Subnormals = "flush"
    threads: int = 0

    def text(self, entry: str) -> str:
        """The function that calls the entry, in C."""
        return _TEXT.format(
            entry=entry, threads=self.threads, about=_ABOUT[self.subnormals],
            flush=int(self.subnormals == "flush"),
        )  # fmt: skip

    @property
    def mentions(self) -> Mapping[str, None]:
        """The names of the runtime library that the text has."""
        return dict.fromkeys(("hlo_choice", "hlo_caller", "hlo_begin_call", "hlo_end_call"))


def conditions_for(subnormals: str | None = None, threads: int | None = None) -> Conditions:
    """Conditions as options say, or else as the environment says.

    Raises
    ------
    HloError
        HLO204 for a word that is neither "flush" nor "keep", or for less than one thread.
    """
    if threads is not None and threads < 1:
        raise HloError("HLO204", f"threads={threads}: a call takes at least one thread")
    return Conditions(chosen_subnormals(subnormals), threads or 0)
