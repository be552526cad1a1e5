"""The same library for lesser processors: same answers, same nodes; and code for a foreign one."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest

from desdaemon.engine.compiler.library import Library

pytestmark = pytest.mark.compiled

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Prints what the kernels and a few searches answer; arguments: a file of linear weights, one of a network.
_ANSWERS = """
import ctypes, importlib, json, random, sys
from pathlib import Path
root, here, weights, network = sys.argv[1:]
sys.path[:0] = [root, here]
top = importlib.import_module("daemon")
top.__path__.append(root)
sys.modules["desdaemon"] = top
from probe.exports import SPEC
from desdaemon.engine import search
from desdaemon.engine.compiler import library
from desdaemon.engine.limits import Limits
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.engine.evaluation import weights as loading
search.SPEC = loading.SPEC = SPEC
lib = library.load(SPEC)
library.cache_folder = lambda: None
searcher = search.Searcher(hash_bits=14, weights=loading.Weights.load(weights))
context = searcher._contexts[0].address
by_network = search.Searcher(hash_bits=14, weights=loading.Weights.load(network))
edges = searcher._edges.address
rng = random.Random(1)
answers = []
boards = []
for number in range(300):
    player, opponent = 1 << 28 | 1 << 35, 1 << 27 | 1 << 36
    for ply in range(rng.randrange(61)):
        legal = [k for k in range(64) if lib.board_moves(player, opponent) >> k & 1]
        if not legal:
            player, opponent = opponent, player
            continue
        move = rng.choice(legal)
        flips = lib.board_flip(move, player, opponent)
        player, opponent = opponent ^ flips, player | flips | 1 << move
    boards.append((player, opponent))
for number in range(300):
    taken = rng.getrandbits(64) | rng.getrandbits(64)
    player = taken & rng.getrandbits(64)
    boards.append((player, taken & ~player))
for player, opponent in boards:
    square = rng.randrange(64)
    others = ~(1 << square) & (1 << 64) - 1
    answers.append([
        lib.board_moves(player, opponent),
        *[lib.board_flip(k, player, opponent) for k in range(64)],
        lib.probe_last(square, player & others),
        lib.board_canonical_symmetry(player, opponent),
        lib.probe_stable(player, opponent, edges),
        lib.probe_bound(context, player, opponent),
        lib.probe_static(context, player, opponent) if (player | opponent).bit_count() >= 4 else 0,
        by_network.evaluate(player, opponent),
        by_network.evaluate(opponent, player),
    ])
table = bytes((ctypes.c_char * 65536).from_address(edges))
searches = []
for player, opponent in boards[:120]:
    empties = 64 - (player | opponent).bit_count()
    for limits in [Limits(60)] if empties < 15 else [Limits(5), Limits(8, Selectivity(73))]:
        result = searcher.search(player, opponent, limits)
        searches.append([result.nodes, [line[:7] for line in result.lines]])
    searches.append(by_network.search(player, opponent, Limits(4)).nodes)
print(json.dumps([library.digest(SPEC), answers, table.hex(), searches]))
"""


def answers(weights: Path, network: Path, environment: dict[str, str]) -> Any:
    process = subprocess.run(
        [sys.executable, "-c", _ANSWERS, str(ROOT), str(HERE), str(weights), str(network)],
        env={**os.environ, "PYTHONPATH": str(HERE), **environment},
        capture_output=True,
        text=True,
        timeout=550,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def native(inner: Library, weights_by_lot_path: Path, network_by_lot_path: Path) -> Any:
    """The answers of this machine's own tier, whose kernels the other tests hold against the referee."""
    return answers(weights_by_lot_path, network_by_lot_path, {})


def _can_run(feature: str) -> bool:
    return platform.machine() in ("x86_64", "AMD64") and bool(llvm.get_host_cpu_features().get(feature))


TIERS = [
    pytest.param("generic"),
    *[
        pytest.param(tier, marks=[pytest.mark.slow, pytest.mark.skipif(not _can_run(feature), reason="it is older")])
        for tier, feature in (("x86-64-v2", "popcnt"), ("x86-64-v3", "bmi2"))
    ],
    # Has the instructions for bits, but slow ones, so that they are not used.
    pytest.param("znver1", marks=[pytest.mark.slow, pytest.mark.skipif(not _can_run("bmi2"), reason="too old")]),
]


@pytest.mark.parametrize("processor", TIERS)
def test_lesser_processors_give_the_same_answers(
    native: Any, weights_by_lot_path: Path, network_by_lot_path: Path, processor: str
) -> None:
    """Code for each is compiled once, and kept in the user's cache as long as the sources stay."""
    compiled, *found = answers(weights_by_lot_path, network_by_lot_path, {"NUMBA_CPU_NAME": processor})
    assert compiled != native[0]
    for mine, other in zip(native[1:], found, strict=True):
        assert mine == other


_FOREIGN = """
import importlib, sys
root, triple, target = sys.argv[1:]
sys.path.insert(0, root)
top = importlib.import_module("daemon")
top.__path__.append(root)
sys.modules["desdaemon"] = top
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
from desdaemon.engine.compiler import jit
from desdaemon.engine.compiler.inspect import specs
def machine(wanted):
    assert wanted.features == ""
    return llvm.Target.from_triple(triple).create_target_machine(cpu=target, features="", opt=3, reloc="default")
jit.target_machine = machine
sys.stdout.buffer.write(b"".join(jit.build(spec.modules, spec.entries) for spec in specs()))
"""


@pytest.mark.slow
def test_kernels_compile_for_arm64() -> None:
    """Emitted only: that no x86 instruction or intrinsic is asked for where the target has none."""
    process = subprocess.run(
        [sys.executable, "-c", _FOREIGN, str(ROOT), "aarch64-unknown-linux-gnu", "generic"],
        env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        capture_output=True,
        timeout=550,
    )
    if b"No available targets" in process.stderr or b"has no attribute 'initialize_all" in process.stderr:
        pytest.skip("this LLVM emits code for its own processor only")
    assert process.returncode == 0, process.stderr.decode()
    code = process.stdout
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == 183
    assert b"desdaemon_search_root" in code
