"""A library of the engine's inner kernels, compiled only to be tested."""
