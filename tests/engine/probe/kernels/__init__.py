"""Kernels of the test library."""
