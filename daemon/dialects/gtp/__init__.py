"""GTP over a session: the dialogue, and what it streams to programs that show a search."""

from .dialect import SPOKEN, GtpDialect

__all__ = ["SPOKEN", "GtpDialect"]
