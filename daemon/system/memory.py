"""The C library's heaps in a process that runs for weeks. Where it is not glibc, nothing of this does anything."""

from __future__ import annotations

import contextlib
import ctypes


def spare_memory() -> None:
    """Let the C library give back what is free, where it is glibc: threads come and go here for weeks.

    By itself it keeps a heap for nearly every thread, and after the first large block that is freed it takes blocks
    of that size from those heaps, where they leave holes (mallopt(3)).
    """
    arena_max, mmap_threshold, trim_threshold = -8, -3, -1
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(arena_max, 2)
        # More than any message takes that is not of the largest.
        mallopt(mmap_threshold, 256 << 10)
        mallopt(trim_threshold, 16 << 20)


def return_memory() -> None:
    """Give pages that are free inside the heaps back to the system; a few milliseconds for 50 MB. Any thread.

    The library does so by itself only at the end of a heap, which any small block keeps where it is.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
