"""The table that ProbCut works with says what the error model says."""

import pytest

from desdaemon.engine.probcut import DEPTHS, ErrorModel, stand_in, table

MODEL = ErrorModel(floor=1.25, start=2.0, decay=0.5, gap=0.25, late=0.0625, turn=40.0, odd=-1.5, even=0.75)


def read(empties: int, depth: int) -> tuple[float, float, float, int]:
    """As the kernels do: both errors and the bias in discs, and the depth of the stand-in."""
    words = table(MODEL)
    row = 4 * (depth + (DEPTHS if depth == empties else 0))
    late = words[8 * DEPTHS + empties]
    return (words[row] + late) / 128, (words[row + 1] + late) / 128, words[row + 2] / 128, words[row + 3]


@pytest.mark.parametrize(
    ("empties", "depth"), [(60, 3), (44, 10), (30, 12), (30, 29), (20, 7), (13, 13), (24, 24), (60, 60)]
)
def test_the_table_holds_the_model(empties: int, depth: int) -> None:
    error, rough, bias, shallow = read(empties, depth)
    assert shallow == stand_in(empties, depth)
    assert error == pytest.approx(MODEL.sigma(empties, depth, shallow), abs=1 / 128)
    assert rough == pytest.approx(MODEL.sigma(empties, depth, 0), abs=1 / 128)
    assert bias == MODEL.bias(empties, depth)


def test_only_searches_to_the_end_are_biased() -> None:
    assert MODEL.bias(31, 12) == 0
    assert MODEL.bias(21, 21) == -1.5
    assert MODEL.bias(22, 22) == 0.75


def test_a_stand_in_is_shallower_and_inside_the_game() -> None:
    for depth in range(3, DEPTHS):
        for empties in (depth, depth + 1, 60):
            assert 1 <= stand_in(empties, depth) < depth
            if empties > depth:
                assert (depth - stand_in(empties, depth)) % 2 == 0
