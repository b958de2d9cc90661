"""Environments whose physics cannot be believed are marked and start anew; the others notice nothing."""

import numpy as np
import pytest
import torch
from isaaclab.utils.math import quat_apply

from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.operator import OperatorModel
from r2s2r.contracts.errors import SimulationError
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation.judging import JudgingCfg, Outcome
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.attempts import rejection
from r2s2r_tasks.belt_sort.demonstrate import plan_demonstrations
from r2s2r_tasks.belt_sort.generate import generate
from r2s2r_tasks.belt_sort.mdp.health import PhysicsHealth
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env

from .driving import judge, put, restart, stay, wrist_pose_b

pytestmark = pytest.mark.sim

N, SEED = 8, 3
BROKEN, BREAK_STEP, STEPS = 3, 10, 14
OTHERS = [i for i in range(N) if i != BROKEN]
SLOTS = ("box_object", "round_object")
CLOSING = (3, 5)
"""Environments whose hand closes on a box."""


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED) as env:
        yield env


def _run(env, accident=None) -> tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]]:
    """Stand still for `STEPS` steps with an `accident` before step `BREAK_STEP`: observations, resets, outcomes."""
    still = stay(restart(env, SEED))
    seen, resets, outcomes = [], [], []
    for step in range(STEPS):
        if accident is not None and step == BREAK_STEP:
            accident(env)
        obs, *_ = env.step(still)
        seen.append(torch.cat((obs["policy"], obs["privileged"]), dim=-1).clone())
        resets.append(env.reset_buf.clone())
        outcomes.append(judge(env).outcome.clone())
    return seen, resets, outcomes


@pytest.fixture(scope="module")
def undisturbed(env) -> list[torch.Tensor]:
    return _run(env)[0]


def _break_joint(env) -> None:
    robot, ids = env.scene["robot"], torch.tensor([BROKEN], dtype=torch.int32)
    position = robot.data.joint_pos.torch[[BROKEN]].clone()
    position[0, 2] = torch.nan
    robot.write_joint_position_to_sim_index(position=position, env_ids=ids)


def _break_object(of_target: bool, height: float, speed: float):
    """Return an accident: target or other object at `height` [m] with upward `speed` [m/s]."""

    def accident(env) -> None:
        target = int(episode(env).target_class[BROKEN])
        item = env.scene[SLOTS[target if of_target else 1 - target]]
        put(env, item, (0.52, -0.2, height), [BROKEN], (0.0, 0.0, speed))

    return accident


@pytest.mark.parametrize(
    "accident",
    [
        pytest.param(_break_joint, id="joint is NaN"),
        pytest.param(_break_object(True, float("nan"), 0.0), id="target is NaN"),
        pytest.param(_break_object(False, float("nan"), 0.0), id="other object is NaN"),
        pytest.param(_break_object(True, 0.2, 8.0), id="target runs away"),
        pytest.param(_break_object(False, 0.2, 8.0), id="other object runs away"),
    ],
)
def test_b39_a_broken_environment_is_reset_and_no_other_notices(env, undisturbed, accident):
    seen, resets, outcomes = _run(env, accident)
    assert [step for step in range(STEPS) if resets[step].any()] == [BREAK_STEP]
    assert resets[BREAK_STEP].nonzero().flatten().tolist() == [BROKEN]
    assert outcomes[BREAK_STEP][BROKEN] == Outcome.UNSTABLE
    for reference, now in zip(undisturbed, seen, strict=True):
        assert torch.equal(now[OTHERS], reference[OTHERS])
        assert torch.isfinite(now).all()


class _Buffers:
    """The solver's buffers made smaller, as a cfg of too small nconmax and njmax would have them."""

    def __init__(self, env):
        self._data = env.sim.physics_manager._solver.mjw_data
        self._kept = (self._data.naconmax, self._data.njmax)

    def shrink(self, contacts: int | None = None, rows: int | None = None) -> None:
        """Hold `contacts` for each environment on average, and `rows` of constraints."""
        if contacts is not None:
            self._data.naconmax = N * contacts
        if rows is not None:
            self._data.njmax = rows

    def restore(self) -> None:
        self._data.naconmax, self._data.njmax = self._kept


