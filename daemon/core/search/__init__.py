"""Engines and the scheduling of searches: loading, the scheduler, search threads and leases."""
