"""Table, figure, films and report of an evaluation, from trials whose outcomes are known."""

import json
import re

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.trials import SPLIT, split_trials
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.clips import read_clip
from r2s2r.evaluation.judging import Outcome
from r2s2r.evaluation.policy_charts import shift_bars, success_bars
from r2s2r.evaluation.policy_report import PolicyReport
from r2s2r.evaluation.policy_table import PolicyTable
from r2s2r.evaluation.rollout import rollout_path, write_rollout
from r2s2r.evaluation.rollout_film import film_path
from r2s2r.evaluation.trial_result import TrialResult

from .rollouts import rollout_of

WINS = {"real_100": (14, 1, 2, 4, 0), "fully_grounded": (22, 6, 5, 8, 1)}
"""Successes under each condition: the first trials of each succeed."""


def results(wins=WINS, counts=SPLIT, seed: int = 0) -> list[TrialResult]:
    made = []
    for policy, won in wins.items():
        successes = dict(zip(counts, won, strict=True))
        for trial in split_trials(seed, counts):
            outcome = Outcome.SUCCESS if trial.number < successes[trial.condition] else Outcome.DROPPED
            made.append(result_of(policy, trial, outcome))
    return made


def result_of(policy, trial, outcome) -> TrialResult:
    target, _ = trial.objects()
    return TrialResult(
        policy, trial.condition, trial.number, trial.seed, outcome.label, trial.target_class, str(target.shape),
        trial.belt_speed, 7.5, 30, 2, 0.08, 1,
    )  # fmt: skip


@pytest.fixture
def table() -> PolicyTable:
    return PolicyTable.of(tuple(WINS), tuple(SPLIT), results())


def test_columns_add_up_to_the_papers_split(table):
    for policy, won in WINS.items():
        columns = dict(zip(SPLIT, won, strict=True))
        for name, trials in SPLIT.items():
            assert table.counts(policy, name) == (columns[name], trials)
        assert table.counts(policy, "shifted") == (sum(won[1:]), 26)
        assert table.counts(policy, "total") == (sum(won), 50)


def test_order_of_the_results_does_not_matter(table, rng):
    shuffled = results()
    rng.shuffle(shuffled)
    assert PolicyTable.of(tuple(WINS), tuple(SPLIT), shuffled) == table


def test_b81_policies_with_other_starts_make_no_table():
    others = [r for r in results() if r.policy == "real_100"] + [
        r for r in results(seed=1) if r.policy == "fully_grounded"
    ]
    with pytest.raises(ConfigError, match="real_100 and fully_grounded were not tried from the same starts: 100 are"):
        PolicyTable.of(tuple(WINS), tuple(SPLIT), others)
    with pytest.raises(ConfigError, match="1 are of one alone"):
        PolicyTable.of(tuple(WINS), tuple(SPLIT), results()[:-1])


def test_a_trial_counts_once():
    with pytest.raises(ConfigError, match="comes twice"):
        PolicyTable.of(tuple(WINS), tuple(SPLIT), [*results(), results()[0]])


def test_no_trials_make_no_table():
    with pytest.raises(ConfigError, match="no trials"):
        PolicyTable.of(("a",), tuple(SPLIT), [])


def test_rates_are_shown_with_counts_and_intervals(table):
    row = table.rows()[1]
    assert row["policy"] == "fully_grounded"
    assert row["total"] == "42/50 (84.0 %) [71.5-91.7 %]"  # B81's interval
    assert row["combined"] == "1/1 (100.0 %) [20.7-100.0 %]"
    assert "42/50" in table.text()
    assert len({len(line.rstrip()) > 0 for line in table.text().splitlines()}) == 1


def test_a_condition_that_was_not_tried_has_no_rate():
    counts = {"nominal": 2, "red_light": 0, "fast_belt": 0, "novel_object": 0, "combined": 0}
    table = PolicyTable.of(("a",), tuple(counts), results({"a": (1, 0, 0, 0, 0)}, counts))
    assert table.rows()[0]["red light"] == "n/a"
    assert table.to_dict()["policies"]["a"]["shifted"] == {"successes": 0, "trials": 0, "interval": None}
    assert svg(success_bars(table)) and svg(shift_bars(table))


def test_the_file_of_the_table_has_what_others_read(table):
    content = json.loads(json.dumps(table.to_dict()))
    conditions = content["policies"]["real_100"]["conditions"]
    assert list(conditions) == list(SPLIT)
    assert {name: (c["successes"], c["trials"]) for name, c in conditions.items()} == {
        name: (won, SPLIT[name]) for name, won in zip(SPLIT, WINS["real_100"], strict=True)
    }
    (pair,) = content["comparisons"]
    assert (pair["only_first"], pair["only_second"]) == (0, 21)
    assert pair["verdict"] == "fully_grounded is better than real_100"


def test_the_figure_shows_every_policy_and_is_the_same_each_time(table):
    for chart in (success_bars, shift_bars):
        figure = chart(table)
        ends = [line.get_segments()[0] for line in figure.axes[0].collections]
        assert len(ends) == len(WINS) * (1 if chart is success_bars else 2)
        assert svg(figure) == svg(chart(table))
    heights = [patch.get_height() for patch in success_bars(table).axes[0].patches]
    assert heights == pytest.approx([21 / 50, 42 / 50])


def test_the_report_has_a_film_of_every_failure(tmp_path, rng):
    counts = {"nominal": 2, "red_light": 1}
    made = results({"a": (1, 0), "b": (2, 1)}, counts)
    for result in made:
        write_rollout(rollout_path(tmp_path, result.policy, result.trial), rollout_of(rng, result))
    table = PolicyTable.of(("a", "b"), tuple(counts), made)
    PolicyReport("virtual cell 3", table, tmp_path, {"seed": 3}).write(tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    shown = re.findall(r"<figcaption>(nominal|red_light)_(\d+): ", html)
    assert len(re.findall("data:video/mp4", html)) == len(shown) == 2 + 1 + 2  # failures of a; successes of a and b
    assert "not separable" in html
    for result in made:
        if not result.success:
            frames, fps = read_clip(film_path(tmp_path, result.policy, result.trial))
            assert frames.shape == (5, 256, 2 * 256, 3)
            assert fps == pytest.approx(2 * 30 / 8)


def test_a_missing_rollout_is_told_in_the_report(tmp_path, rng):
    made = results({"a": (0,)}, {"nominal": 1})
    table = PolicyTable.of(("a",), ("nominal",), made)
    PolicyReport("virtual cell 3", table, tmp_path).write(tmp_path / "report.html")
    assert "No film: rollout" in (tmp_path / "report.html").read_text()


def test_the_film_shows_the_pictures_that_the_policy_saw(tmp_path, rng):
    from r2s2r.evaluation.rollout_film import write_film

    result = results({"a": (0,)}, {"nominal": 1})[0]
    rollout = rollout_of(rng, result)
    frames, _ = read_clip(write_film(tmp_path / "film.mp4", rollout))
    # Away from border and caption the means of blocks of a picture survive the coding.
    head = frames[2, 16:192, 16:240].reshape(11, 16, 14, 16, 3).mean(axis=(1, 3))
    seen = rollout.head_rgb[2, 4:48, 4:60].reshape(11, 4, 14, 4, 3).mean(axis=(1, 3))
    assert np.abs(head - seen).mean() < 8.0
