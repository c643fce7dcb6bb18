"""Metrics: pure functions from records to score columns, one family a file."""