@pytest.fixture
def buffers(env):
    buffers = _Buffers(env)
    yield buffers
    buffers.restore()
    # A solve without its contacts leaves the pool in a state of its own.
    env.step(stay(restart(env, SEED)))


def _close_hands(env, steps: int) -> dict[int, set[Outcome]]:
    """Close the hands of `CLOSING` on a box held between palm and fingers; return the outcomes seen by environment."""
    grasp = GraspGeometry()
    obs = restart(env, SEED)
    still, ids = stay(obs), list(CLOSING)
    wrist = wrist_pose_b(obs)[ids]
    between = wrist[:, :3] + quat_apply(wrist[:, 3:], torch.tensor(grasp.object_pos_palm).repeat(len(ids), 1))
    seen: dict[int, set[Outcome]] = {env_id: set() for env_id in range(N)}
    for step in range(steps):
        closing = still.clone()
        closing[ids, 9:] += torch.tensor(grasp.close_amount) * min(1.0, step / 20)
        put(env, env.scene["box_object"], between, ids)
        env.step(closing)
        for env_id in range(N):
            seen[env_id].add(Outcome(int(judge(env).outcome[env_id])))
    return seen


def test_b38_the_shipped_buffers_hold_a_closing_hand(env):
    seen = _close_hands(env, 25)
    assert all(outcomes == {Outcome.RUNNING} for outcomes in seen.values())
    peak = judge(env).contact_peak
    assert (peak[list(CLOSING)] > 40).all() and (peak[[i for i in range(N) if i not in CLOSING]] < 30).all()


@pytest.mark.parametrize("small", [{"contacts": 40}, {"rows": 34}], ids=["contacts", "constraint rows"])
def test_b38_an_environment_that_overflows_its_buffer_is_marked(env, buffers, small):
    """6 environments need about 20 contacts, the 2 that close a hand up to 51: only they are marked, with the peak."""
    buffers.shrink(**small)
    seen = _close_hands(env, 25)
    marked = {env_id for env_id, outcomes in seen.items() if Outcome.CONTACT_OVERFLOW in outcomes}
    assert marked == set(CLOSING)


def test_b38_a_full_pool_marks_every_environment_and_strict_mode_raises(env, buffers):
    """Where the contacts of all do not fit, nobody knows whose were dropped."""
    buffers.shrink(contacts=12)
    env.step(stay(restart(env, SEED)))
    assert (judge(env).outcome == Outcome.CONTACT_OVERFLOW).all()
    strict = PhysicsHealth(env, JudgingCfg(**judge(env).cfg.params["judging"]).runaway_speed, strict=True)
    with pytest.raises(SimulationError, match=r"environments \[.*\] need up to \d+ contacts, 12 are held for each"):
        strict.overrule(torch.zeros(N, dtype=torch.int64))


def test_b38_no_episode_of_a_marked_environment_is_written(env, buffers):
    restart(env, SEED)
    planned = plan_demonstrations(env, OperatorModel(), SEED)
    demos = {name: [demo for _, demo in group] for name, group in zip(OBJECT_CLASSES, planned, strict=True)}
    recorded = {}
    buffers.shrink(contacts=12)
    generation = generate(
        env,
        demos,
        N,
        condition="nominal",
        on_attempt=lambda attempt, item: recorded.update({attempt.number: item}),
    )
    assert generation.successes == 0
    assert len(recorded) == N and not any(item.success for item in recorded.values()), "only successes are written"
    told = [rejection(attempt, env, ReplayCfg()).rule for attempt in generation.attempts]
    assert told == [Outcome.CONTACT_OVERFLOW.label] * N
    assert np.all([attempt.outcome is Outcome.CONTACT_OVERFLOW for attempt in generation.attempts])
