"""The fit of weights to labelled positions."""
