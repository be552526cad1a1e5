"""All that the core takes of the book: its look-ups, its files, and how commands search and are stopped."""

from __future__ import annotations

from .book import Book, Evaluate
from .changes import GivenCommand
from .choose import MoveChoice, choose, line
from .editing.engine_evaluator import Searches
from .editing.rounds import CommandProgress, Worker
from .errors import BookError, ReadOnly, WriteFailed
from .formats.registry import Opened, overlay_base, read, shipped, write_native
from .grade import Grades, ReportedMove, TooMany
from .memory.arena import ARENA
from .progress import ProgressCallback, WorkCancelled
from .record import Results
from .storage.store import Store, in_use

__all__ = [
    "ARENA",
    "Book",
    "BookError",
    "CommandProgress",
    "Evaluate",
    "GivenCommand",
    "Grades",
    "MoveChoice",
    "Opened",
    "ProgressCallback",
    "ReadOnly",
    "ReportedMove",
    "Results",
    "Searches",
    "Store",
    "TooMany",
    "WorkCancelled",
    "Worker",
    "WriteFailed",
    "choose",
    "in_use",
    "line",
    "overlay_base",
    "read",
    "shipped",
    "write_native",
]
