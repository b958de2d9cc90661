"""Phases found in recordings of known picks, under noise and at other paces; what is refused and why."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.motion_events import find_rise
from r2s2r.behavior.phases import FoundPick, PickRecord, PickRules, find_pick, longest_gap
from r2s2r.behavior.scripted_pinch import PINCH, ScriptedPinch
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.rejection import Rejection
from r2s2r.control.minimum_jerk import progress

from .picks import operator_demo, record

BEFORE = 40
EVENTS = ("onset", "close", "lift", "transport", "release", "retreat")
WITHIN = {"onset": 4, "close": 3, "lift": 5, "transport": 9, "release": 3, "retreat": 2}
"""Steps of the demonstration within which its phases are found again under the replay's noise. The transport sets in
while the hand still coasts from the belt's speed and lifts, so that its onset is the least sharp."""

PINCH_WITHIN = WITHIN | {"close": 5, "transport": 11, "onset": 5}
"""Of the scripted pinch, whose trapezoidal legs have sharp corners where a minimum-jerk motion has tails."""


def found(recorded: PickRecord, **options) -> FoundPick:
    pick = find_pick(recorded, **options)
    assert isinstance(pick, FoundPick), str(pick)
    return pick


def begins(demo: Demonstration) -> dict[str, int]:
    return dict(zip(EVENTS, [demo.span(phase).start for phase in Phase], strict=True))


def errors(demo: Demonstration, pick: FoundPick, pace: float = 1.0) -> dict[str, float]:
    """Return found minus true begin of each phase, in steps of the demonstration at its own pace."""
    return {
        name: (getattr(pick.events, name) - BEFORE) * pace - step
        for name, step in begins(demo).items()
    }  # fmt: skip


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.floats(0.0, 1.0), st.floats(0.6, 1.5))
def test_operator_s_phases_are_found_under_noise_and_time_warp(seed, noise, pace):
    demo = operator_demo(seed)
    pick = found(record(demo, np.random.default_rng(seed), noise=noise, pace=pace, before=BEFORE))
    for name, error in errors(demo, pick, pace).items():
        assert abs(error) <= WITHIN[name] + pace, f"{name}: {error:.1f}"


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.floats(0.6, 1.5))
def test_scripted_pinch_s_phases_are_found_too(seed, pace):
    demo = operator_demo(seed, ScriptedPinch())
    pick = found(record(demo, np.random.default_rng(seed), noise=0.5, pace=pace, before=BEFORE), grasp=PINCH)
    for name, error in errors(demo, pick, pace).items():
        assert abs(error) <= PINCH_WITHIN[name] + pace, f"{name}: {error:.1f}"
    close = pick.demonstration.span(Phase.CLOSE).start
    expected = demo.object_pos_b[0] + (pick.events.close - BEFORE) * pace / 30.0 * demo.belt_velocity_b
    assert np.linalg.norm(pick.demonstration.object_pos_b[close] - expected) < 0.01


@pytest.mark.parametrize("pace", [0.5, 0.7, 1.4, 2.0])
def test_pace_does_not_matter(pace):
    """Without noise the same phases are found at any pace, to three steps of the demonstration."""
    for seed in range(5):
        demo = operator_demo(seed)
        usual, other = (
            errors(demo, found(record(demo, np.random.default_rng(0), noise=0.0, pace=p, before=BEFORE)), p)
            for p in (1.0, pace)
        )
        assert max(abs(usual[name] - other[name]) for name in EVENTS) <= 3.0 + pace


@pytest.mark.parametrize("before, after", [(1, 0), (3, 90), (200, 1)])
def test_waiting_before_and_after_is_cut_off(before, after):
    demo = operator_demo(3)
    usual = found(record(demo, np.random.default_rng(0), noise=0.0))
    other = found(record(demo, np.random.default_rng(0), noise=0.0, before=before, after=after))
    assert other.events.close - before == pytest.approx(usual.events.close - 40, abs=1)
    assert abs(len(other.demonstration) - len(usual.demonstration)) <= 3


def test_ride_begins_when_the_hand_has_arrived():
    """From the found begin of the ride on, the hand is within 1 cm of its place beside the moving object."""
    for seed in range(8):
        demo = operator_demo(seed)
        pick = found(record(demo, np.random.default_rng(seed), noise=0.5))
        close = demo.span(Phase.CLOSE).start
        assert pick.events.onset < pick.events.ride <= pick.events.close + 1
        ride = min(max(pick.events.ride - BEFORE, 0), close)
        place = demo.wrist_pos_b[close] + (ride - close) / demo.rate_hz * demo.belt_velocity_b
        assert np.linalg.norm(demo.wrist_pos_b[ride] - place) < 0.01


