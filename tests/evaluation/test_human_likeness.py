"""Human-likeness: the operator is like himself, the script is not, and what is compared is what was commanded."""

import json
from dataclasses import replace

import numpy as np
import pytest

from r2s2r.behavior.motion_features import FEATURES
from r2s2r.behavior.scripted_pinch import ScriptedPinch
from r2s2r.contracts.action import ACTION_DIM, HAND_JOINT_POS
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.transforms import matrix_from_quat, rot6d_from_matrix
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.dataset.writer import DatasetWriter
from r2s2r.evaluation.human_likeness import MotionSample, human_likeness
from r2s2r.evaluation.human_likeness_charts import distance_chart, feature_chart, speed_chart
from r2s2r.evaluation.human_likeness_report import add_human_likeness
from r2s2r.evaluation.report import Report

from ..behavior.picks import operator_demo, record


def episode(seed: int, planner=None, noise: float = 1.0, source: str | None = None) -> Episode:
    """Return an episode as the replay writes it: waiting, at a pace of its own, disturbed; the object unseen."""
    rng = np.random.default_rng(seed)
    demo = operator_demo(seed, planner)
    pick = record(demo, rng, before=int(rng.integers(5, 60)), noise=noise, pace=rng.uniform(0.9, 1.1), after=10)
    rot6d = rot6d_from_matrix(matrix_from_quat(pick.wrist_quat_b))
    actions = np.concatenate([pick.wrist_pos_b, rot6d, pick.hand_joint_pos], axis=1).astype(np.float32)
    steps = len(actions)
    return Episode(
        actions=actions,
        obs={"joint_pos": np.zeros((steps, 23), np.float32)},
        states=np.zeros((steps, 0), np.float32),
        state_names=(),
        commands={},
        rewards=np.zeros(steps, np.float32),
        dones=np.eye(1, steps, steps - 1, dtype=np.int64)[0],
        success=True,
        source_demo=source or f"human_{seed}",
    )


@pytest.fixture(scope="module")
def held_out() -> MotionSample:
    return MotionSample.measure([operator_demo(seed) for seed in range(20)])


@pytest.fixture(scope="module")
def grounded(held_out):
    return human_likeness([episode(seed) for seed in range(100, 130)], held_out)


@pytest.fixture(scope="module")
def ungrounded(held_out):
    return human_likeness([episode(seed, ScriptedPinch()) for seed in range(30)], held_out)


def test_operator_s_replay_is_like_the_operator_and_the_script_is_not(grounded, ungrounded):
    """The replay's own noise, pace and waiting count little: a third of the script's distance would be the limit."""
    assert grounded.distance.low < 1.0
    assert grounded.distance.high < ungrounded.distance.low / 3
    assert (ungrounded.by_feature > 1.0).sum() > len(FEATURES) / 2


def test_script_stays_apart_without_its_two_fingers(grounded, ungrounded):
    """The distance is not the fingers' alone: half of the wrist's numbers tell the script from the operator."""
    wrist = slice(0, 14)
    assert (ungrounded.by_feature[wrist] > 5 * np.maximum(grounded.by_feature[wrist], 0.05)).sum() >= 7


def test_held_out_demonstrations_may_come_by_class(held_out):
    demos = [operator_demo(seed) for seed in range(100, 106)]
    listed = human_likeness(demos, held_out, rounds=50)
    by_class = human_likeness(
        demos,
        {"box": [operator_demo(s) for s in range(10)], "round": [operator_demo(s) for s in range(10, 20)]},
        rounds=50,
    )
    assert listed.to_dict() == by_class.to_dict()


def test_set_against_itself_is_not_apart(held_out):
    """The same sample on both sides: below zero, since each motion is nearest to itself."""
    same = human_likeness([operator_demo(seed) for seed in range(20)], held_out, rounds=50)
    assert same.distance.value <= 0.0


def test_file_and_its_episodes_are_measured_alike(tmp_path, held_out):
    episodes = [episode(seed) for seed in range(100, 104)]
    header = DatasetHeader({"env_name": "x", "type": 2, "env_kwargs": {}}, {})
    with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        for one in episodes:
            commands = {"joint_pos_target": one.obs["joint_pos"], "followable": np.ones(len(one), bool)}
            writer.add(replace(one, commands=commands))
    from_file = human_likeness(tmp_path / "set.hdf5", held_out, rounds=50)
    listed = human_likeness(episodes, held_out, rounds=50)
    assert from_file.distance == listed.distance
    assert np.array_equal(from_file.data.features, listed.data.features)


