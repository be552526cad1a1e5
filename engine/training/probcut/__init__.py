"""ProbCut's error model, fitted to nodes of real searches."""
