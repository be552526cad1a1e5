"""Positions and the scores that they are labelled with."""
