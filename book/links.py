"""Links of a book.dat that differ from the computed ones, kept so that exporting gives the same bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .chunks import address
from .exports import kernels
from .table import BookTable


class Links(NamedTuple):
    """Original links of a file for the rows (ascending) whose links would be computed differently: for each row a count
    byte and (score, move) pairs, one after another in ``data``.
    """

    rows: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.uint64]
    data: npt.NDArray[np.uint8]

    def addresses(self) -> npt.NDArray[np.uint64]:
        """(row, address) pairs for the writer."""
        return np.stack([self.rows, self.offsets + np.uint64(address(self.data))], axis=1)

    def true_to(self, table: BookTable) -> Links | None:
        """Return the links that differ from the computed ones in nothing but their order; None if there are none."""
        same: npt.NDArray[np.uint8] = np.zeros(len(self.rows), np.uint8)
        special, filters = self.addresses(), table.filters()
        kernels().dat_same_links(table.context, address(special), len(special), address(same), filters.at)
        kept = np.flatnonzero(same)
        return Links(self.rows[kept], self.offsets[kept], self.data) if len(kept) else None
