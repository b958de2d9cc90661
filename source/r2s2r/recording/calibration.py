"""The calibration routine: everything that grounding needs, recorded in at most five minutes of cell time.

The segments it writes, in this order: `arm_chirp`, `arm_chirp_held_out`, `hand_steps`, `hand_held_out`, `viewpoint`
(one for each stop, the arm at rest throughout), `wrist_sweep`, `belt_run` (one for each speed).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from r2s2r.contracts.cell import Cell
from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.targets import CalibrationTargets
from r2s2r.control.minimum_jerk import progress
from r2s2r.recording.clearance import Clearance, ClearanceCfg
from r2s2r.recording.driving import Driver, Log
from r2s2r.recording.excitation import (
    AIR_ARM,
    HELD_OUT_ARM,
    HELD_OUT_HAND,
    ArmExcitationCfg,
    HandExcitationCfg,
    arm_excitation,
    hand_excitation,
)
from r2s2r.recording.sweep import Sweep, SweepCfg
from r2s2r.recording.tour import Move, MoveCfg, check_way, plan_move, plan_tour
from r2s2r.recording.viewpoints import ViewpointCfg, choose_viewpoints
from r2s2r.recording.visibility import OPEN_HAND, ExpectedCell, VisibilityCfg
from r2s2r.robot.description import RobotDescription

LONGEST_S = 300.0
"""Cell time that a calibration may take [s]."""

PARK_ARM = (0.0, -0.80, 0.0, 1.40, 0.0, 1.60, 1.60)
"""Arm joints [rad] with the hand drawn back behind the belt's near rail: the head camera sees the whole belt."""

_PICTURE_S = 0.05
"""Time that a picture is waited for on average [s]: half a period at 30 Hz and the way to the host."""

_AFTER_S = 0.03
"""How long the arm rests on after a picture [s]: a stamp jitters, and the picture's has to lie in the segment."""

Progress = Callable[[str, float, float], None]
"""Receives what begins, the cell time since the begin and the planned total [s]."""


@dataclass(frozen=True)
class CalibrationCfg:
    """The routine.

    Raises:
        ConfigError: a value is out of range.
    """

    arm: ArmExcitationCfg = ArmExcitationCfg()
    """Segment `arm_chirp`."""
    arm_held_out: ArmExcitationCfg = HELD_OUT_ARM
    """Segment `arm_chirp_held_out`."""
    hand: HandExcitationCfg = HandExcitationCfg()
    """Segment `hand_steps`."""
    hand_held_out: HandExcitationCfg = HELD_OUT_HAND
    """Segment `hand_held_out`."""
    viewpoints: ViewpointCfg = ViewpointCfg()
    """Segments `viewpoint`."""
    visibility: VisibilityCfg = VisibilityCfg()
    """When a tag counts as visible from a viewpoint."""
    sweep: SweepCfg = SweepCfg()
    """Segment `wrist_sweep`."""
    clearance: ClearanceCfg = ClearanceCfg()
    """How far the arm keeps off."""
    move: MoveCfg = MoveCfg()
    """How fast it goes from one to the next."""
    settle_s: float = 0.4
    """How long the arm rests before a viewpoint begins [s]."""
    rest_s: float = 0.15
    """How long it rests at a viewpoint besides taking pictures [s]: some thirty readings."""
    hand_move_s: float = 1.0
    """Time in which the hand goes from one posture to another [s]."""
    wrist_picture_s: float = 0.3
    """Time between wrist pictures while it sweeps [s]."""
    head_picture_s: float = 0.6
    """Time between head pictures while the wrist sweeps or the belt runs [s]."""
    belt_speeds: tuple[float, ...] = (0.06, 0.12)
    """Commanded belt speeds, one run each [m/s]."""
    belt_s: float = 8.0
    """Length of a belt run [s]."""

    def __post_init__(self):
        for name in ("settle_s", "rest_s", "wrist_picture_s", "head_picture_s"):
            set_number(self, name, 0.02, 10.0)
        set_number(self, "hand_move_s", 0.3, 10.0)
        set_number(self, "belt_s", 1.0, 60.0)
        set_vector(self, "belt_speeds", len(self.belt_speeds), 0.01, 0.5)


