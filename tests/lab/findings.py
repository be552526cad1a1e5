"""What an experiment has tried, and what did not behave as it should."""

from __future__ import annotations

from collections import Counter


class Findings:
    """What was tried, by kind, and what should not have been."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def expect(self, holds: object, fault: str) -> None:
        """Note a fault unless something holds."""
        if not holds:
            self.faults.append(fault)
