"""Opening names: the lines are legal, names are found however they are written, positions however they lie."""

from __future__ import annotations

import pytest
import referee
from dialogue import Dialogue
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, move_text, moves_text
from desdaemon.protocol.othello.openings import LANGUAGES, find_opening, line_or_opening, opening_of, openings


def test_every_line_is_legal_and_no_name_or_position_is_there_twice() -> None:
    names: set[str] = set()
    positions = set()
    for opening in openings():
        cells = referee.start()
        for move in opening.moves:
            cells = referee.play(cells, move)
        key = min(referee.to_bits(image) for image in referee.symmetries(cells))
        assert key not in positions, opening
        positions.add(key)
        assert opening.names["english"]
        own = {name.casefold() for known in opening.names.values() for name in known}
        assert not own & names, opening
        names |= own
    assert len(positions) > 80
    assert all(sum(bool(opening.names[language]) for opening in openings()) >= 10 for language in LANGUAGES)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tiger", "f5d6c3d3c4"),
        ("TIGER", "f5d6c3d3c4"),
        ("tigre", "f5d6c3d3c4"),
        ("虎", "f5d6c3d3c4"),
        ("Comp Oth", "f5d6c3d3c4f4f6f3"),
        ("parallele", "f5f4"),
        ("rose bill", "f5d6c3d3c4f4c5b3c2"),
        ("snake", "f5f6e6f4g6"),
    ],
)
def test_an_opening_is_found_by_each_name(text: str, line: str) -> None:
    found = find_opening(text)
    assert found
    assert moves_text(found.moves) == line


@given(st.sampled_from(openings()), st.integers(0, 7))
def test_a_game_has_the_same_name_in_every_mirror(opening: object, symmetry: int) -> None:
    position = START
    positions = [START]
    for move in opening.moves:  # type: ignore[attr-defined]
        position = position.after(move)
        player, opponent, black = position
        image = (rules.transform(player, symmetry), rules.transform(opponent, symmetry))
        positions.append(position._replace(player=image[0], opponent=image[1], black_to_move=black))
    assert opening_of(positions) == opening


def test_commands_name_and_play_openings() -> None:
    dialogue = Dialogue()
    assert dialogue.say("opening") == "?\n"
    dialogue.say("play tiger")
    assert dialogue.say("opening") == "Tiger\n"
    assert dialogue.say("ouverture") == "Tigre\n"
    assert dialogue.say("opening japanese") == "虎\n"
    dialogue.say("play b5")
    assert dialogue.say("opening") == "Tiger\n"
    dialogue.say("init")
    dialogue.say("force perpendicular")
    assert dialogue.say("go").strip().endswith("plays F5")
    assert dialogue.say("go").strip().endswith("plays D6")
    dialogue.say("init")
    dialogue.say("play cow")
    dialogue.say("rotate 90")
    assert dialogue.say("opening") == "Cow\n"
    assert "no-such" in dialogue.refused("play no-such-opening")
    assert "illegal" in dialogue.refused("play tiger")
    assert "expected" in dialogue.refused("opening german")


def test_an_opening_is_played_from_the_board_on_display() -> None:
    dialogue = Dialogue()
    dialogue.say("play f5")
    assert f"{move_text(37)} " in dialogue.refused("play tiger")


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    for text, guess in (("tiegr", "Tiger"), ("Racoon Dog", "Raccoon Dog"), ("tigr", "Tiger")):
        with pytest.raises(BadInput, match=f'did you mean "{guess}"'):
            line_or_opening(text)
    with pytest.raises(BadInput, match="expected moves such as f5d6c3, or an opening such as Tiger"):
        line_or_opening("hippopotamus")