def test_copies_of_one_demonstration_do_not_make_it_sure(held_out):
    """Ten episodes of two demonstrations are wider apart than ten of ten."""
    copies = human_likeness([episode(100 + k % 2, noise=0.2, source=f"s{k % 2}") for k in range(10)], held_out)
    own = human_likeness([episode(100 + k, noise=0.2) for k in range(10)], held_out)
    assert copies.distance.high - copies.distance.low > own.distance.high - own.distance.low
    assert copies.to_dict()["sources"] == 2


def test_scale_is_the_held_out_s_deviation_or_the_resolution(held_out, grounded):
    deviation = held_out.features.std(axis=0, ddof=1)
    resolution = [feature.resolution for feature in FEATURES]
    assert grounded.scale == pytest.approx(np.maximum(deviation, resolution))
    assert grounded.scaled(held_out).mean(axis=0) == pytest.approx(0.0, abs=1e-9)


def test_what_cannot_be_measured_is_told(held_out):
    idle = episode(5)
    actions = idle.actions.copy()
    actions[:, HAND_JOINT_POS] = 0.3
    idle = replace(idle, actions=actions)
    assert actions.shape[1] == ACTION_DIM
    found = human_likeness([episode(100), idle, episode(101)], held_out, rounds=10)
    assert found.data.left_out == {"episode 1": "closing 0.000 < 0.500 rad"} and len(found.data) == 2
    with pytest.raises(
        DatasetError, match=r"0 of 1 motions could be measured \(episode 0: closing 0.000 < 0.500 rad\)"
    ):
        human_likeness([idle], held_out)
    with pytest.raises(DatasetError, match=r"0 of 0 motions could be measured \(there is none\)"):
        human_likeness([], held_out)


def test_summary_is_json(grounded):
    told = json.loads(json.dumps(grounded.to_dict()))
    assert told["interval"][0] <= told["energy_distance"] <= told["interval"][1]
    assert set(told["by_feature"]) == {feature.name for feature in FEATURES}
    assert (told["motions"], told["sources"], told["held_out"], told["left_out"]) == (30, 30, 20, {})


def test_charts_show_every_set_and_every_number(grounded, ungrounded):
    both = {"grounded": grounded, "ungrounded": ungrounded}
    distances = distance_chart(both).axes[0]
    assert [label.get_text() for label in distances.get_yticklabels()] == ["grounded", "ungrounded"]
    assert distances.texts[1].get_text().startswith(f"{ungrounded.distance.value:.2f}  (")
    features = feature_chart(both)
    assert [label.get_text() for label in features.axes[0].get_yticklabels()] == [f.name for f in FEATURES]
    dots = [line for line in features.axes[0].lines if line.get_label() == "ungrounded"]
    medians = np.median(ungrounded.scaled(ungrounded.data), axis=0)
    assert dots[0].get_xdata() == pytest.approx(medians)
    speeds = speed_chart(both)
    curve = [line for line in speeds.axes[1].lines if line.get_label() == "grounded"][0]
    assert curve.get_ydata() == pytest.approx(grounded.data.speeds[:, 1].mean(axis=0))
    with pytest.raises(ConfigError, match="0 sets, allowed are 1 and more"):
        distance_chart({})


@pytest.mark.parametrize("count", [1, 4, 32])
def test_as_many_sets_as_a_command_makes_are_told_apart(grounded, count):
    """Four of world x behavior, or all 16 worlds under both behaviors."""
    sets = {f"set {number}": grounded for number in range(count)}
    for chart in (distance_chart, feature_chart, speed_chart):
        lines = {line.get_label(): line.get_color() for axes in chart(sets).axes for line in axes.lines}
        assert len({lines[name] for name in sets if name in lines}) in (0, count)
    assert len(distance_chart(sets).axes[0].get_yticklabels()) == count


def test_report_tells_figures_and_what_was_left_out(tmp_path, grounded, ungrounded):
    told = {"demo_7": "opening 0.000 < 0.500 rad", "demo_8": "opening 0.001 < 0.500 rad", "demo_9": "success"}
    lacking = replace(ungrounded, data=replace(ungrounded.data, left_out=told))
    assert lacking.to_dict()["left_out"] == {"opening": 2, "success": 1}
    report = Report("test")
    add_human_likeness(report, {"grounded": grounded, "ungrounded": lacking})
    report.write(tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    for text in (
        "Human-likeness",
        "20 human demonstrations",
        "opening 0.000 &lt; 0.500 rad",
        "path deviation",
    ):
        assert text in html
    assert f"{grounded.distance.low:.2f} to {grounded.distance.high:.2f}, 30 motions of 30 demonstrations" in html
