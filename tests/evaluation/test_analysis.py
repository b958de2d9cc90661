"""The whole analysis on data sets and rollouts on disk in which the answers are known."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from r2s2r.cli.main import main
from r2s2r.contracts.action import ACTION_DIM, HAND_JOINT_POS
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.policy import Observation
from r2s2r.contracts.trials import Trial
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.dataset.writer import DatasetWriter
from r2s2r.evaluation.analysis import NEAREST, PICTURES, POLICIES, analyse
from r2s2r.evaluation.analysis_data import PICTURE_STRIDE, STATE_STRIDE, read_rollouts, read_set, rollout_domain
from r2s2r.evaluation.analysis_material import AnalysisCfg, Material
from r2s2r.evaluation.coverage import CoverageCfg
from r2s2r.evaluation.observation_view import OTHER_HALF, REAL
from r2s2r.evaluation.rollout import Rollout, rollout_path, write_rollout
from r2s2r.robot.ready import READY_ARM, READY_HAND

STEPS, SIZE, CHUNK, EXECUTED = 64, 16, 4, 8
REAL_GREY, SIM_GREY = 100, 140
"""Grey levels of the pictures: the real cell is darker than the simulator."""

READY = np.array(READY_ARM + READY_HAND)


def motion(rng: np.random.Generator, away: float = 0.0) -> np.ndarray:
    """Return joints (T, 23) that swing, each episode a little otherwise; in the second half `away` from all others."""
    share = np.linspace(0.0, 1.0, STEPS)[:, None]
    joint_pos = READY + 0.4 * np.sin(np.pi * share) * np.sin(np.arange(23)) + rng.normal(scale=0.02, size=23)
    return joint_pos + away * (share >= 0.5) * np.cos(np.arange(23))


def behavior(joint_pos: np.ndarray, sim: bool) -> np.ndarray:
    """Return what the domain does in states (T, 23): actions (T, 25) that differ by 0.5 in the hand."""
    actions = np.zeros((len(joint_pos), ACTION_DIM), np.float32)
    actions[:, :3] = joint_pos[:, :3]
    actions[:, [3, 7]] = 1.0  # no turn, as rot6d
    actions[:, HAND_JOINT_POS] = joint_pos[:, 7:] + (0.5 if sim else -0.5)
    return actions


def pictures(rng: np.random.Generator, count: int, grey: int) -> np.ndarray:
    return rng.integers(grey - 8, grey + 9, size=(count, SIZE, SIZE, 3), dtype=np.uint8)


def write_set(path: Path, rng: np.random.Generator, sim: bool, episodes: int = 8) -> Path:
    header = DatasetHeader({"env_name": "x", "type": 2, "env_kwargs": {}}, {})
    names = tuple(f"box_pos_b.{axis}" for axis in "xyz")
    with DatasetWriter(path, replace(header, state_names=names)) as writer:
        for number in range(episodes):
            joint_pos = motion(rng).astype(np.float32)
            grey = SIM_GREY if sim else REAL_GREY
            writer.add(
                Episode(
                    actions=behavior(joint_pos, sim),
                    obs={
                        "joint_pos": joint_pos,
                        "head_rgb": pictures(rng, STEPS, grey),
                        "wrist_rgb": pictures(rng, STEPS, grey),
                    },
                    states=np.tile(np.array([0.5, 0.0, 0.1], np.float32), (STEPS, 1)),
                    state_names=names,
                    commands={"joint_pos_target": joint_pos, "followable": np.ones(STEPS, bool)},
                    rewards=np.zeros(STEPS, np.float32),
                    dones=np.eye(1, STEPS, STEPS - 1, dtype=np.int64)[0],
                    success=True,
                    source_demo=f"{path.stem}_{number}",
                    attributes={"object_class": "box", "condition": "nominal"},
                )
            )
    return path


def write_rollouts(folder: Path, rng: np.random.Generator, name: str, count: int = 8) -> None:
    """Write rollouts that act as the real demonstrations in the first half, and in the second, in every other rollout
    far away from them, as the simulation."""
    decided = np.arange(0, STEPS, EXECUTED)
    for number in range(count):
        gone = number % 2 == 1
        joint_pos = motion(rng, away=1.5 * gone).astype(np.float32)
        actions = behavior(joint_pos, sim=False)
        if gone:
            actions[STEPS // 2 :] = behavior(joint_pos, sim=True)[STEPS // 2 :]
        trial = Trial("nominal", number, 0)
        rollout = Rollout(
            time_s=3.0 + np.arange(STEPS) / 30.0,
            joint_pos=joint_pos,
            actions=actions,
            target_pose_b=np.tile(np.array([0.5, 0.0, 0.1, 0, 0, 0, 1], np.float32), (STEPS, 1)),
            decision_step=decided.astype(np.int32),
            start_index=np.zeros(len(decided), np.int32),
            head_rgb=pictures(rng, len(decided), REAL_GREY),
            wrist_rgb=pictures(rng, len(decided), REAL_GREY),
            decision_joint_pos=joint_pos[decided],
            chunks=np.repeat(actions[decided][:, None], CHUNK, axis=1),
            meta={"policy": name, "condition": "nominal", "number": number, "success": not gone},
        )
        write_rollout(rollout_path(folder, name, trial), rollout)


class DomainPolicy:
    """Does what its domain does in the joints it sees; its latents are the grey level and the joints."""

    def __init__(self, sim: bool):
        self._sim = sim

    @property
    def info(self):
        return {"name": "domain", "picture_size": SIZE, "chunk": CHUNK, "rate_hz": 30.0}

    def reset(self, seed: int) -> None:
        """Nothing is remembered."""

    def act(self, observation: Observation) -> np.ndarray:
        return np.repeat(behavior(observation.joint_pos[None], self._sim), CHUNK, axis=0)

    def features(self, observations: list[Observation]) -> np.ndarray:
        return np.stack([np.append(seen.joint_pos, seen.head_rgb.mean()) for seen in observations])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("analysis")
    write_set(folder / "demos.hdf5", rng, sim=False)
    write_set(folder / "sim.hdf5", rng, sim=True)
    for name in ("real_100", "grounded"):
        write_rollouts(folder / "evaluation", rng, name)
    return folder


def material(folder: Path, **options) -> Material:
    real, sim = (read_set(folder / f"{name}.hdf5", name, chunk=CHUNK, episodes=8, seed=0) for name in ("demos", "sim"))
    return Material(real, {"grounded": sim}, read_rollouts(folder / "evaluation"), **options)


@pytest.fixture(scope="module")
def analysis(folder):
    policies = {"real_100": DomainPolicy(sim=False), "grounded": DomainPolicy(sim=False)}
    given = material(folder, policies=policies, real_only="real_100", sim_only={"grounded": DomainPolicy(sim=True)})
    # A quantile that covers all that demonstrations do: what was made to leave leaves, and nothing else.
    return analyse(given, AnalysisCfg(CoverageCfg(quantile=0.999), rounds=50))


def test_states_and_pictures_are_those_of_the_file(folder):
    domain = read_set(folder / "demos.hdf5", "demos", chunk=CHUNK, episodes=8, seed=0).domain
    assert len(domain) == 8 * STEPS // STATE_STRIDE and len(domain.pictured) == 8 * STEPS // PICTURE_STRIDE
    assert np.array_equal(domain.chunks[:, 0], behavior(domain.joint_pos, sim=False))
    last = domain.chunks[STEPS // STATE_STRIDE - 1]  # two steps are left of four
    assert np.array_equal(last[1], last[2]) and np.array_equal(last[1], last[3])
    seen = domain.observations(np.array([STEPS // PICTURE_STRIDE + 1]))[0]  # second of the second episode
    assert seen.time_s == pytest.approx(PICTURE_STRIDE / 30) and seen.head_rgb.shape == (SIZE, SIZE, 3)


def test_draw_of_episodes_is_the_seed_s(folder):
    drawn = [
        np.unique(read_set(folder / "sim.hdf5", "sim", chunk=1, episodes=3, seed=seed).domain.episode).tolist()
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2] and len(drawn[0]) == 3


def test_target_is_where_it_was_when_the_picture_was_exposed(folder):
    rollout = read_rollouts(folder / "evaluation")[0]
    pose = rollout.target_pose_b.copy()
    pose[:, 1] = rollout.time_s  # moves by 1 m/s
    moving = rollout_domain([replace(rollout, target_pose_b=pose)], "x").target_pos_b
    assert moving is not None
    assert moving[1:, 1] == pytest.approx(rollout.time_s[rollout.decision_step[1:]] - 0.04, abs=1e-5)


def test_rollouts_leave_where_they_were_made_to(analysis):
    for found in analysis.getting_back.values():
        assert found.by_fate["never left"] == (4, 4)
        assert found.by_fate["left for good"] == (0, 4)
        assert found.time_outside.censored == 4 and found.leaving.events == 4 and found.returning.events == 0
    shares = [one.value for one in analysis.curves["states"]["grounded"].share]
    assert shares == [1.0, 1.0, 0.5, 0.5]  # half of the rollouts are far from step 32 on, after 1.07 s


def test_mixture_is_found_by_nearest_demonstrations_and_by_policies(analysis):
    assert set(analysis.mixture) == {NEAREST, POLICIES} and set(analysis.mixture[POLICIES]) == {"grounded"}
    for claims in analysis.mixture.values():
        claim = claims["grounded"]
        assert (claim.inside.value, claim.outside.value) == (1.0, 0.0)
        assert claim.difference.low == 1.0 and claim.decisions[-1] == 16


def test_domains_are_apart_and_halves_are_not(analysis):
    distances = analysis.embeddings[PICTURES].distances
    assert set(distances) == {OTHER_HALF, "grounded", "real_100, rollouts", "grounded, rollouts"}
    assert distances["grounded"].energy.low > 10 * max(distances[OTHER_HALF].energy.high, 1e-3)
    assert distances["grounded, rollouts"].energy.high < distances["grounded"].energy.low / 10
    assert analysis.embeddings[PICTURES].plane[REAL].shape == (8 * STEPS // PICTURE_STRIDE, 2)


def test_probe_finds_the_grey_level_in_pictures_and_latents(analysis):
    assert set(analysis.probes) == {PICTURES, "latents of real_100", "latents of grounded"}
    assert all(probe["grounded"].auc.value == 1.0 for probe in analysis.probes.values())
    assert set(analysis.curves["own latents"]) == {"real_100", "grounded"}


def test_same_seed_same_numbers(folder, analysis):
    given = material(folder)
    first, second = (json.dumps(analyse(given, AnalysisCfg(rounds=20)).to_dict()) for _ in range(2))
    assert first == second


def test_command_writes_report_and_numbers(folder, tmp_path, capsys):
    arguments = ["analyze", str(tmp_path), "--evaluation", str(folder / "evaluation")]
    arguments += ["--real", str(folder / "demos.hdf5"), "--sim", f"grounded={folder / 'sim.hdf5'}"]
    assert main(arguments) == 0
    numbers = json.loads((tmp_path / "analysis.json").read_text())
    assert numbers["getting_back"]["grounded"]["rollouts"] == 8
    assert numbers["coverage"]["states"]["grounded"]["rollouts"][0] == 8
    report = (tmp_path / "analysis.html").read_text()
    assert report.count("<img") >= 9 and str(folder) not in report


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"--evaluation": "nothing"}, "no rollouts"),
        ({"--real": "missing.hdf5"}, "missing.hdf5"),
        ({"--sim": "sim.hdf5"}, "allowed is NAME=PATH"),
        ({"--sim": "real=sim.hdf5"}, "none `real`"),
        ({"--quantile": "1.5"}, "quantile"),
        ({"--neighbours": "8"}, "8 demonstrations for 8 neighbours"),
        ({"--episodes": "0"}, "--episodes: received 0"),
    ],
)
def test_bad_input_is_one_line(folder, tmp_path, capsys, monkeypatch, change, told):
    monkeypatch.chdir(folder)
    options = {"--evaluation": "evaluation", "--real": "demos.hdf5", "--sim": "grounded=sim.hdf5", **change}
    (folder / "nothing").mkdir(exist_ok=True)
    assert main(["analyze", str(tmp_path), *(part for pair in options.items() for part in pair)]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


def test_pictures_of_another_size_are_refused(folder):
    given = material(folder)
    small = replace(given.real.domain, head_rgb=given.real.domain.head_rgb[:, ::2, ::2])
    with pytest.raises(ConfigError, match="pictures of 16 px, those of demos have 8"):
        replace(given, real=replace(given.real, domain=small))


def test_policies_that_do_not_fit_are_refused(folder):
    class Coarse(DomainPolicy):
        @property
        def info(self):
            return {**super().info, "picture_size": 32}

    with pytest.raises(ConfigError, match="policy grounded: takes pictures of 32 px"):
        material(folder, policies={"grounded": Coarse(sim=False)})
    with pytest.raises(ConfigError, match="real_only: received 'real_7'"):
        material(folder, real_only="real_7", sim_only={"grounded": DomainPolicy(sim=True)})
    with pytest.raises(ConfigError, match="sim_only: received 'other', allowed are sets: grounded"):
        material(
            folder,
            policies={"real_100": DomainPolicy(sim=False)},
            real_only="real_100",
            sim_only={"other": DomainPolicy(sim=True)},
        )


def test_damaged_rollout_is_named(folder, tmp_path):
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "rollouts" / "nominal_000.npz").write_bytes(b"PK nothing")
    with pytest.raises(DatasetError, match="nominal_000.npz"):
        read_rollouts(tmp_path)
