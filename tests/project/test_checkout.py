"""What every file of the checkout must be."""

import subprocess

import pytest
from checkout import ROOT

MARKERS = "^(<<<<<<<|>>>>>>>|[|]{7})( |$)"
"""A line that git leaves in a file where a merge is not decided; the line of equals signs underlines titles too."""


def test_no_file_has_a_conflict_marker() -> None:
    asked = ["git", "-C", str(ROOT), "grep", "-nIE", MARKERS]
    done = subprocess.run(asked, capture_output=True, text=True)
    if done.returncode > 1:
        pytest.skip("not a checkout")
    assert not done.stdout
