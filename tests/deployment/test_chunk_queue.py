import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_POS, WRIST_ROT6D
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import matrix_from_rot6d, rot6d_from_matrix, so3_exp, so3_log
from r2s2r.deployment.chunk_queue import ChunkQueue, JoinCfg

STEP_S = 1.0 / 30.0
IDENTITY = rot6d_from_matrix(np.eye(3))


def action(hand: float = 0.0, pos=(0.4, 0.0, 0.3), rotation=None) -> np.ndarray:
    result = np.full(25, hand, dtype=np.float32)
    result[WRIST_POS] = pos
    result[WRIST_ROT6D] = IDENTITY if rotation is None else rot6d_from_matrix(rotation)
    return result


def numbered(count: int, first: float = 0.0) -> np.ndarray:
    """A chunk whose hand joints count the actions in hundredths of a radian: action k is told by its value."""
    return np.stack([action(0.01 * (first + k)) for k in range(count)])


def execute(queue: ChunkQueue, count: int, begin_s: float) -> list[float]:
    sent = [queue.pop(begin_s + k * STEP_S) for k in range(count)]
    return [round(100 * float(action[-1]), 3) for action in sent if action is not None]


def test_b93_the_first_answer_starts_at_its_first_action_however_long_it_took():
    queue = ChunkQueue(action())
    for k in range(21):  # 0.7 s at 30 a second: the robot stands
        assert queue.pop(k * STEP_S) is None
    join = queue.adopt(numbered(30), observed_s=0.0)
    assert join.start == 0
    assert execute(queue, 3, 0.7) == [0.0, 1.0, 2.0]


def test_b93_an_answer_after_nine_executed_actions_starts_at_action_nine():
    queue = ChunkQueue(action())
    queue.adopt(numbered(30), observed_s=0.0)
    execute(queue, 6, 0.0)
    observed_s = 6 * STEP_S
    execute(queue, 9, observed_s)  # 0.3 s of thinking
    join = queue.adopt(numbered(30, first=6), observed_s)
    assert (join.start, join.blended) == (9, False)
    assert execute(queue, 2, observed_s + 0.3) == [15.0, 16.0]


def test_b93_only_what_was_executed_counts_when_the_robot_stood_meanwhile():
    """The previous answer ends after 4 of the 9 steps; the other five were not executed."""
    queue = ChunkQueue(action())
    queue.adopt(numbered(4), observed_s=0.0)
    assert len(execute(queue, 9, 0.0)) == 4
    assert queue.adopt(numbered(30), observed_s=0.0).start == 4


def test_b93_a_jump_of_a_joint_above_the_limit_is_blended_and_told():
    queue = ChunkQueue(action())
    queue.adopt(numbered(8), observed_s=0.0)
    execute(queue, 4, 0.0)
    other = np.stack([action(0.04 + 0.2)] * 8)  # the old answer goes on at 0.04 rad
    join = queue.adopt(other, observed_s=4 * STEP_S)
    assert join.blended
    assert join.hand_jump == pytest.approx(0.2, abs=1e-6)
    sent = [float(queue.pop((4 + k) * STEP_S)[-1]) for k in range(5)]
    assert sent == pytest.approx([0.09, 0.14, 0.19, 0.24, 0.24], abs=1e-6)


def test_a_jump_within_the_limit_is_told_and_left_alone():
    queue = ChunkQueue(action())
    join = queue.adopt(np.stack([action(0.049)] * 4), observed_s=0.0)
    assert not join.blended
    assert join.hand_jump == pytest.approx(0.049, abs=1e-6)
    assert queue.pop(0.0)[-1] == pytest.approx(0.049, abs=1e-6)


def test_a_jump_of_the_wrist_is_blended_on_the_shortest_way():
    turn = so3_exp(np.array([0.0, 0.0, 0.4]))
    queue = ChunkQueue(action())
    join = queue.adopt(np.stack([action(pos=(0.5, 0.0, 0.3), rotation=turn)] * 5), observed_s=0.0)
    assert join.blended
    assert join.wrist_jump == pytest.approx((0.1, 0.4), abs=1e-6)
    for k in range(3):
        sent = queue.pop(k * STEP_S)
        assert sent[WRIST_POS] == pytest.approx([0.4 + 0.025 * (k + 1), 0.0, 0.3], abs=1e-6)
        assert so3_log(matrix_from_rot6d(sent[WRIST_ROT6D])) == pytest.approx([0, 0, 0.1 * (k + 1)], abs=1e-6)
    assert queue.pop(3 * STEP_S)[WRIST_POS] == pytest.approx([0.5, 0.0, 0.3])


def test_an_answer_that_is_past_altogether_is_not_taken():
    queue = ChunkQueue(action())
    queue.adopt(numbered(20), observed_s=0.0)
    execute(queue, 10, 0.0)
    join = queue.adopt(numbered(8), observed_s=0.0)
    assert join.start == 8
    assert execute(queue, 1, 10 * STEP_S) == [10.0]


@given(st.integers(0, 40), st.floats(-0.45, 0.45))
def test_executed_actions_are_counted_to_the_nearest_step(executed, fraction):
    queue = ChunkQueue(action())
    queue.adopt(numbered(60), observed_s=0.0)
    execute(queue, executed, 0.0)
    for since in range(executed + 1):
        assert queue.executed_since((since + fraction) * STEP_S) == executed - since


@given(st.lists(st.floats(-0.5, 0.5), min_size=16, max_size=16), st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=3))
def test_a_blended_answer_never_leaps_and_ends_as_it_was_answered(hand, turn):
    start, goal = action(), action()
    goal[HAND_JOINT_POS] = hand
    goal[WRIST_ROT6D] = rot6d_from_matrix(so3_exp(np.array(turn)))
    cfg = JoinCfg(steps=4)
    queue = ChunkQueue(start, cfg)
    join = queue.adopt(np.stack([goal] * 6), observed_s=0.0)
    sent = np.stack([start, *(queue.pop(k * STEP_S) for k in range(6))])
    largest = np.abs(np.diff(sent[:, HAND_JOINT_POS], axis=0)).max()
    limit = join.hand_jump / (cfg.steps + 1) if join.blended else cfg.hand_limit
    assert largest <= limit + 1e-6
    assert sent[-1] == pytest.approx(goal)


def test_limits_are_checked():
    with pytest.raises(ConfigError, match=r"JoinCfg\.hand_limit"):
        JoinCfg(hand_limit=-0.1)
    with pytest.raises(ConfigError, match=r"JoinCfg\.steps: received -1"):
        JoinCfg(steps=-1)
