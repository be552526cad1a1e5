"""Searches on many machines, by dask.distributed; loaded only if a cluster is named. Needs the extra ``cluster``."""
