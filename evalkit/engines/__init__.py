"""Engines: where score columns are computed; the same numbers wherever that is."""
