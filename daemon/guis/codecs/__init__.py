"""The texts of the protocols of GUIs: parsers and formatters, without state or I/O."""
