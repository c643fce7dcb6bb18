"""HTTP as it is measured: bytes with stamps, exchanges that never raise, retries, and masking of secrets.

Whoever talks to a service, the system under test or a judge, does it through here.
"""