@dataclass(frozen=True)
class CalibrationPlan:
    """Where the arm goes, found before it moves."""

    cfg: CalibrationCfg
    """The routine."""
    cell: ExpectedCell = field(repr=False)
    """The nominal cell in which it was planned."""
    clearance: Clearance = field(repr=False)
    """Where the arm may be."""
    routes: tuple[np.ndarray, ...] = field(repr=False)
    """For each viewpoint in order, and for the sweep's begin, the postures (1 or 2, 7) [rad] to go to."""
    sweep: Sweep = field(repr=False)
    """Motion of the wrist over the board."""

    @property
    def stops(self) -> np.ndarray:
        """Arm joint positions (N, 7) [rad] of the viewpoints, in order."""
        return np.array([route[-1] for route in self.routes[:-1]])

    @property
    def stations(self) -> np.ndarray:
        """All arm joint positions (M, 7) [rad] between which the arm goes straight, in order."""
        return np.concatenate([[AIR_ARM], *self.routes, [PARK_ARM]])

    @property
    def duration_s(self) -> float:
        """Cell time from the first station to the end [s]."""
        cfg, chain, way = self.cfg, self.cell.robot.chain, self.stations
        moves = sum(plan_move(chain, a, b, cfg.move).duration_s for a, b in zip(way[:-1], way[1:], strict=True))
        excited = sum(part.duration_s for part in (cfg.arm, cfg.arm_held_out, cfg.hand, cfg.hand_held_out))
        stops = (len(self.routes) - 1) * (cfg.settle_s + cfg.rest_s + 2.0 * _PICTURE_S + _AFTER_S)
        belt = len(cfg.belt_speeds) * cfg.belt_s
        return moves + excited + 3.0 * cfg.hand_move_s + stops + self.sweep.duration_s + belt


def plan_calibration(
    description: RobotDescription, targets: CalibrationTargets, cfg: CalibrationCfg | None = None
) -> CalibrationPlan:
    """Find viewpoints, their order and the sweep in the nominal cell.

    Args:
        description: the composed robot.
        targets: tags in the cell.
        cfg: the routine; None for the defaults.

    Raises:
        ConfigError: the routine would take longer than LONGEST_S, or no free way was found.
    """
    cfg = cfg or CalibrationCfg()
    cell = ExpectedCell(description, targets, cfg=cfg.visibility)
    clearance = Clearance(cell.robot, cfg.clearance)
    sweep = Sweep(cell, clearance, cfg.sweep)
    found = choose_viewpoints(cell, targets, clearance, cfg.viewpoints)
    routes = plan_tour(found, np.array(AIR_ARM), sweep.joint_pos(0.0), clearance, cfg.move)
    plan = CalibrationPlan(cfg, cell, clearance, routes, sweep)
    if plan.duration_s > LONGEST_S:
        raise ConfigError(f"calibration: it would take {plan.duration_s:.0f} s, allowed are up to {LONGEST_S:.0f} s")
    return plan


def record_calibration(
    cell: Cell,
    log: Log,
    plan: CalibrationPlan,
    place_item: Callable[[], None],
    progress: Progress | None = None,
) -> float:
    """Drive a cell through the whole routine and hand everything that it says to a log.

    An interruption (KeyboardInterrupt) stops belt and arm, the latter within its limits, writes what has arrived and
    goes on upwards.

    Args:
        cell: the cell; its arm stands raised, the board lies before it, nobody is near.
        log: takes down messages, pictures and segments.
        plan: from :func:`plan_calibration`.
        place_item: takes the board off the belt and puts the tagged block on the belt's begin, or asks a person to.
        progress: is told what begins.

    Returns:
        Cell time that it took [s].

    Raises:
        RecordingError: nothing comes from the cell, or the way from where the arm stands is not free.
    """
    return _Routine(cell, log, plan, place_item, progress or (lambda *_: None)).run()


