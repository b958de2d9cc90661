"""What a study writes: the layout of study.json, the same bytes again, pooled cells, and what is missing."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from r2s2r.contracts.errors import DatasetError, StudyError
from r2s2r.contracts.trials import SPLIT, split_trials
from r2s2r.deployment.trial_log import TrialLog
from r2s2r.evaluation.trial_result import TrialResult
from r2s2r.study.plan import CellPlan, plan_study
from r2s2r.study.report import write_study
from r2s2r.study.results import read_results
from r2s2r.study.settings import SCALES, simulated_sets, stage_seed

RATES = {"real_100": 0.5, "ungrounded": 0.5, "behavior_grounded": 0.6, "world_grounded": 0.7, "fully_grounded": 0.9}


def finished(root: Path, seeds=(7,)) -> list[CellPlan]:
    """Write what the stages leave for the results, with trials that succeed at RATES; return the plans."""
    plans = plan_study(replace(SCALES["small"], sim_only=()), simulated_sets(False), seeds, 2)
    for plan in plans:
        cell, rng = root / plan.folder, np.random.default_rng(plan.seed)
        with TrialLog(cell / "evaluation" / "trials.jsonl", {}) as log:
            for trial in split_trials(stage_seed(plan.seed, "evaluation")):
                for policy, rate in RATES.items():
                    log.append(result(policy, trial, bool(rng.uniform() < rate)))
        for policy in plan.policies:
            rounds = [{"steps": 3000 * k, "held_out_loss": 1.0 / k, "successes": k, "trials": 12} for k in (1, 2, 3)]
            write(cell / "policies" / policy / "convergence.json", {"rounds": rounds, "best": 1, "converged": True})
        for each in plan.sets:
            summary = {"episodes": 1500, "attempts": 1700, "yield": 0.88, "failures": {}, "dataset_sha256": "0" * 64}
            write(cell / "sets" / each.name / "summary.json", summary | {"wall_s": 123.4, "dataset": "/somewhere"})
    return plans


def result(policy, trial, success) -> TrialResult:
    outcome = "success" if success else "dropped"
    return TrialResult(
        policy, trial.condition, trial.number, trial.seed, outcome, trial.target_class, "box", 0.1, 5.0, 9, 0, 0.0, 0
    )


def write(path: Path, content: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture(scope="module")
def one(tmp_path_factory) -> Path:
    """The folder of a finished study of one cell."""
    return written(tmp_path_factory.mktemp("one"))


def written(root: Path, seeds=(7,)) -> Path:
    command = "r2s2r study OUT --scale small --seed 7"
    write_study(root, read_results(root, finished(root, seeds), command))
    return root


def test_the_layout_that_others_read(one):
    told = json.loads((one / "study.json").read_text())
    assert set(told["policies"]) == set(RATES)
    for policy in told["policies"].values():
        assert {name: each["trials"] for name, each in policy["conditions"].items()} == SPLIT
        assert sum(each["successes"] for each in policy["conditions"].values()) == policy["total"]["successes"]
    assert told["seeds"] == [7] and told["command"].startswith("r2s2r study") and "revision" in told["code"]
    trained = told["convergence"]["7"]["fully_grounded"]
    assert (trained["steps"], trained["held_out_loss"], trained["successes"], trained["trials"]) == (6000, 0.5, 2, 12)
    assert trained["trained_steps"] == 9000 and trained["converged"]
    assert told["data_sets"]["7"]["ungrounded"]["attempts"] == 1700
    assert set(told["effects"]["interaction"]) == {"value", "low", "high"}


def test_the_same_results_write_the_same_bytes_and_hold_no_time_and_no_place(one, tmp_path):
    contents = []
    for folder in (one, written(tmp_path)):
        files = sorted(path for path in folder.glob("**/*") if path.parent.name in (folder.name, "figures"))
        contents.append({path.name: path.read_bytes() for path in files if path.is_file()})
    assert contents[0] == contents[1] and {"study.json", "report.html", "table.txt", "success.svg"} <= set(contents[0])
    text = contents[0]["study.json"].decode()
    assert str(tmp_path) not in text and "wall_s" not in text and "/somewhere" not in text


def test_cells_are_pooled_and_shown_alone(tmp_path):
    told = json.loads((written(tmp_path, (7, 8, 9)) / "study.json").read_text())
    assert told["seeds"] == [7, 8, 9] and told["policies"]["real_100"]["total"]["trials"] == 150
    alone = [told["by_cell"][seed]["real_100"]["total"]["successes"] for seed in ("7", "8", "9")]
    assert sum(alone) == told["policies"]["real_100"]["total"]["successes"]
    report = (tmp_path / "report.html").read_text()
    assert "Cell 8 alone" in report and "cells, and of trials within them" in report


def test_the_text_holds_table_effects_and_convergence(one):
    text = (one / "table.txt").read_text()
    for part in ("fully_grounded", "world grounding, averaged over behaviors", "6000 of 9000", "95 % of total"):
        assert part in text


@pytest.mark.parametrize(
    ("lost", "error"),
    [
        ("evaluation/trials.jsonl", DatasetError),
        ("policies/real_100/convergence.json", StudyError),
        ("sets/ungrounded/summary.json", StudyError),
    ],
)
def test_what_is_missing_is_named(tmp_path, lost, error):
    plans = finished(tmp_path)
    (tmp_path / "cell_7" / lost).unlink()
    with pytest.raises(error, match=lost.rpartition("/")[2]):
        read_results(tmp_path, plans, "")
