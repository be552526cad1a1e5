"""Fits of weights to labelled positions."""
