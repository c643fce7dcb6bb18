"""Reports: the score columns of a run as tables, and the tables as things to read.

Every number that is shown comes from the tables, and every row of the tables from the columns: no
mean is made here that the one aggregator did not make. All text that came from outside is hostile, and each
sink escapes it in its own way.
"""
