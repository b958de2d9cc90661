"""Recording demonstrations: balanced, repeatable, resumable; on the virtual cell without its cameras."""

import json
import shutil
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from r2s2r.behavior.demonstration import Phase
from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.virtual_cell import VirtualCell
from r2s2r.cli.main import main
from r2s2r.contracts.errors import ConfigError, DatasetError, RecordingError
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import nominal_poses
from r2s2r.dataset.demonstrations import behavior_from_dataset
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.validate import validate
from r2s2r.deployment import demonstrations
from r2s2r.deployment.attempt_log import AttemptLog
from r2s2r.deployment.demonstration_attempt import (
    PICTURE_GAP,
    DemonstrationAttempt,
    DemonstrationMaker,
)
from r2s2r.deployment.demonstrations import FIRST_NUMBER, DemonstrationSettings, record_demonstrations
from r2s2r.deployment.demonstrations_report import demonstration_figures, write_demonstrations_report

OPEN_CELL = partial(VirtualCell, 3, cameras=False)
SETTINGS = DemonstrationSettings("virtual cell 3", episodes=2, seed=3, pictures=False)


def _stop(attempt: DemonstrationAttempt, kept: int) -> None:
    if kept == 1:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> tuple[Path, list[DemonstrationAttempt]]:
    """A recording that was interrupted after its first demonstration, and resumed."""
    path = tmp_path_factory.mktemp("demos") / "demos.hdf5"
    with pytest.raises(KeyboardInterrupt):
        record_demonstrations(OPEN_CELL, path, SETTINGS, on_attempt=_stop)
    assert not path.exists()
    with pytest.raises(DatasetError, match="interrupted writer"):
        record_demonstrations(OPEN_CELL, path, SETTINGS)
    with pytest.raises(DatasetError, match="another header"):
        record_demonstrations(OPEN_CELL, path, replace(SETTINGS, episodes=4), resume=True)
    _, attempts = record_demonstrations(OPEN_CELL, path, SETTINGS, resume=True)
    return path, attempts


def test_demonstrations_are_a_valid_balanced_data_set(recorded):
    """One of each class, valid for the trainer, with what a person standing by saw."""
    path, attempts = recorded
    assert validate(path) == []
    with DatasetReader(path) as reader:
        episodes = [reader[number] for number in reader.numbers]
        assert reader.header.env_args["env_name"] == "virtual cell 3"
    assert sorted(str(episode.attributes["object_class"]) for episode in episodes) == ["box", "round"]
    for episode in episodes:
        assert episode.success and episode.attributes["condition"] == "nominal"
        assert episode.attributes["attempt"] in {attempt.number for attempt in attempts if attempt.success}
        assert episode.source_demo == f"operator_3_{episode.attributes['trial']}"
    assert min(attempt.number for attempt in attempts) == FIRST_NUMBER


def test_phases_are_found_in_them(recorded):
    """The data set is a behavior: what `generate --behavior` replays, with the object's path as it was seen."""
    behavior = behavior_from_dataset(recorded[0])
    demos = [demo for _, _, demo in behavior]
    assert len(demos) == 2 and behavior.provenance["rejected"] == {}
    for demo in demos:
        assert set(demo.phase.tolist()) == set(Phase)
        lifted = demo.object_pos_b[demo.span(Phase.TRANSPORT), 2].max() - demo.object_pos_b[0, 2]
        assert lifted > 0.1


def test_interruption_changes_nothing(recorded):
    """The last attempt, made by itself on a new cell, is the one that was recorded after others and a resumption."""
    path, attempts = recorded
    attempt, episode = DemonstrationMaker(OPEN_CELL, nominal_poses(), pictures=False).make(
        SETTINGS.trial(attempts[-1].number)
    )
    assert attempt == attempts[-1] and episode is not None
    with DatasetReader(path) as reader:
        kept = reader[reader.numbers[-1]]
    np.testing.assert_array_equal(episode.actions, kept.actions)
    np.testing.assert_array_equal(episode.obs["joint_pos"], kept.obs["joint_pos"])
    np.testing.assert_array_equal(episode.states, kept.states)


def test_lost_episode_is_made_again(recorded, tmp_path):
    """A crash between the line of a success and its episode: the line is forgotten; other losses are refused."""
    path, _ = recorded
    log = tmp_path / "demos.attempts.jsonl"
    shutil.copy(path.with_name(log.name), log)
    settings = {
        key: value for key, value in json.loads(log.read_text().splitlines()[0]).items() if key != "format_version"
    }
    begun = AttemptLog(log, settings, "resume")
    assert sum(attempt.success for attempt in begun.attempts) == 2
    begun.forget_unsaved(1)
    assert sum(attempt.success for attempt in begun.attempts) == 1
    with pytest.raises(ConfigError, match="tells of 1 demonstrations, but 3"):
        begun.forget_unsaved(3)


def test_cut_off_line_is_dropped_and_damage_told(recorded, tmp_path):
    """The last line may be cut off together with its writer; one before it may not."""
    path, attempts = recorded
    lines = path.with_name("demos.attempts.jsonl").read_text().splitlines()
    settings = {key: value for key, value in json.loads(lines[0]).items() if key != "format_version"}
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join([*lines[:-1], lines[-1][:20]]))
    assert AttemptLog(log, settings, "resume").attempts == attempts[:-1]
    log.write_text("\n".join([lines[0], lines[1][:20], *lines[2:]]))
    with pytest.raises(ConfigError, match="damaged"):
        AttemptLog(log, settings, "resume")


