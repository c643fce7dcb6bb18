"""A verdict as annotations beside the code: GitHub workflow commands, and GitLab's code-quality report."""

from __future__ import annotations

import hashlib
import json

from evalkit.reading.encoding import escaped
from evalkit.report.text import one_line, visible
from evalkit.report.verdict import PASS, REGRESSION, Check, Verdict

__all__ = ["verdict_github", "verdict_gitlab"]

SHOWN = 9
"""GitHub shows ten annotations of a kind a step: the verdict, and so many checks."""

POLICY = "evalkit.toml"


def verdict_github(verdict: Verdict) -> str:
    """Workflow commands, one a line: the verdict, the checks that failed, those that are flagged."""
    lines = [_command("notice" if verdict.verdict == PASS else "error", "evalkit gate", verdict.headline)]
    for level, checks in (("error", verdict.failing), ("warning", verdict.flagged)):
        lines += [_command(level, f"{check.verdict} {check.title}", _told(check)) for check in checks[:SHOWN]]
        if len(checks) > SHOWN:
            lines.append(_command("notice", "evalkit gate", f"{len(checks) - SHOWN} more of this kind"))
    lines += [_command("notice", "evalkit gate", note) for note in verdict.notes]
    return "\n".join(lines) + "\n"


def _command(level: str, title: str, message: str) -> str:
    """One command; nothing in its texts can end it or begin another."""
    escaped = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={escaped}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _told(check: Check) -> str:
    return f"{check.reason} (n = {check.n})"


def verdict_gitlab(verdict: Verdict, *, path: str = POLICY) -> bytes:
    """GitLab's code-quality JSON: the verdict, then each failed or flagged check, placed at the policy.

    A fingerprint is of what was asked, so that GitLab knows a finding again in the next run.
    """
    severity = {PASS: "info", REGRESSION: "critical"}.get(verdict.verdict, "major")
    found = [_issue("evalkit-gate", verdict.headline, severity=severity, path=path, same="verdict")]
    for check in verdict.failing + verdict.flagged:
        level = "minor" if check.flagged and check.verdict == PASS else "major"
        level = "critical" if check.verdict == REGRESSION else level
        text = f"{check.verdict}: {check.title}: {_told(check)}"
        found.append(_issue(f"evalkit-{check.name}", text, severity=level, path=path, same=check.title))
    text = json.dumps(found, ensure_ascii=False, indent=2)
    return escaped(text + "\n")


def _issue(name: str, text: str, *, severity: str, path: str, same: str) -> dict[str, object]:
    return {
        "description": one_line(text),
        "check_name": name,
        "fingerprint": hashlib.sha256(same.encode("utf-8", "backslashreplace")).hexdigest(),
        "severity": severity,
        "location": {"path": path, "lines": {"begin": 1}},
    }
