"""Kernels: the code that is compiled to machine code. The compiler imports it, and the numba code of training and of
`desdaemon count`, but no search: that calls the compiled library.
"""
