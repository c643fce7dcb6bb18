"""A verdict as JUnit XML, well-formed whatever the texts hold: each check is a test case.

A regression is a failure, what cannot be decided an error. Characters that XML cannot hold are spelled out.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from evalkit.report.text import visible
from evalkit.report.verdict import CANNOT_DECIDE, REGRESSION, Check, Outcome, Verdict

__all__ = ["verdict_junit"]

SUITE = "evalkit.gate"
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS: dict[Outcome, str] = {REGRESSION: "failure", CANNOT_DECIDE: "error"}


def verdict_junit(verdict: Verdict) -> bytes:
    """The verdict as one test suite in UTF-8: the verdict itself first, then each check."""
    outcomes = [verdict.verdict, *(check.verdict for check in verdict.checks)]
    counts = {
        "name": SUITE,
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count(REGRESSION)),
        "errors": str(outcomes.count(CANNOT_DECIDE)),
        "time": "0",
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", counts | {"skipped": "0"})
    _properties(suite, verdict)
    _case(
        suite,
        "verdict",
        verdict.headline,
        outcome=verdict.verdict,
        told="\n".join([verdict.headline, *verdict.notes]),
    )
    for check in verdict.checks:
        _case(suite, check.title, check.reason, outcome=check.verdict, told=_told(check))
    ET.indent(suites)
    written: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _properties(suite: ET.Element, verdict: Verdict) -> None:
    properties = ET.SubElement(suite, "properties")
    facts = {
        "verdict": verdict.verdict,
        "exit_code": str(verdict.exit_code),
        "run_id": verdict.run_id,
        "base_id": verdict.base_id or "",
    }
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=_safe(value))


def _case(suite: ET.Element, name: str, reason: str, *, outcome: Outcome, told: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=SUITE, name=_safe(name), time="0")
    if outcome in _TAGS:
        ET.SubElement(case, _TAGS[outcome], message=_safe(reason), type=outcome).text = _safe(reason)
    if told:
        ET.SubElement(case, "system-out").text = _safe(told)


def _told(check: Check) -> str:
    parts = [f"found {check.found_text}"] if check.found_text else []
    parts += [f"wanted {check.wanted_text}"] if check.wanted_text else []
    flag = " (flagged)" if check.flagged else ""
    return f"{check.verdict}{flag}: {', '.join([*parts, f'n = {check.n}'])}; {check.reason}"


def _safe(text: str) -> str:
    """The text without what XML cannot hold (`\\u0000` spelled out) and without what nobody sees."""
    return visible(_ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
