"""Reports: the score columns of a run as tables, and the tables as things to read.

Every number that is shown comes from the tables, and every row of the tables from the columns: the only mean
made here is the macro mean, which is a mean of theirs. All text that came from outside is hostile, and each
sink escapes it in its own way.
"""
