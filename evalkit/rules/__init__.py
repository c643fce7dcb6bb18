"""Rules: what a dialog must hold, each a function from case and dialog to a Verdict.

A rule is blind to the other rules, to where the dialog came from and to the network. A model that it needs is
handed to it. What cannot be known is undecided: never passed, never failed.
"""
