"""Prints of tags: the bits of the family's authors, exact squares, corners in the order of the contract."""

import numpy as np
import pytest

from r2s2r.cell.tag_prints import module_corners, tag_bits
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.targets import CORNER_SIGNS, default_targets

CODE_0 = 0xD5D628584
"""Code of id 0, row by row from the upper left, white is 1 (tag36h11.c of AprilTag 2)."""


def test_bits_are_those_of_the_familys_authors():
    rows = tag_bits(0)[2:-2, 2:-2]
    assert "".join("01"[int(bit)] for bit in rows.ravel()) == f"{CODE_0:036b}"


@pytest.mark.parametrize("tag_id", [0, 34, 105, 207, 303, 400, 586])
def test_a_border_of_ink_lies_in_a_margin_of_paper(tag_id):
    bits = tag_bits(tag_id)
    depth = np.minimum.outer(np.r_[0:5, 4:-1:-1], np.r_[0:5, 4:-1:-1])  # rings from the outside
    assert bits[depth == 0].all()
    assert not bits[depth == 1].any()


def test_a_detector_counts_the_prints_corners_as_the_contract_does():
    pupil_apriltags = pytest.importorskip("pupil_apriltags")
    picture = np.kron(np.pad(tag_bits(7), 3, constant_values=True), np.full((12, 12), 255)).astype(np.uint8)
    (found,) = pupil_apriltags.Detector(families="tag36h11", quad_decimate=1.0).detect(picture)
    assert found.tag_id == 7
    middle = 0.5 * (picture.shape[0] - 1)
    signs = np.sign(found.corners - middle) * (1.0, -1.0)  # rows count downwards, y upwards
    assert np.array_equal(signs, CORNER_SIGNS)


def test_modules_tile_the_print_without_gaps():
    size = 0.048
    corners = module_corners(size)
    assert np.array_equal(corners[:-1, :, 0], corners[1:, :, 3])  # bit for bit
    assert np.array_equal(corners[:, :-1, 1], corners[:, 1:, 0])
    edges = np.diff(corners[:, :, [0, 1, 2, 3, 0]], axis=2)
    assert np.allclose(np.linalg.norm(edges, axis=-1), size / 8.0, rtol=1e-12)
    assert (np.cross(edges[:, :, 0], edges[:, :, 1])[..., 2] > 0.0).all()  # counter-clockwise: seen from the front


def test_ink_ends_where_the_contract_has_the_corners():
    board = default_targets().board
    corners = module_corners(board.tag_size)
    black = corners[~tag_bits(0)].reshape(-1, 3)
    expected = board.corners(board.ids[0]) - np.array(board.pos[0])
    assert np.allclose([black[:, :2].min(axis=0), black[:, :2].max(axis=0)], expected[[0, 2], :2], atol=1e-15)


@pytest.mark.parametrize("tag_id", [-1, 587])
def test_unknown_tags_are_refused(tag_id):
    with pytest.raises(ConfigError, match=f"received id {tag_id}, allowed are 0 to 586"):
        tag_bits(tag_id)
