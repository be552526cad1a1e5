"""libsodium from a file and from PyNaCl: the same boxes, and the same refusals."""

from __future__ import annotations

import pytest

from desdaemon.server.transport import sodium
from desdaemon.server.transport.sodium import KEY, NONCE, TAG, Boxes, NoSodium, PyNaCl

NO_POINT = bytes(KEY)
"""A public key of small order, which no shared key is made with."""


@pytest.fixture
def boxes() -> tuple[Boxes, Boxes]:
    pytest.importorskip("nacl")
    return sodium.library(), PyNaCl()


def test_each_opens_what_the_other_has_sealed(boxes: tuple[Boxes, Boxes]) -> None:
    for one, other in (boxes, boxes[::-1]):
        public, secret = one.key_pair()
        its_public, its_secret = other.key_pair()
        shared = one.shared_key(its_public, secret)
        assert shared is not None
        assert shared == other.shared_key(public, its_secret)
        nonce = bytes(range(NONCE))
        for plain in (b"", b"f5", bytes(5000)):
            box = one.seal(plain, nonce, shared)
            assert len(box) == len(plain) + TAG
            assert box == other.seal(plain, nonce, shared)
            assert other.unseal(box, nonce, shared) == plain
            assert other.unseal(box[:-1] + bytes([box[-1] ^ 1]), nonce, shared) is None
            assert other.unseal(box, bytes(NONCE), shared) is None


def test_both_refuse_a_public_key_that_is_none(boxes: tuple[Boxes, Boxes]) -> None:
    for each in boxes:
        assert each.shared_key(NO_POINT, each.key_pair()[1]) is None


def test_a_box_shorter_than_its_tag_is_refused() -> None:
    assert sodium.unseal(bytes(TAG - 1), bytes(NONCE), bytes(KEY)) is None


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> PyNaCl:
        raise ImportError

    monkeypatch.setattr(sodium, "_candidates", lambda: iter(()))
    monkeypatch.setattr(sodium, "PyNaCl", absent)
    with pytest.raises(NoSodium, match="pyzmq or PyNaCl"):
        sodium.library.__wrapped__()
