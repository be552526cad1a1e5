"""The laboratory: every experiment can be started by its name, none is in the wheel."""

from __future__ import annotations

from importlib import import_module

import pytest
from checkout import ROOT
from lab.__main__ import EXPERIMENTS, main


def test_every_module_is_an_experiment_or_used_by_one() -> None:
    modules = {path.stem for path in (ROOT / "tests" / "lab").glob("*.py")} - {"__init__", "__main__"}
    named = {module.removeprefix("lab.") for module, _ in EXPERIMENTS.values()}
    text = "".join((ROOT / "tests" / "lab" / f"{name}.py").read_text("utf-8") for name in named)
    assert named <= modules
    assert all(f"from .{name} import" in text for name in modules - named)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_an_experiment_has_a_main(name: str) -> None:
    module, _ = EXPERIMENTS[name]
    if module == "lab.page":
        pytest.importorskip("tornado")
    if module == "lab.weak_scenarios":
        pytest.skip("in processes of its own, with kernels run as Python")
    assert callable(import_module(module).main)


def test_names_are_listed_and_others_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().err
    assert all(f"  {name} " in listed for name in EXPERIMENTS)
    assert main(["strom"]) == 2
