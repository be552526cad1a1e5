"""The texts of the protocols that GUIs speak: parsers and formatters, without state or I/O."""
