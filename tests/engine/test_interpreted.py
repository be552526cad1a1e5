"""Kernels run as Python: the checks of integers and memory, and the same answers as those of compiled code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import interpreted
import judge
import pytest
from checkout import IMPORT
from interpreted import MASK, U64, MixedIntegers, OutOfBounds

from desdaemon.engine.compiler.inspect import specs
from desdaemon.engine.memory import Block

_OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}

_ANSWERS = """
import json
from desdaemon.engine.compiler import library
from desdaemon.engine.exports import SPEC
from desdaemon.engine.limits import Limits
from desdaemon.engine.search import Searcher

engine = library.load(SPEC)
boards = json.loads(sys.argv[1])
searcher = Searcher(hash_bits=10)
answers = []
for player, opponent in boards:
    legal = engine.board_moves(player, opponent)
    answers.append(legal)
    answers += [engine.board_flip(square, player, opponent) for square in range(0, 64, 7)]
    answers.append(engine.board_symmetric(player, 5))
    answers.append(engine.board_canonical_symmetry(player, opponent))
    answers.append(engine.static_score(searcher._contexts[0].address, player, opponent))
    searcher.clear()
    depth = 2 if 64 - (player | opponent).bit_count() > 6 else 60
    result = searcher.search(player, opponent, Limits(depth))
    answers.append([result.nodes, [(line.score, line.pv) for line in result.lines]])
print(json.dumps([type(library.load(SPEC)).__name__, answers]))
"""


@pytest.mark.parametrize("name", _OPERATIONS)
def test_arithmetic_wraps_around_and_refuses_mixed_integers(name: str) -> None:
    operation = _OPERATIONS[name]
    for left, right in ((MASK, 2), (0, 1), (1 << 63, 1 << 62), (5, 3)):
        assert operation(U64(left), U64(right)) == operation(left, right) & MASK
        for mixed in ((U64(left), right), (left, U64(right))):
            with pytest.raises(MixedIntegers):
                operation(*mixed)


def test_words_are_unsigned_and_wrap_around() -> None:
    assert ~U64(0) == MASK
    assert U64(1) << U64(63) == 1 << 63
    assert U64(3) << 63 == 1 << 63
    assert type(U64(6) & 3) is U64
    assert U64(6) & -1 == 6
    for shift in (64, -1):
        with pytest.raises(OverflowError):
            U64(1) << shift
    with pytest.raises(MixedIntegers):
        -U64(1)
    with pytest.raises(MixedIntegers):
        U64(1) / U64(1)


def test_memory_has_bounds() -> None:
    block = Block(4096)
    interpreted.add_region(block.address, block.size)
    interpreted.store(block.address + 4088, 8, -2)
    assert interpreted.load(block.address + 4088, 8, signed=True) == -2
    assert interpreted.load(block.address + 4088, 2, signed=False) == 0xFFFE
    for place in (block.address + 4089, 0, 8):
        with pytest.raises(OutOfBounds):
            interpreted.load(place, 8, signed=False)
    interpreted.remove_region(block.address)


def test_a_kernel_has_bounded_stack_buffers() -> None:
    seen = []

    def inner(size):
        buffer = int(interpreted.stack_buf(size))
        seen.append(buffer)
        assert interpreted.load(buffer, 1, signed=False) == 0xA5
        interpreted.store(buffer + size - 8, 8, 1)
        with pytest.raises(OutOfBounds):
            interpreted.store(buffer + size - 7, 8, 1)
        return buffer

    kernel = interpreted.kernel(inner, "u64(i64)")
    first = int(kernel(24))
    assert kernel(24) == first == seen[0]
    assert first % 64 == 0
    with pytest.raises(OutOfBounds):
        interpreted.load(first, 8, signed=False)


def test_arguments_of_a_kernel_are_checked() -> None:
    def second(word, number):
        return number

    kernel = interpreted.kernel(second, "i64(u64,i64)")
    assert kernel(U64(1), -5) == -5
    for wrong in ((1, 1), (U64(1), U64(1))):
        with pytest.raises(MixedIntegers):
            kernel(*wrong)
    with pytest.raises(OverflowError):
        kernel(U64(1), 1 << 63)


@pytest.mark.compiled
def test_interpreted_kernels_answer_as_compiled_ones_do() -> None:
    boards = [*judge.positions(91, 4, [1, 5, 25, 50]), *judge.strewn(92, 2, [4, 20])]
    found = []
    for mode in ("python", ""):
        done = subprocess.run(
            [sys.executable, "-c", IMPORT + _ANSWERS, json.dumps(boards)],
            env={**os.environ, "DESDAEMON_KERNELS": mode},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert [kind for kind, _ in found] == ["InterpretedLibrary", "Library"]
    assert found[0][1] == found[1][1]


_EXPORTS = [spec.exports for spec in specs()]


@pytest.fixture(scope="module")
def imported() -> dict[str, list[list[str]]]:
    """The files that are loaded to compile each library, and those that its digest covers; by a child that keeps the
    compiler's own libraries, and loads what is ours anew for each.
    """
    code = IMPORT + (
        "import importlib, json\n"
        "found = {}\n"
        f"for exports in {_EXPORTS!r}:\n"
        "    for name in [name for name in sys.modules if name.startswith('desdaemon.')]: del sys.modules[name]\n"
        "    jit = importlib.import_module('desdaemon.engine.compiler.jit')\n"
        "    spec = importlib.import_module(exports).SPEC\n"
        "    for module in spec.modules: importlib.import_module(module)\n"
        "    files = [module.__file__ for name, module in sys.modules.items() if name.startswith('desdaemon.')]\n"
        "    library = importlib.import_module('desdaemon.engine.compiler.library')\n"
        "    covered = library.imported_sources([*spec.modules, jit.__name__])\n"
        "    found[exports] = [list(map(str, files)), list(map(str, covered))]\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[list[str]]] = json.loads(done.stdout)
    return found


@pytest.mark.compiled
@pytest.mark.parametrize("exports", _EXPORTS)
def test_the_digest_covers_what_the_compiler_imports(exports: str, imported: dict[str, list[list[str]]]) -> None:
    """What the compiling process has loaded of ours, but for packages above, files, logs and the child's helper."""
    loaded, covered = map(set, imported[exports])
    others = ("__init__.py", "exports.py", "passes.py", "library.py", "notice.py")
    deciding = {file for file in loaded if not file.endswith(others) and "system" not in Path(file).parts}
    assert deciding
    assert deciding <= covered
    assert covered <= loaded
