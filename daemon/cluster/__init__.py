"""Searches on many machines, by dask.distributed; loaded where a cluster was named, with the extra ``cluster``."""
