"""How a system under test is asked: bytes to events, events to one observation a case.

A target never turns a failed channel into an empty answer: it says which channel failed, and how.
"""
