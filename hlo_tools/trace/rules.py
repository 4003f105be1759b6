"""Descriptions of all that makes rewrites: rules, functions, and passes by themselves."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hlo_tools.proofs.record import evidence_of, read_record
from hlo_tools.trace.source import source_of
from optimizer.catalogue import all_rules
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from hlo_tools.proofs.record import Evidence
    from hlo_tools.trace.source import SourceText
    from optimizer.log import Event


@lru_cache(maxsize=1)
def _record() -> dict[str, Evidence]:
    return read_record()


@lru_cache(maxsize=1)
def known_rules() -> frozenset[Rule]:
    """The rules of the optimizer."""
    return frozenset(all_rules())


@lru_cache(maxsize=1 << 10)
def evidence(rule: Rule) -> Evidence | None:
    """The evidence for a rule of the optimizer, as `hlo rules` says; None where there is none."""
    return evidence_of(rule, _record()) if rule in known_rules() else None


def test_status(event: Event) -> str:
    """Whether the rule of a rewrite is proved; "" if it is no rule of the optimizer's."""
    if not isinstance(event.by, Rule) or event.by not in known_rules():
        return ""
    shown = evidence(event.by)
    return f"{shown.word}, tried {shown.tried} times" if shown else "not run yet"


def source(event: Event) -> SourceText | None:
    """The lines of a rewrite's rule, or those of its pass around the line that does it."""
    return source_of(event.location, whole=event.by is not None)


def described(event: Event) -> dict[str, Any]:
    """A rewrite's rule as data, without the parts of the one rewrite."""
    rule = event.by if isinstance(event.by, Rule) else None
    lines = source(event)
    data: dict[str, Any] = {
        "name": event.rule,
        "kind": "rule" if rule else "function" if event.by else "pass",
        "file": lines.file if lines else event.location.file,
        "line": event.location.line,
        "first": lines.first if lines else event.location.line,
        "source": list(lines.lines) if lines else [],
    }
    if rule is not None:
        evidence_of_rule = evidence(rule)
        data |= {
            "text": str(rule),
            "xla": rule.xla,
            "doc": rule.doc.strip(),
            "status": test_status(event),
            "findings": str(evidence_of_rule).splitlines() if evidence_of_rule else [],
        }
    return data
