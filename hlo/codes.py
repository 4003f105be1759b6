"""The codes of errors, each with the story that `hlo explain CODE` tells.

Codes are stable: a number once used keeps its meaning. HLO001 to HLO019 are about the text,
HLO020 to HLO099 about shapes and well-formedness, HLO100 to HLO149 about evaluation, HLO150 to
HLO179 about the optimizer, HLO180 to HLO199 about the backends and HLO200 to HLO219 about the
command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """What one error code means.

    Attributes
    ----------
    title : a few words, lower case, without a full stop.
    explanation : why it is an error and what to do about it, in a few sentences.
    """

    title: str
    explanation: str


CODES: Final[dict[str, Code]] = {
    # Evaluation: what an opcode means for values
    "HLO101": Code(
        "an opcode is not defined for an element type",
        "Square roots of integers, shifts of floats or negated preds mean nothing in HLO. Convert "
        "the operand first, or use the logical opcodes for pred.",
    ),
    # The command line
    "HLO200": Code(
        "a file cannot be read or written",
        "The file does not exist, is a directory, or may not be opened. `-` stands for standard "
        "input.",
    ),
    "HLO201": Code(
        "the input is no HLO text",
        "The input is binary, or in another language. The command reads HLO as text, the form "
        "that `compiled.as_text()` in JAX and `--xla_dump_to` give. A serialized HloModuleProto "
        "(`.pb`) can be dumped as text with `--xla_dump_hlo_as_text`.",
    ),
    "HLO202": Code(
        "inputs and parameters do not match",
        "A module needs as many inputs as its entry computation has parameters, each of its "
        "parameter's element type and dimensions; an input for a tuple gives its arrays in order. "
        "Inputs are never converted silently.",
    ),
    "HLO203": Code(
        "the platform is not built yet",
        "The platform is known, but this version cannot run modules on it.",
    ),
    "HLO204": Code(
        "there is no such name",
        "No opcode, error code or platform has this name. `hlo ops` lists the opcodes and "
        "`hlo explain` the error codes.",
    ),
    "HLO205": Code(
        "a value is not a number",
        "The run was asked to stop at the first NaN or infinity, and this instruction computed "
        "one from operands that had none.",
    ),
}
