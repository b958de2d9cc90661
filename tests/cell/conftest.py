"""Hidden worlds without what a test does not look at."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.joint_effects import JointEffects, TimingEffects
from r2s2r.contracts.world import nominal_hand


@pytest.fixture
def ideal() -> Callable[..., HiddenWorld]:
    """Return a function that makes cells without friction, delay, bias, offset, noise or loss, started at 0 s.

    It takes fields of the arm, fields of the hand, and other fields of the hidden world.
    """

    def make(arm: dict | None = None, hand: dict | None = None, **changes) -> HiddenWorld:
        hidden, free = HiddenWorld.draw(0), (0.0,) * 7
        nothing = {
            "viscous_friction": free,
            "coulomb_friction": free,
            "encoder_bias": free,
            "command_delay_s": 0.0,
            "kinematic_offsets": ((0.0,) * 6,) * 7,
        }
        world = replace(
            hidden.world,
            arm=replace(hidden.world.arm, **{**nothing, **(arm or {})}),
            hand=replace(nominal_hand(), **{"coulomb_friction": (0.0,) * 16, **(hand or {})}),
        )
        still = {"joints": JointEffects(), "timing": TimingEffects(), "clock_start_s": 0.0}
        return replace(hidden, world=world, **{**still, **changes})

    return make
