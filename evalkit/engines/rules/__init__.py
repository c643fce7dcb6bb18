"""Rules over records: each case's rules, and the hard ones that its expectation implies, become verdicts.

A verdict is written into its record, and what all come to beside it. Nothing here asks the target: what it
said is on file. Models are asked where they are handed in; without them what needs one is undecided.
"""

from __future__ import annotations

from evalkit.engines.rules.binding import Models, check_rules, rules_of
from evalkit.engines.rules.faults import RuleFault, rule_faults
from evalkit.engines.rules.running import judge_rules, with_verdicts

__all__ = ["Models", "RuleFault", "check_rules", "judge_rules", "rule_faults", "rules_of", "with_verdicts"]
