"""Kernels: the code that is compiled to machine code. Imported only by the compiler, never at start-up."""
