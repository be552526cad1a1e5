"""The JSON of a match is what docs/match.md describes."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

from checkout import ROOT, SUPPORT

from desdaemon.clients.match import match as command

TEXT = (ROOT / "docs" / "match.md").read_text(encoding="utf-8")
FAKE = str(SUPPORT / "fake_player.py")


def named(text: str) -> set[str]:
    """The words in code of a paragraph."""
    return set(re.findall(r"`(\w+)`", text))


def test_the_document_shows_the_json_that_is_written(tmp_path: Path) -> None:
    """All keys there are, and no others."""
    account = tmp_path / "account.json"
    sides = [shlex.join([sys.executable, FAKE, "gtp", which]) for which in ("first", "last", "first")]
    assert command.main([*sides, "self -level 1", "--games", "1", "--json", str(account)]) == 0
    found = json.loads(account.read_text())
    part = TEXT[TEXT.index("## As JSON") : TEXT.index("## Against gtp-rhino")]
    table, origins, program, pairing = re.split(r"\n\n(?=`openings` has|A program has|A pairing has)", part)
    rows = dict(re.findall(r"^\| (`[^|]*`) \|(.*)\|$", table, re.MULTILINE))
    assert set().union(*map(named, rows)) == set(found)
    assert set(found["settings"]) == named(rows["`settings`"])
    assert set(found["machine"]) == named(rows["`machine`"])
    assert set(found["ratings"]) == named(rows["`ratings`"])
    ours = found["programs"][3]
    assert set(ours) | set(ours["control"]) == named(program) - {"self"}
    assert set(found["pairings"][0]) == named(pairing) - {"programs", "difference", "low", "high", "superiority"}
    assert set(found["settings"]["openings"]) <= named(origins)
