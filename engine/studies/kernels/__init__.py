"""Compiled code of the counts; see `desdaemon.engine.kernels` for the rules of kernels."""
