"""From labelled positions to weights."""
