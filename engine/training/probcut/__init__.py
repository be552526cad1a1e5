"""The fit of ProbCut's error model to nodes of real searches."""
