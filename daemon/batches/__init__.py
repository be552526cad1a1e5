"""Batches: many positions, analysed as a job that survives a restart of the daemon."""
