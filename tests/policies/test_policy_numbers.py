"""The scales of what is learned: from all that may be learned and nothing else, one for each action of a chunk."""

import numpy as np
import pytest

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.errors import ConfigError
from r2s2r_policies import policy_numbers
from r2s2r_policies.mixture import Mixture, Source
from r2s2r_policies.normaliser import LEAST_SCALE, Normaliser
from r2s2r_policies.policy_numbers import ACTIONS, STATE, PolicyNumbers, learned_statistics
from r2s2r_policies.statistics import ColumnStatistics
from r2s2r_policies.wrist_frame import STATE_NAMES, WristFrame

from .data_sets import write


def still(_number, episode):
    """Let the robot stand still, so that a way differs from its action by one offset for all rows."""
    episode.obs["joint_pos"][:] = 0.3
    return episode


def test_b73_statistics_see_each_learned_action_once_and_no_padding(tmp_path):
    disturbed = np.zeros(5, bool)
    disturbed[1] = True

    def change(number, episode):
        # The last action is what padding repeats, and a pushed one lies far out.
        episode.actions[-1, 0], episode.actions[1, 0] = 0.7, -0.9
        episode.commands["disturbed"] = disturbed
        return still(number, episode)

    path = write(tmp_path / "set.hdf5", lengths=(5, 5), change=change)
    with Mixture([Source(path, 1.0, "real", filter_key=None)], chunk=16) as mixture:
        statistics = learned_statistics(mixture, offsets=16)
        wrist_x = WristFrame().state(np.full(23, 0.3))[23]
        ways = [places.points[:, 0] + wrist_x for places in statistics[ACTIONS]]
    assert len(ways) == 16
    np.testing.assert_allclose(ways[0], sorted([0.0, 0.0, 0.0, 0.7, 0.01, 0.01, 0.01, 0.7]), atol=1e-6)
    np.testing.assert_allclose(ways[3], sorted([0.0, 0.7, 0.01, 0.7]), atol=1e-6)
    # No episode reaches further than four steps; what is known of the fourth stands for the rest.
    np.testing.assert_array_equal(ways[15], ways[4])
    assert statistics[STATE][0].count == 10  # a pushed wrist is seen, though not learned


def test_each_action_of_a_chunk_spans_minus_one_to_one(tmp_path, rng):
    """A wrist that moves on at constant speed is further away with every step, and on one scale nevertheless."""

    def leave(_number, episode):
        frame, turn = WristFrame(), rng.uniform(0.03, 0.05)
        joint_pos = np.full((121, 23), 0.3)
        joint_pos[:, 0] = turn * np.arange(121)
        episode.obs["joint_pos"][:] = joint_pos[:-1]
        episode.actions[:, :9] = frame.state(joint_pos[1:])[:, 23:]  # where it is one step later
        return episode

    path = write(tmp_path / "set.hdf5", lengths=(120,) * 4, change=leave)
    with Mixture([Source(path, 1.0, "real", filter_key=None)], chunk=4) as mixture:
        numbers = PolicyNumbers.of(mixture, sequence=False)
        rows = mixture.windows[0].samples
        learned, mask = mixture.windows[0].learned(rows)
        data = mixture.data[0]
        scaled = numbers.learned(data.actions[learned], data.joint_pos[rows][:, None])
    scale = numbers.normaliser.columns[ACTIONS].scale
    assert scale.shape == (4, 25)
    # Chords of a circle: four steps of at most 0.05 rad are twice as far as two, less 0.5 % of it. One is below 1 cm.
    assert scale[0, 0] == LEAST_SCALE
    np.testing.assert_allclose(scale[1:, 0] / scale[1, 0], [1, 1.5, 2], rtol=0.01)
    for step in range(4):
        inside = np.abs(scaled[:, step, 9:][mask[:, step]]) <= 1 + 1e-5
        np.testing.assert_allclose(inside.mean(axis=0), 0.98, atol=0.005)


@pytest.mark.parametrize("sequence", [False, True])
def test_an_answer_becomes_the_actions_it_was_learned_from(tmp_path, sequence):
    path = write(tmp_path / "set.hdf5", lengths=(30, 30))
    with Mixture([Source(path, 1.0, "real", filter_key=None)], chunk=8) as mixture:
        numbers = PolicyNumbers.of(mixture, sequence)
        read = PolicyNumbers.from_dict(numbers.to_dict())
        data = mixture.data[0]
        actions, joint_pos = data.actions[10:18], data.joint_pos[10:18] if sequence else data.joint_pos[10:11]
        targets = numbers.learned(actions[None], joint_pos[None])[0]
        for step in range(8) if sequence else [0]:
            answer = targets[step : step + 1] if sequence else targets
            back = read.actions(answer, joint_pos[step])
            # Roundings of float32 on scales up to about 2.
            np.testing.assert_allclose(back, actions[step : step + len(back)], atol=8 * 2.0**-23)


def test_sources_without_weight_do_not_count_and_many_samples_are_thinned(tmp_path, monkeypatch):
    def far(_number, episode):
        episode.obs["joint_pos"][:, 0] += 0.5
        return episode

    near, other = write(tmp_path / "a.hdf5", (40, 40)), write(tmp_path / "b.hdf5", (40,), change=far)
    sources = [Source(near, 1.0, "real", filter_key=None), Source(other, 0.0, "sim", filter_key=None)]
    with Mixture(sources, chunk=4) as mixture:
        assert learned_statistics(mixture, 4)[STATE][0].count == 80
        monkeypatch.setattr(policy_numbers, "SAMPLES", 10)
        assert learned_statistics(mixture, 4)[STATE][0].count == 10


def test_a_source_counts_by_its_share_and_not_by_its_rows(tmp_path):
    def far(_number, episode):
        episode.obs["joint_pos"][:, 7] = 1.5
        return episode

    def near(_number, episode):
        episode.obs["joint_pos"][:, 7] = 0.5
        return episode

    few, many = write(tmp_path / "a.hdf5", (20,), change=near), write(tmp_path / "b.hdf5", (60,) * 3, change=far)
    for share in (0.5, 0.8):
        sources = [Source(few, share, "real", filter_key=None), Source(many, 1 - share, "sim", filter_key=None)]
        with Mixture(sources, chunk=4) as mixture:
            mean = learned_statistics(mixture, 4)[STATE][0].mean[7]
        # Numbers of samples are rounded to whole ones, of 200.
        np.testing.assert_allclose(mean, 0.5 * share + 1.5 * (1 - share), atol=1 / 200)


def test_a_normaliser_of_other_columns_is_refused():
    state = ColumnStatistics.of(np.zeros((2, 32)), STATE_NAMES, 1)
    actions = ColumnStatistics.of(np.zeros((2, 25)), ACTION_NAMES, 1)  # told in the base, as the data are
    with pytest.raises(ConfigError, match="columns of actions are wrist_move_b.x"):
        PolicyNumbers(Normaliser.of({STATE: [state], ACTIONS: [actions]}))
