"""Handlers of the text protocol's commands, those of the book excepted. A module's ``HANDLERS`` maps names to
functions.
"""
