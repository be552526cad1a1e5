"""Engines and who may use them: loading, scheduling, search threads and leases."""
