"""docs/notebook.ipynb: its cells run, and show what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from notebooks import run, write
from programs import PICTURES, python_package

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def test_the_notebook_shows_what_it_says() -> None:
    """With WRITE_DOCUMENTS in the environment its outputs are written anew."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    if os.environ.get("WRITE_DOCUMENTS"):
        write(NOTEBOOK, notebook)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    for cell, outputs in zip(cells, run(notebook), strict=True):
        assert cell["outputs"] == outputs, "".join(cell["source"])


def test_the_notebook_is_a_valid_file() -> None:
    """As Jupyter's format 4 has it."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], sorted(notebook)) == (4, ["cells", "metadata", "nbformat", "nbformat_minor"])
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        assert "".join(cell["source"]).strip()
        assert all(output["output_type"] in ("stream", "execute_result") for output in cell.get("outputs", []))


@pytest.mark.slow
def test_the_notebook_runs_in_jupyter(tmp_path: Path) -> None:
    for package in ("nbconvert", "ipykernel"):
        python_package(package, package)
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": start, "display_name": "Python", "language": "python"}))
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(PICTURES / "python"), "JUPYTER_PATH": str(tmp_path)}
    done = subprocess.run([*command, NOTEBOOK], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    printed = [
        "".join(output.get("text", ()))
        for cell in json.loads((tmp_path / NOTEBOOK.name).read_text("utf-8"))["cells"]
        for output in cell.get("outputs", ())
    ]
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert printed == ["".join(output.get("text", ())) for output in outputs]
