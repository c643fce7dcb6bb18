"""Targets as data: any service behind HTTP, described by a table of `evalkit.toml` or a file of this package.

spec, rules          what a description may say
templates, paths     values into requests, and out of what comes back
frames               one response: texts (transcript), tools (calls), documents, other findings
lookup               the evidence, where a request of its own brings it
asking, opening      a case put to the target, and the target made ready for that
ready, configured    the descriptions that come with the package, and those of a project
"""
