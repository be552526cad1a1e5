"""Weights files and the pattern set: what is written is read, and what is broken is refused with its reason."""

import io
import json
import lzma
import random
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from checkout import IMPORT, ROOT

from desdaemon.engine.evaluation import patterns
from desdaemon.engine.evaluation.network import Network
from desdaemon.engine.evaluation.weights_file import (
    EDAX_WEIGHTS_PER_PLY,
    FEATURE_SET,
    PLIES,
    WEIGHTS_PER_PLY,
    WeightsError,
    read,
    read_packed,
    write_edax,
    write_shipped,
)
from desdaemon.engine.training import store
from desdaemon.engine.training.store import TrainingError


@pytest.fixture(scope="module")
def packed():
    noise = random.Random(1)
    row = struct.pack(f"<{WEIGHTS_PER_PLY}h", *(noise.randrange(-300, 300) for _ in range(WEIGHTS_PER_PLY)))
    return row * PLIES


@pytest.fixture(scope="module")
def edax(packed):
    """The same without the wide classes: what eval.dat can hold."""
    row = packed[: 2 * EDAX_WEIGHTS_PER_PLY]
    return row.ljust(2 * WEIGHTS_PER_PLY, b"\0") * PLIES


@pytest.fixture(scope="module")
def shipped(packed, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "weights.xz"
    write_shipped(path, packed, {"name": "noise", "seed": 1})
    return path


def reason(path):
    with pytest.raises(WeightsError) as caught:
        read_packed(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def plain(shipped):
    return lzma.decompress(shipped.read_bytes())


def test_the_shipped_format_is_read_back(shipped, packed):
    found, record = read_packed(shipped)
    assert found == packed
    assert record == {"name": "noise", "seed": 1}


def test_eval_dat_is_read_plain_and_compressed(edax, tmp_path):
    path = tmp_path / "eval.dat"
    write_edax(path, edax, date=20261121.0)
    assert path.stat().st_size == 13_952_436
    assert path.read_bytes()[:8] == b"XADELAVE"
    found, record = read_packed(path)
    assert found == edax
    assert record == {"format": "eval.dat", "version": "3.2.5", "date": 20261121.0}
    (tmp_path / "eval.xz").write_bytes(lzma.compress(path.read_bytes(), preset=0))
    assert read_packed(tmp_path / "eval.xz")[0] == edax


def test_a_file_of_edax_patterns_is_one_whose_wide_classes_weigh_nothing(edax, tmp_path):
    from hashlib import blake2b

    step = 2 * WEIGHTS_PER_PLY
    table = b"".join(edax[step * ply :][: 2 * EDAX_WEIGHTS_PER_PLY] for ply in range(PLIES))
    header = struct.pack("<8sHHII12s", b"DESDEVAL", 1, 61, EDAX_WEIGHTS_PER_PLY, 2, b"edax46")
    path = tmp_path / "weights"
    path.write_bytes(header + blake2b(b"{}" + table, digest_size=32).digest() + b"{}" + table)
    assert read_packed(path) == (edax, {})


def test_weights_of_wide_classes_are_not_written_as_eval_dat(edax, tmp_path):
    changed = bytearray(edax)
    changed[-1] = 1
    path = tmp_path / "eval.dat"
    with pytest.raises(WeightsError, match="fit --patterns edax") as caught:
        write_edax(path, bytes(changed))
    assert str(path) in str(caught.value)
    assert not path.exists()


def test_files_that_are_no_weights_are_refused(tmp_path):
    path = tmp_path / "file"
    assert "can't be read" in reason(path)
    path.write_bytes(b"")
    assert "empty" in reason(path)
    path.write_bytes(b"GIF89a, a picture")
    assert "not a weights file" in reason(path)
    path.write_bytes(lzma.compress(b"some text"))
    assert "not a weights file" in reason(path)
    path.write_bytes(b"\xfd7zXZ\x00 nothing of the kind")
    assert "damaged" in reason(path)


def test_truncated_files_are_refused(shipped, edax, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(shipped.read_bytes()[:-1000])
    assert "truncated" in reason(path)
    path.write_bytes(plain(shipped)[:50])
    assert "truncated" in reason(path)
    path.write_bytes(plain(shipped)[:-2])
    assert "truncated" in reason(path)
    write_edax(path, edax)
    path.write_bytes(path.read_bytes()[:-1])
    assert "truncated" in reason(path)


def test_a_changed_byte_anywhere_in_record_or_weights_is_noticed(shipped, tmp_path):
    content = plain(shipped)
    for place in (66, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        path = tmp_path / f"changed{place}"
        path.write_bytes(changed)
        assert "checksum" in reason(path)


def test_foreign_versions_and_feature_sets_are_refused(shipped, tmp_path):
    content = bytearray(plain(shipped))
    path = tmp_path / "file"
    newer = content.copy()
    newer[8] = 9
    path.write_bytes(newer)
    assert "version 9" in reason(path)
    other = content.copy()
    other[20:32] = b"other64".ljust(12, b"\0")
    path.write_bytes(other)
    assert "'other64'" in reason(path)
    path.write_bytes(content + b"more")
    assert "too long" in reason(path)


def test_a_decompression_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb"
    path.write_bytes(lzma.compress(b"DESDEVAL" + bytes(200 << 20), preset=0))
    assert str(path) in reason(path)


def test_the_shipped_weights_are_sound_and_small():
    path = ROOT / "engine" / "data" / "weights.xz"
    network, record = read(path)
    assert isinstance(network, Network)
    assert path.stat().st_size < 6_600_000
    assert record == json.loads(path.with_suffix(".json").read_text())
    assert {"name", "command", "positions", "options", "tempo"} <= set(record)


def test_reading_weights_needs_no_heavy_library():
    code = (
        f"{IMPORT}"
        "from desdaemon.engine.evaluation import weights_file, patterns; patterns.packing();"
        "assert not {'numpy', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pattern_tables_have_the_sizes_of_the_layout():
    sizes = [10206, 29889, 29646, 29646, 3321, 3321, 3321, 3321, 1134, 378, 135, 45]
    wide = [29646, 29889, 29889, 29646]
    assert [pattern.packed_size for pattern in patterns.CLASSES] == sizes + wide
    assert len(sizes) == patterns.EDAX_CLASSES
    assert patterns.EDAX_SIZE == sum(sizes) + 1 == EDAX_WEIGHTS_PER_PLY
    assert patterns.PACKED_SIZE == sum(sizes) + 1 + sum(wide) == WEIGHTS_PER_PLY
    assert patterns.NAME == FEATURE_SET
    assert patterns.EDAX_INSTANCES == 46
    assert len(patterns.INSTANCES) == 62
    assert sum(3**pattern.length for pattern in patterns.CLASSES) == patterns.TABLE_SIZE


def test_packing_is_in_order_of_first_appearance_and_ties_mirrors():
    places = patterns.packing()
    for pattern in patterns.CLASSES:
        seen = 0
        for number in range(pattern.table_size):
            digits = []
            rest = number
            for _ in range(pattern.length):
                rest, digit = divmod(rest, 3)
                digits.insert(0, digit)
            image = 0
            for place in pattern.mirror:
                image = 3 * image + digits[place]
            own = places[pattern.table_offset + number] - pattern.packed_offset
            assert own == places[pattern.table_offset + image] - pattern.packed_offset
            assert own <= seen
            seen = max(seen, own + 1)
        assert seen == pattern.packed_size


def test_tables_hold_every_pattern_once():
    """An instance of a class is seen by exactly one instance of the table that the class is part of."""
    assert sum(len(table.instances) for table in patterns.TABLES) == 46
    seen = []
    for table in patterns.TABLES:
        for number, places in table.parts:
            pattern = patterns.CLASSES[number]
            assert len(places) == pattern.length
            for squares in table.instances:
                part = tuple(squares[place] for place in places)
                turned = tuple(part[digit] for digit in pattern.mirror)
                [instance] = [own for own in pattern.instances if own in (part, turned)]
                seen.append((number, instance))
    assert sorted(seen) == sorted(zip(patterns.INSTANCE_CLASS, patterns.INSTANCES, strict=True))


def test_an_archive_that_unpacks_to_much_is_refused(tmp_path, monkeypatch):
    """A member of zeros, and one whose head tells more numbers than it has, or than there is memory for."""
    monkeypatch.setattr(store, "_FREE", 1 << 20)
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, zeros=np.zeros(1 << 20))
    with pytest.raises(TrainingError, match="unpacks to more than"):
        store.arrays_of(path)
    for number in (9, 1 << 62):
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (number,)})
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("zeros.npy", head.getvalue() + bytes(8))
        with pytest.raises(TrainingError, match="not an intact npz file"):
            store.arrays_of(path)


READ_ARCHIVE = f"""{IMPORT}
import psutil, resource
from pathlib import Path
from desdaemon.engine.training import store
most = psutil.Process().memory_info().vms + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    print(len(store.arrays_of(Path(sys.argv[1]))))
except store.TrainingError as error:
    print(error)
"""


@pytest.mark.posix
def test_an_archive_that_unpacks_to_much_takes_little_memory(tmp_path):
    """One of 320 MiB of zeros, and one that tells of 8 GB, in an address space with room for 64 MiB."""
    path = tmp_path / "rows.npz"
    for size, number in ((320 << 20, (320 << 20) // 8), (8, 1 << 30)):
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (number,)})
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("zeros.npy", "w", force_zip64=True) as member,
        ):
            member.write(head.getvalue())
            for _ in range(0, size, 1 << 20):
                member.write(bytes(min(size, 1 << 20)))
        done = subprocess.run([sys.executable, "-c", READ_ARCHIVE, str(path)], capture_output=True, text=True)
        assert f"{path}: {'unpacks to more' if size > 8 else 'not an intact npz'}" in done.stdout, done.stderr
