"""From typed Python functions to loaded machine code."""