class _Routine:
    """One run of the routine: the parts in order, and where arm and hand were sent last."""

    def __init__(self, cell: Cell, log: Log, plan: CalibrationPlan, place_item: Callable[[], None], tell: Progress):
        self._cell, self._plan, self._cfg, self._place_item, self._tell = cell, plan, plan.cfg, place_item, tell
        self._driver = Driver(cell, log)
        self._begin_s = cell.now()
        self._arm, self._hand = np.zeros(7), np.zeros(16)

    def run(self) -> float:
        """Do everything; see :func:`record_calibration`."""
        try:
            self._arm, self._hand = self._driver.postures()
            check_way(self._plan.clearance, self._arm, np.array(AIR_ARM))
            self._excite_arm()
            self._excite_hand()
            self._visit()
            self._sweep()
            for speed in self._cfg.belt_speeds:
                self._run_belt(speed)
        except KeyboardInterrupt:
            self._driver.belt(0.0)
            self._driver.write()
            raise
        return self._cell.now() - self._begin_s

    def _excite_arm(self) -> None:
        cfg = self._cfg
        self._tell_of("arm_chirp")
        self._go(np.array(AIR_ARM), np.array(OPEN_HAND))
        for name, part in (("arm_chirp", cfg.arm), ("arm_chirp_held_out", cfg.arm_held_out)):
            self._tell_of(name)
            with self._driver.segment(name):
                self._driver.follow(part.duration_s, arm=lambda t, part=part: arm_excitation(t, part))

    def _excite_hand(self) -> None:
        cfg = self._cfg
        for name, part in (("hand_steps", cfg.hand), ("hand_held_out", cfg.hand_held_out)):
            self._tell_of(name)
            self._go(self._arm, hand_excitation(0.0, part))
            with self._driver.segment(name):
                self._driver.follow(part.duration_s, hand=lambda t, part=part: hand_excitation(t, part))
            self._hand = hand_excitation(part.duration_s, part)

    def _visit(self) -> None:
        cfg, count = self._cfg, len(self._plan.routes) - 1
        for k, route in enumerate(self._plan.routes[:-1]):
            self._tell_of(f"viewpoint {k + 1} of {count}")
            self._go_along(route)
            self._driver.still(cfg.settle_s)
            with self._driver.segment("viewpoint"):
                self._driver.still(cfg.rest_s)
                for camera in ("wrist", "head"):
                    self._driver.picture(camera)
                self._driver.still(_AFTER_S)

    def _sweep(self) -> None:
        sweep, cfg = self._plan.sweep, self._cfg
        self._tell_of("wrist_sweep")
        self._go_along(self._plan.routes[-1])
        with self._driver.segment("wrist_sweep"):
            pictures = {"wrist": cfg.wrist_picture_s, "head": cfg.head_picture_s}
            self._driver.follow(sweep.duration_s, arm=sweep.joint_pos, pictures=pictures)
            self._driver.still(_AFTER_S)

    def _run_belt(self, speed: float) -> None:
        self._tell_of(f"belt_run at {speed:g} m/s")
        self._go(np.array(PARK_ARM), np.array(OPEN_HAND))
        self._place_item()
        with self._driver.segment("belt_run"):
            self._driver.belt(speed)
            self._driver.follow(self._cfg.belt_s, pictures={"head": self._cfg.head_picture_s})
            self._driver.belt(0.0)
            self._driver.still(_AFTER_S)

    def _go_along(self, route: np.ndarray) -> None:
        for posture in route:
            self._go(posture, np.array(OPEN_HAND))

    def _go(self, arm: np.ndarray, hand: np.ndarray) -> None:
        """Move arm and hand from where they were sent last."""
        move = plan_move(self._plan.cell.robot.chain, self._arm, arm, self._cfg.move)
        start, turns = self._hand, not np.allclose(self._hand, hand)
        duration_s = max(move.duration_s, self._cfg.hand_move_s) if turns else move.duration_s
        if turns or not np.allclose(self._arm, arm):
            slower: Move = replace(move, duration_s=duration_s)
            path = (lambda t: start + progress(t / duration_s) * (hand - start)) if turns else None
            self._driver.follow(duration_s, arm=slower.joint_pos, hand=path)
        self._arm, self._hand = arm, hand

    def _tell_of(self, what: str) -> None:
        self._tell(what, self._cell.now() - self._begin_s, self._plan.duration_s)
