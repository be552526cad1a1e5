"""The commands of the text protocol, a function each, in modules by subject."""
