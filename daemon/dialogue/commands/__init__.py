"""The commands of the text protocol: one function each, in a module for each subject."""
