"""The book's compiled kernels: one library of their own, made by the engine's compiler."""
