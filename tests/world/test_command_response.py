"""Delay and lag between commands and measurements, simulated and of real machines."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import Stream
from r2s2r.world.command_response import ResponseCfg, first_order, moved_columns, shift
from r2s2r.world.joint_start import motion


def _follow(rng: np.random.Generator, dead_time_s: float, lag_s: float, noise: float = 2e-3) -> tuple[Stream, Stream]:
    """Return 50 Hz commands and readings that follow them, 20 s."""
    sent = np.arange(0.0, 20.0, 0.02)
    wander = lfilter([0.05], [1.0, -0.95], np.cumsum(rng.normal(size=len(sent))) * 0.1)
    fine = np.arange(0.0, 20.0, 0.0005)
    held = wander[np.clip(np.floor((fine - dead_time_s) / 0.02 + 1e-9).astype(int), 0, len(sent) - 1)]
    keep = np.exp(-0.0005 / lag_s)
    answer, _ = lfilter([1.0 - keep], [1.0, -keep], held, zi=[keep * held[0]])
    stamps = np.sort(rng.uniform(0.1, 19.9, 900))
    values = 1.5 * np.interp(stamps, fine + 0.0005, answer) + 0.3 + rng.normal(0.0, noise, len(stamps))
    return Stream(sent, wander[:, None]), Stream(stamps, values[:, None])


@pytest.mark.parametrize(("dead_time_s", "lag_s"), [(0.06, 0.08), (0.15, 0.03)])
def test_dead_time_and_lag_are_found_beside_spikes(rng: np.random.Generator, dead_time_s: float, lag_s: float):
    command, measured = _follow(rng, dead_time_s, lag_s)
    measured.values[[100, 400, 401]] += 5.0
    found = first_order(command, measured)
    assert found.dead_time_s == pytest.approx(dead_time_s, abs=0.003)
    assert found.lag_s == pytest.approx(lag_s, abs=0.004)
    assert found.gain == pytest.approx(1.5, abs=0.01) and found.offset == pytest.approx(0.3, abs=0.02)
    assert found.outliers.tolist() == [100, 400, 401]


def test_intervals_of_dead_time_and_lag_cover_the_truth():
    hits = []
    for seed in range(12):
        found = first_order(*_follow(np.random.default_rng(seed), 0.06, 0.08), cfg=ResponseCfg(largest_delay_s=0.2))
        hits += [
            abs(found.dead_time_s - 0.06) < found.dead_time_half_width,
            abs(found.lag_s - 0.08) < found.lag_half_width,
        ]
    # 24 hits of 95 %: fewer than 20 has a chance of 0.6 %.
    assert np.mean(hits) >= 20 / 24


def test_shift_is_dead_time_plus_lag_plus_half_a_hold(rng: np.random.Generator):
    command, measured = _follow(rng, 0.06, 0.02)
    found = shift(command, measured, np.array([0]))
    # For motion slow against the lag; a held command lags the interpolated one by half a period.
    assert found.delay_s == pytest.approx(0.06 + 0.02 + 0.01, abs=0.01)
    assert abs(found.delay_s - 0.09) < found.half_width_s + 0.005
    assert found.gain[0] == pytest.approx(1.5, rel=0.02)


def test_what_did_not_move_has_no_delay():
    still = Stream(np.arange(100) * 0.1, np.zeros((100, 2)))
    assert len(moved_columns(still, still)) == 0
    assert shift(still, still, np.array([0])).half_width_s == np.inf
    with pytest.raises(RecordingError, match="never changes"):
        first_order(still, still)


def test_streams_must_overlap():
    command = Stream(np.array([100.0, 101.0]), np.array([[0.0], [1.0]]))
    measured = Stream(np.arange(50.0), np.zeros((50, 1)))
    with pytest.raises(RecordingError, match="0 measurements after the first command, needed are 10"):
        shift(command, measured, np.array([0]))


def test_real_arm_and_hand_trail_their_commands(data_dir: Path):
    """README of the data: the arm follows by 4 to 6 frames (130 to 200 ms), the hand by 10 to 13 (330 to 430 ms)."""
    ranges = {"arm": (range(14), 0.130, 0.200), "hand": (range(14, 26), 0.330, 0.430)}
    pooled: dict[str, list[tuple[float, float]]] = {"arm": [], "hand": []}
    with np.load(data_dir / "teleop_g1_inspire" / "episodes_028_029.npz", allow_pickle=False) as file:
        for episode in ("ep028", "ep029"):
            time_s, state, action = (
                file[f"{episode}_{name}"].astype(float) for name in ("timestamp_s", "state", "action")
            )
            command, measured = Stream(time_s, action), Stream(time_s, state)
            moved = moved_columns(command, measured, ResponseCfg(still=0.15))
            for part, (columns, low, high) in ranges.items():
                chosen = np.array([j for j in moved if j in columns])
                assert len(chosen) >= 6
                found = shift(command, measured, chosen)
                assert low <= found.delay_s <= high
                assert found.half_width_s < 0.15
                pooled[part].append((found.delay_s, found.half_width_s))
                for j in chosen:
                    single = shift(command, measured, np.array([j]))
                    assert single.delay_s + single.half_width_s > low and single.delay_s - single.half_width_s < high
    for (first, first_width), (second, second_width) in pooled.values():
        assert abs(first - second) < np.hypot(first_width, second_width)
    assert pooled["hand"][0][0] - pooled["arm"][0][0] > 0.15


def test_real_motor_step_with_two_spikes(data_dir: Path):
    """README of the data: 11.64 rad/s at 9 V, quantised to 0.727; rows 100 and 101 are start-up spikes."""
    with open(data_dir / "actuators" / "dc_motor_step_response.csv", encoding="utf-8") as file:
        rows = np.array([[float(word) for word in row] for row in list(csv.reader(file))[1:]])
    command, measured = Stream(rows[:, 0], rows[:, 2:3]), Stream(rows[:, 0], rows[:, 3:4])
    cfg = ResponseCfg(largest_delay_s=0.2, block_s=0.25)
    found = first_order(command, measured, cfg=cfg)
    assert found.outliers.tolist() == [100, 101]
    assert 9.0 * found.gain + found.offset == pytest.approx(11.64, abs=0.5 * 0.727)
    # 63 % of 11.64 is 7.36 rad/s: the third sample, 40 ms after the step; 90 % is passed 240 ms after it.
    assert 0.03 < found.lag_s < 0.12
    assert 0.0 < found.lag_half_width < found.lag_s


def test_real_arm_is_differentiated_and_its_effort_explained(data_dir: Path):
    """Jittered 100 Hz positions of a TIAGo arm against the velocities and efforts that it reported."""
    with np.load(data_dir / "actuators" / "tiago_arm_100hz.npz", allow_pickle=False) as file:
        time_s, position, velocity, effort = (file[name] for name in ("time_s", "position", "velocity", "effort"))
    grid = np.arange(time_s[0], time_s[-1], 0.01)
    pos, speed, acceleration = motion(time_s, position, grid)
    reported, torque = (
        np.stack([np.interp(grid, time_s, column) for column in values.T], axis=1) for values in (velocity, effort)
    )
    for j in range(1, 8):
        assert np.corrcoef(speed[:, j], reported[:, j])[0, 1] >= 0.97
    for j in range(1, 5):
        gravity = [function(pos[:, k]) for k in range(1, 8) for function in (np.sin, np.cos)]
        columns = [np.tanh(speed[:, j] / 0.02), speed[:, j], acceleration[:, j], *gravity, np.ones_like(grid)]
        solution, *_ = np.linalg.lstsq(np.stack(columns, axis=1), torque[:, j], rcond=None)
        left = torque[:, j] - np.stack(columns, axis=1) @ solution
        assert 1.0 - left.var() / torque[:, j].var() > 0.8
        # The motor constant is unknown, even its sign; dry friction, viscous friction and inertia must share it.
        assert abs(np.sign(solution[:3]).sum()) == 3
