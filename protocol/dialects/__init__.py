"""The texts of the protocols that GUIs speak: parsing and formatting, without state or I/O."""
