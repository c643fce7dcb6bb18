"""Judges: models that are asked about what was said, over an endpoint that speaks OpenAI's wire format.

Everything that a judge reads was written by others, and everything it writes may be wrong: a verdict is only
what answers our question in the form that was asked for; all else is an error with its reply kept.
"""
