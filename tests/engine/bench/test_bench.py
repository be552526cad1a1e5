"""`desdaemon bench`: the signature of the search.

A change of the search that is meant changes `signature.json` in the same commit: `desdaemon bench signature --json`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from desdaemon.engine.bench.bench import EngineBench
from desdaemon.engine.evaluation.weights import Weights

KNOWN = Path(__file__).parents[1] / "signature.json"


@pytest.mark.compiled
def test_the_signature_is_the_one_on_record() -> None:
    known = json.loads(KNOWN.read_text())
    nodes, scores = EngineBench(Weights.load(), None, 1).signature()
    assert {"nodes": nodes, "scores": scores} == known["signature"]