def test_log_of_other_settings_is_not_continued(tmp_path):
    """It names the setting that differs; unasked it is not continued at all."""
    log = tmp_path / "log.jsonl"
    AttemptLog(log, {"episodes": 2, "seed": 0}, "refuse")
    with pytest.raises(ConfigError, match="was begun with episodes 2, received 4"):
        AttemptLog(log, {"episodes": 4, "seed": 0}, "resume")
    with pytest.raises(ConfigError, match="go on with --resume or replace it with --overwrite"):
        AttemptLog(log, {"episodes": 2, "seed": 0}, "refuse")
    assert AttemptLog(log, {"episodes": 4, "seed": 0}, "discard").attempts == []


def test_report_shows_what_was_recorded(recorded, tmp_path):
    """Counts, reasons and durations; without pictures there is no film."""
    path, attempts = recorded
    figures = demonstration_figures(attempts)
    assert figures["successes"] == 2 and figures["attempts"] == len(attempts)
    assert sum(figures["failures"].values()) == len(attempts) - 2
    assert 3.0 < figures["duration_s"]["min"] <= figures["duration_s"]["max"] <= 12.0
    html = write_demonstrations_report(tmp_path / "report.html", path, figures).read_text()
    assert "2 teleoperated demonstrations" in html and not (tmp_path / "film.mp4").exists()


class _Table:
    """Attempts whose outcome is known beforehand, in several processes that end when they are asked for."""

    def __init__(self, failing: set[int], workers: int):
        self._failing, self.workers = failing, workers

    def submit(self, trial: Trial) -> Future:
        outcome = "dropped" if trial.number - FIRST_NUMBER in self._failing else "success"
        future = Future()
        target, _ = trial.objects()
        attempt = DemonstrationAttempt(
            trial.number, trial.target_class, str(target.shape), 0.1, outcome, 200, 0, 0, 0.0, False
        )
        future.set_result((attempt, None))
        return future

    def result(self, future: Future):
        return future.result()


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_choice_does_not_depend_on_the_number_of_processes(workers, tmp_path):
    """Lowest numbers of each class, in order, and no attempt that turns out not to be needed."""
    failing = {0, 3, 4, 6, 13}
    log = AttemptLog(tmp_path / "log.jsonl", {}, "refuse")
    settings = replace(SETTINGS, episodes=7)
    made = [attempt for attempt, _ in demonstrations._wanted(settings, log, cast(Any, _Table(failing, workers)))]
    numbers = [attempt.number - FIRST_NUMBER for attempt in made]
    # Boxes are even: 2, 8, 10, 12 succeed; round objects are odd: 1, 5, 7.
    assert numbers == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12]
    assert [number for number in numbers if number not in failing] == [1, 2, 5, 7, 8, 10, 12]


def test_a_cell_in_which_nobody_succeeds_is_told(tmp_path, monkeypatch):
    """Bins stand where nobody looks for them: the recording ends with one line, and nothing is published."""
    monkeypatch.setattr(demonstrations, "MAX_FAILURES_IN_A_ROW", 1)
    planned = nominal_poses()
    elsewhere = replace(planned, bin_pos_b={name: (x, y, z + 0.3) for name, (x, y, z) in planned.bin_pos_b.items()})
    path = tmp_path / "demos.hdf5"
    with pytest.raises(RecordingError, match=r"the last 1 attempts failed \(\w+ 1\); 0 of 1 succeeded"):
        record_demonstrations(OPEN_CELL, path, SETTINGS, poses=elsewhere)
    assert not path.exists()


def test_existing_file_is_kept(recorded):
    """A finished data set is neither replaced nor resumed unasked."""
    path, _ = recorded
    before = path.read_bytes()
    for resume in (False, True):
        with pytest.raises(DatasetError, match="exists"):
            record_demonstrations(OPEN_CELL, path, SETTINGS, resume=resume)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cell", "real"], "--cell: received 'real', allowed are virtual"),
        (["--episodes", "0"], "--episodes: received 0, allowed are 1 and more"),
        (["--episodes", "1"], "episodes: received 1, allowed are 2 and more: one of each class"),
        (["--picture-size", "0"], "--picture-size: received 0, allowed are 1 and more"),
        (["--workers", "0"], "--workers: received 0, allowed are 1 and more"),
        (["--seed", "-1"], f"--seed: received -1, allowed are 0 to {2**31 - 1}"),
        (["--resume", "--overwrite"], "--resume and --overwrite: received both, allowed is one of them"),
    ],
)
def test_bad_arguments_are_one_line_and_2(arguments, message, tmp_path, capsys):
    """Refused before a cell is made; no folder appears."""
    assert main(["record", "demos", "--out", str(tmp_path / "new"), *arguments]) == 2
    assert capsys.readouterr().err == f"r2s2r: error: {message}\n"
    assert not (tmp_path / "new").exists()


def test_an_attempt_with_lost_pictures_is_made_again_and_a_late_first_picture_waited_for():
    hidden = HiddenWorld.draw(3)
    for drop_share, kept in ((0.0, True), (0.5, False)):
        timing = replace(hidden.timing, picture_drop_share=drop_share)
        cell = partial(VirtualCell, 3, hidden=replace(hidden, timing=timing), picture_size=16)
        attempt, episode = DemonstrationMaker(cell, nominal_poses()).make(Trial("nominal", 0, 3))
        # Of 500 pictures every second one lost, six in a row are missing somewhere.
        assert (attempt.outcome, episode is not None) == ("success" if kept else PICTURE_GAP, kept)
