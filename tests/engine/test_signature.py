"""The search behaves as it is known to: any change of it shows in the node counts of fixed searches.

A change that is meant changes `signature.json` in the same commit: `desdaemon bench signature --json`.
"""

import json
from pathlib import Path

import pytest

from desdaemon.engine.bench.command import EngineBench
from desdaemon.engine.evaluation.weights import Weights

pytestmark = pytest.mark.compiled

KNOWN = Path(__file__).with_name("signature.json")


def test_the_signature_is_the_one_on_record() -> None:
    known = json.loads(KNOWN.read_text())
    nodes, scores = EngineBench(Weights.load(), None, 1).signature()
    assert {"nodes": nodes, "scores": scores} == known["signature"]
