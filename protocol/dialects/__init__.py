"""The texts of Edax's protocol: formatters, without state or I/O."""
