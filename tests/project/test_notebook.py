"""docs/notebook.ipynb: its cells run, and show what it says."""

from __future__ import annotations

import json
import os

from checkout import ROOT
from notebooks import run, write

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def test_the_notebook_shows_what_it_says() -> None:
    """With WRITE_DOCUMENTS in the environment its outputs are written anew."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    if os.environ.get("WRITE_DOCUMENTS"):
        write(NOTEBOOK, notebook)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    for cell, outputs in zip(cells, run(notebook), strict=True):
        assert cell["outputs"] == outputs, "".join(cell["source"])


def test_the_notebook_is_one() -> None:
    """As Jupyter's format 4 has it."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], sorted(notebook)) == (4, ["cells", "metadata", "nbformat", "nbformat_minor"])
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        assert "".join(cell["source"]).strip()
        assert all(output["output_type"] in ("stream", "execute_result") for output in cell.get("outputs", []))
