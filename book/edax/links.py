"""Links of a book.dat that differ from the computed ones, kept so that writing gives the same bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from desdaemon.book.chunks import address
from desdaemon.book.table import BookTable

from .exports import kernels


class Links(NamedTuple):
    """The links that a book.dat stores, for the rows whose computed links differ from them; ``rows`` are ascending.

    ``data`` has for each row, from the row's offset on, a byte with the number of links, then score and move of each
    link, a byte each.
    """

    rows: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.uint64]
    data: npt.NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they take."""
        return self.rows.nbytes + self.offsets.nbytes + self.data.nbytes

    def addresses(self) -> npt.NDArray[np.uint64]:
        """Return each row and the address in memory of its links, uint64 (n, 2), for the kernel `dat_write`."""
        return np.stack([self.rows, self.offsets + np.uint64(address(self.data))], axis=1)

    def true_to(self, table: BookTable) -> Links | None:
        """Return the stored links that differ from the computed ones only in their order; None if there are none."""
        same: npt.NDArray[np.uint8] = np.zeros(len(self.rows), np.uint8)
        special, filters = self.addresses(), table.filters()
        kernels().dat_same_links(table.context, address(special), len(special), address(same), filters.at)
        same_rows = np.flatnonzero(same)
        return Links(self.rows[same_rows], self.offsets[same_rows], self.data) if len(same_rows) else None
