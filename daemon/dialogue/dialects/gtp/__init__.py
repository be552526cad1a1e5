"""The Go Text Protocol over a session: the dialogue, the analysis streams for Sabaki, the live graphics for GoGui."""

from .dialect import SPOKEN, GtpDialect

__all__ = ["SPOKEN", "GtpDialect"]
