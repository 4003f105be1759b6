"""The record of each rule's evidence, when, and for which version: `record.json`.

`make proofs` writes the file. What it says of a rule counts only as long as the rule is what it was
(`optimizer.rewriting.version`); of a rule that is new or was changed it says: not run yet.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hlo_tools.proofs.findings import ProofFinding
from optimizer.rewriting.version import version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from optimizer.rewriting.rule import Rule

RECORD: Final = Path(__file__).with_name("record.json")


@dataclass(frozen=True)
class Evidence:
    """The evidence for one version of a rule.

    Attributes
    ----------
    tried : on how many random left sides and values the promise held.
    day : when, as ISO 8601 spells it.
    """

    version: str
    tried: int
    day: str
    findings: list[ProofFinding] = field(default_factory=list[ProofFinding])

    @property
    def word(self) -> str:
        """The degree of certainty: "proved", "partly", or "sampled"."""
        if all(finding.whole for finding in self.findings):
            return "proved"
        return "partly" if any(finding.how for finding in self.findings) else "sampled"

    def __str__(self) -> str:
        """The findings, a line each, and the trials."""
        tried = f"tried {self.tried} times on {self.day}, version {self.version}"
        return "\n".join([*map(str, self.findings), tried])

    def as_data(self) -> dict[str, Any]:
        """For the file."""
        findings = [finding.as_data() for finding in self.findings]
        return {
            "version": self.version,
            "tried": self.tried,
            "day": self.day,
            "findings": findings,
        }


def today() -> str:
    """The date."""
    return date.today().isoformat()


def read_record(path: Path = RECORD) -> dict[str, Evidence]:
    """The evidence for each rule, by its name; none if there is no file."""
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {name: _evidence(entry) for name, entry in data.items()}


def _evidence(data: dict[str, Any]) -> Evidence:
    findings = [ProofFinding(**finding) for finding in data["findings"]]
    return Evidence(data["version"], data["tried"], data["day"], findings)


def write_record(record: Mapping[str, Evidence], path: Path = RECORD) -> None:
    """Write the file, a line a rule, so that a difference shows the rules that changed."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(evidence.as_data())}" for name, evidence in record.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def evidence_of(rule: Rule, record: Mapping[str, Evidence]) -> Evidence | None:
    """The evidence for a rule as it is now; None if there is none."""
    evidence = record.get(rule.name)
    return evidence if evidence is not None and evidence.version == version(rule) else None
