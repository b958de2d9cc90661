"""The conditions that a policy is tried under: what each changes about an episode, and nothing else."""

from dataclasses import dataclass

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError, choose


@dataclass(frozen=True)
class Condition:
    """What distinguishes one condition from the nominal one.

    Raises:
        ConfigError: a range is reversed, a speed is negative, or a share is not within 0 to 1.
    """

    belt_speed: tuple[float, float] = (0.08, 0.12)
    """Range of the belt's speed [m/s], drawn for each episode."""

    light_rgb: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Colour of all lamps, linear RGB."""

    light_dimming: float = 0.0
    """Largest share of its light that each channel of the lamps loses, drawn evenly for each episode and channel."""

    novel_objects: int | None = None
    """Which pair of shapes rides on the belt that no demonstration shows; None for the usual shapes."""

    def __post_init__(self):
        low, high = self.belt_speed
        if not 0.0 <= low <= high:
            raise ConfigError(f"condition: belt_speed is {self.belt_speed}, allowed is 0 <= low <= high")
        set_number(self, "light_dimming", 0.0, 1.0)


FAST_BELT = (0.16, 0.20)
"""[m/s], about twice the nominal speed."""

RED_LIGHT = (1.0, 0.12, 0.10)
"""Linear RGB of a red lamp: what green and blue a red filter lets through."""

VARIED_BELT, VARIED_LIGHT = (0.08, 0.20), 0.9
"""What simulation can vary without anyone's work: belts up to the fast one [m/s], lamps of any colour. No trial is made
under it; it is for data sets."""

CONDITIONS = {
    "nominal": Condition(),
    "red_light": Condition(light_rgb=RED_LIGHT),
    "fast_belt": Condition(belt_speed=FAST_BELT),
    "novel_object": Condition(novel_objects=0),
    "combined": Condition(belt_speed=FAST_BELT, light_rgb=RED_LIGHT, novel_objects=0),
    "varied": Condition(belt_speed=VARIED_BELT, light_dimming=VARIED_LIGHT),
    "novel_object_1": Condition(novel_objects=1),
    "novel_object_2": Condition(novel_objects=2),
}
"""Conditions by name: the five of the paper's table, one that simulated data may have beside the nominal one, and the
other pairs of novel shapes."""


def condition(name: str) -> Condition:
    """Return a condition by its name.

    Raises:
        ConfigError: there is no condition of that name.
    """
    return CONDITIONS[choose("condition", name, tuple(CONDITIONS))]
