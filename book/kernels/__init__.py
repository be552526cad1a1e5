"""The book's kernels: a library of their own, compiled by the engine's compiler."""
