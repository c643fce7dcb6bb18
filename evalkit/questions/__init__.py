"""What a judge is asked: the words, in files of `texts`, and the questions that rules and measures have in common.

A rule and a measure that want to know the same ask the same question; they differ in what they make of the answer.
"""
