"""The version of the program, asked from all parts."""

__version__ = "0.14.0"
