"""Kernels: the code that is compiled to machine code. Only the compiler imports it."""