def test_motion_stays_as_it_was_recorded():
    recorded = record(operator_demo(1), np.random.default_rng(1))
    pick = found(recorded)
    kept = slice(pick.events.onset, pick.events.onset + len(pick.demonstration))
    for name in ("wrist_pos_b", "wrist_quat_b", "hand_joint_pos"):
        assert np.array_equal(getattr(pick.demonstration, name), getattr(recorded, name)[kept])
    assert set(pick.demonstration.phase) == set(Phase)
    assert pick.demonstration.name == recorded.name


def test_object_is_placed_from_the_grasp_where_its_path_is_unknown():
    """Until the release: where the operator had it, to the wrist's noise (1 mm, and 0.01 rad at 9 cm)."""
    for seed in range(8):
        demo = operator_demo(seed)
        pick = found(record(demo, np.random.default_rng(seed), before=BEFORE))
        steps = np.arange(pick.events.onset, pick.events.release - 3) - BEFORE
        steps = steps[(steps >= 0) & (steps < demo.span(Phase.RELEASE).start)]
        placed = pick.demonstration.object_pos_b[steps + BEFORE - pick.events.onset]
        away = np.linalg.norm(placed - demo.object_pos_b[steps], axis=1)
        assert np.median(away) < 0.004 and away.max() < 0.015
        yaw = pick.demonstration.object_yaw[steps + BEFORE - pick.events.onset] - demo.object_yaw[steps]
        assert np.abs(yaw).max() < 0.06
        after = pick.demonstration.span(Phase.RETREAT)
        assert np.array_equal(pick.demonstration.object_pos_b[after][-1], demo.bin_pos_b)


def test_known_object_path_and_belt_are_kept():
    demo = operator_demo(2)
    recorded = record(demo, np.random.default_rng(2), before=0, after=0, noise=0.0)
    recorded = replace(recorded, object_pos_b=demo.object_pos_b, object_yaw=demo.object_yaw)
    pick = found(recorded)
    kept = slice(pick.events.onset, pick.events.onset + len(pick.demonstration))
    assert np.array_equal(pick.demonstration.object_pos_b, demo.object_pos_b[kept])
    assert np.array_equal(pick.demonstration.object_yaw, demo.object_yaw[kept])
    assert np.array_equal(pick.demonstration.belt_velocity_b, demo.belt_velocity_b)


def test_belt_is_taken_from_the_riding_hand_where_it_is_unknown():
    """1 mm of noise at either end of a closing of 0.7 s allows 2 mm/s; half a step of the lift adds as much."""
    for seed in range(8):
        demo = operator_demo(seed)
        pick = found(record(demo, np.random.default_rng(seed), belt_velocity_b=None))
        assert np.linalg.norm(pick.demonstration.belt_velocity_b - demo.belt_velocity_b) < 0.006


def lifted_by(height: float) -> PickRecord:
    """Return the operator's pick with the hand's height while it carries cut off at `height` above the grasp."""
    demo = operator_demo(5)
    recorded = record(demo, np.random.default_rng(0), noise=0.0)
    pos = recorded.wrist_pos_b.copy()
    grasp = BEFORE + demo.span(Phase.CLOSE).start
    pos[grasp:, 2] = np.minimum(pos[grasp:, 2], pos[grasp, 2] + height)
    return replace(recorded, wrist_pos_b=pos)


def test_b48_a_pick_that_is_lifted_too_little_is_told_with_value_and_limit():
    rules = PickRules(min_lift_m=0.2)
    assert str(find_pick(lifted_by(0.19), rules)) == "lift_height 0.190 < 0.200 m"
    assert isinstance(find_pick(lifted_by(0.201), rules), FoundPick)


def test_what_is_no_pick_is_refused_by_rule_value_and_limit():
    demo = operator_demo(0)
    whole = record(demo, np.random.default_rng(0), noise=0.0)
    still = replace(whole, hand_joint_pos=np.tile(whole.hand_joint_pos[:1], (len(whole.hand_joint_pos), 1)))
    assert str(find_pick(still)) == "closing 0.000 < 0.500 rad"
    held = BEFORE + demo.span(Phase.TRANSPORT).stop
    kept = whole.hand_joint_pos.copy()
    kept[held:] = kept[held - 1]
    refused = find_pick(replace(whole, hand_joint_pos=kept))
    assert isinstance(refused, Rejection) and refused.rule == "opening" and refused.value == pytest.approx(0.0)
    assert refused.limit == pytest.approx(0.5 * np.linalg.norm(GraspGeometry().close_amount), rel=0.02)
    short = slice(0, 20)
    cut = replace(
        whole,
        wrist_pos_b=whole.wrist_pos_b[short],
        wrist_quat_b=whole.wrist_quat_b[short],
        hand_joint_pos=whole.hand_joint_pos[short],
        tracked=np.array(True),
    )
    assert str(find_pick(cut)) == "duration 0.633 < 1.000 s"
    elsewhere = find_pick(replace(whole, bin_pos_b=demo.bin_pos_b + (-0.5, 0.0, 0.0)))
    assert isinstance(elsewhere, Rejection) and (elsewhere.rule, elsewhere.upper) == ("bin_distance", True)


