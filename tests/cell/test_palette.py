"""Paints of a cell's objects."""

import colorsys
from dataclasses import replace

import pytest

from r2s2r.cell.palette import FADING, HUE_SPREAD, PAINTS, Palette
from r2s2r.contracts.objects import novel_shapes
from r2s2r.contracts.trials import Trial

OBJECTS = Trial("nominal", 0, 0).objects()


def _hue(colour) -> float:
    return colorsys.rgb_to_hsv(*colour)[0]


def _apart(first: float, second: float) -> float:
    """Return how far two hues are apart on the circle, 0 to 0.5."""
    way = abs(first - second) % 1.0
    return min(way, 1.0 - way)


@pytest.mark.parametrize("seed", range(5))
def test_novel_objects_have_colours_of_their_own(seed):
    paints = Palette.draw(seed).paints
    gap = 0.25 - 2.0 * HUE_SPREAD - 1e-9
    for group, others in (("box", ("round", "novel")), ("round", ("novel",))):
        for colour in paints[group]:
            assert all(_apart(_hue(colour), _hue(other)) >= gap for name in others for other in paints[name])


def test_the_cell_has_the_paints_and_the_trial_chooses():
    palette, item = Palette.draw(3), OBJECTS[0]
    assert palette == Palette.draw(3) and palette != Palette.draw(4)
    chosen = [palette.colour(replace(item, paint=((k + 0.5) / PAINTS, 0.5, 0.5))) for k in range(PAINTS)]
    assert chosen == [pytest.approx(paint) for paint in palette.paints[item.object_class]]
    last = palette.colour(replace(item, paint=(1.0, 0.5, 0.5)))
    assert last == pytest.approx(palette.paints[item.object_class][-1])
    novel = replace(item, shape=novel_shapes(0)[0][0], paint=(0.0, 0.5, 0.5))
    assert palette.colour(novel) == pytest.approx(palette.paints["novel"][0])


def test_paint_fades_but_stays_a_colour():
    palette, item = Palette.draw(3), OBJECTS[1]
    pale, dark = (palette.colour(replace(item, paint=(0.1, share, 0.0))) for share in (1.0, 0.0))
    assert all(0.0 <= value <= 1.0 for value in (*pale, *dark))
    assert min(pale) / min(dark) == pytest.approx((1.0 + FADING) / (1.0 - FADING))