def test_gap_in_the_tracking_is_refused_if_it_is_long_and_within_the_pick():
    demo = operator_demo(0)
    whole = record(demo, np.random.default_rng(0), noise=0.0)

    def with_gap(begin: int, steps: int) -> PickRecord:
        tracked = np.ones(len(whole.wrist_pos_b), bool)
        tracked[begin : begin + steps] = False
        return replace(whole, tracked=tracked)

    lift = BEFORE + demo.span(Phase.LIFT).start
    assert str(find_pick(with_gap(lift, 10))) == "tracking_gap 0.333 > 0.300 s"
    pick = found(with_gap(lift, 9))
    assert np.flatnonzero(~pick.demonstration.tracked).tolist() == list(
        range(lift - pick.events.onset, lift + 9 - pick.events.onset)
    )
    assert isinstance(find_pick(with_gap(0, 30)), FoundPick), "the wrist has not left yet"


@given(st.lists(st.booleans(), max_size=40))
def test_longest_gap_is_the_longest_run(tracked):
    runs = "".join("1" if t else "0" for t in tracked).split("1")
    assert longest_gap(np.array(tracked, dtype=bool)) == max(map(len, runs))


@settings(deadline=None)
@given(st.integers(5, 40), st.integers(10, 60), st.integers(5, 40), st.floats(0.1, 100.0), st.floats(-5.0, 5.0))
def test_edges_of_a_minimum_jerk_rise_give_back_its_begin_and_end(wait, duration, rest, scale, offset):
    """Whatever its size: 8 % of the highest speed is reached 7.5 % within, which `as_reach` adds again."""
    step = np.arange(wait + duration + rest)
    signal = offset + scale * progress((step - wait) / duration)
    rise = find_rise(signal).as_reach(len(signal))
    assert rise.begin == pytest.approx(wait, abs=2)
    assert rise.end == pytest.approx(wait + duration, abs=2)


def test_a_rise_to_a_level_in_between_is_another_one():
    step = np.arange(100)
    signal = 0.4 * progress((step - 10) / 20) + 0.6 * progress((step - 50) / 20)
    assert find_rise(signal).begin == pytest.approx(51, abs=2)


def test_flat_and_tiny_signals_have_an_empty_rise():
    for signal in (np.zeros(5), np.ones(1), np.array([0.0, 1.0])):
        rise = find_rise(signal)
        assert 0 <= rise.begin <= rise.end <= len(signal) - 1


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 120), st.floats(0.01, 0.3))
def test_whatever_moves_gives_a_demonstration_or_a_rule(seed, steps, stride):
    """Random walks of wrist and hand, judged by rules that let everything through."""
    rng = np.random.default_rng(seed)
    recorded = PickRecord(
        name="walk",
        wrist_pos_b=rng.normal(0.0, stride, (steps, 3)).cumsum(axis=0),
        wrist_quat_b=np.tile([0.0, 0.0, 0.0, 1.0], (steps, 1)),
        hand_joint_pos=rng.normal(0.0, stride, (steps, 16)).cumsum(axis=0),
        bin_pos_b=rng.normal(size=3),
        rate_hz=30.0,
    )
    lenient = PickRules(0.0, 0.0, 0.0, 0.0, 10.0, 60.0)
    pick = find_pick(recorded, lenient)
    assert isinstance(pick, Rejection) or set(pick.demonstration.phase) == set(Phase)


def test_arrays_of_another_shape_are_named():
    whole = record(operator_demo(0), np.random.default_rng(0))
    with pytest.raises(RecordingError, match=r"demo_0: wrist_quat_b has shape \(3,\), expected \(\d+, 4\), all finite"):
        replace(whole, wrist_quat_b=np.zeros(3))
    with pytest.raises(RecordingError, match="hand_joint_pos"):
        replace(whole, hand_joint_pos=np.full_like(whole.hand_joint_pos, np.nan))


def test_rules_check_their_numbers():
    with pytest.raises(ConfigError, match="PickRules.min_opening: received 2"):
        PickRules(min_opening=2.0)
