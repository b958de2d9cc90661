import json

import pytest

from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.deployment.trial_log import TrialLog, read_trials
from r2s2r.evaluation.trial_result import TrialResult

SETTINGS = {"seed": 3, "policies": {"a": "12", "b": "34"}, "runner": {"execute": 8, "sizes": (1, 2)}}


def result(number: int, policy: str = "a", outcome: str = "success") -> TrialResult:
    return TrialResult(
        policy=policy,
        condition="nominal",
        number=number,
        seed=0,
        outcome=outcome,
        target_class="box",
        shape="cuboid 50x50x70 mm",
        belt_speed=0.1,
        duration_s=7.5,
        decisions=30,
        blended=1,
        largest_jump=0.06,
        held_steps=0,
    )


def written(path, count: int = 3) -> list[TrialResult]:
    results = [result(number) for number in range(count)]
    with TrialLog(path, SETTINGS) as log:
        for item in results:
            log.append(item)
    return results


def test_what_was_logged_is_there_when_it_goes_on(tmp_path):
    path = tmp_path / "trials.jsonl"
    results = written(path)
    with TrialLog(path, SETTINGS, resume=True) as log:
        assert log.results == results
        assert ("a", "nominal", 1, 0) in log
        assert ("b", "nominal", 1, 0) not in log
        log.append(result(1, "b", "timeout"))
    settings, trials = read_trials(path)
    assert settings == json.loads(json.dumps(SETTINGS))
    assert trials == [*results, result(1, "b", "timeout")]


def test_each_trial_is_on_the_disk_at_once(tmp_path):
    path = tmp_path / "trials.jsonl"
    with TrialLog(path, SETTINGS) as log:
        for number in range(3):
            log.append(result(number))
            assert len(path.read_text().splitlines()) == number + 2


@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_a_last_line_that_was_cut_off_is_dropped_and_made_again(tmp_path, cut):
    path = tmp_path / "trials.jsonl"
    results = written(path)
    path.write_bytes(path.read_bytes()[:-cut])
    with TrialLog(path, SETTINGS, resume=True) as log:
        assert log.results == results[:-1]
        log.append(results[-1])
    assert read_trials(path)[1] == results


def test_a_log_whose_first_line_was_cut_off_begins_anew(tmp_path):
    path = tmp_path / "trials.jsonl"
    written(path, 0)
    path.write_bytes(path.read_bytes()[:-5])
    assert written(path) == read_trials(path)[1]


def test_damage_before_the_end_is_named_by_its_line(tmp_path):
    path = tmp_path / "trials.jsonl"
    written(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:20] + b"\n"
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(DatasetError, match="line 3 is damaged"):
        TrialLog(path, SETTINGS, resume=True)
    assert path.read_bytes() == before


def test_other_settings_are_refused_and_named(tmp_path):
    path = tmp_path / "trials.jsonl"
    written(path)
    with pytest.raises(ConfigError, match=r"begun with other settings: seed was 3 and is now 4"):
        TrialLog(path, SETTINGS | {"seed": 4}, resume=True)
    with pytest.raises(ConfigError, match=r"policies was .*'b': '34'.* and is now"):
        TrialLog(path, SETTINGS | {"policies": {"a": "12", "b": "35"}}, resume=True)


def test_a_log_is_not_taken_over_by_accident(tmp_path):
    path = tmp_path / "trials.jsonl"
    written(path)
    with pytest.raises(ConfigError, match="there are trials already; go on with --resume"):
        TrialLog(path, SETTINGS)
    assert len(read_trials(path)[1]) == 3


def test_two_runs_do_not_write_to_one_log(tmp_path):
    path = tmp_path / "trials.jsonl"
    with TrialLog(path, SETTINGS), pytest.raises(DatasetError, match="another run writes to it"):
        TrialLog(path, SETTINGS, resume=True)
    TrialLog(path, SETTINGS, resume=True).close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "fine"}, "outcome is 'fine'"),
        ({"number": "1"}, "number is '1', allowed is int"),
        ({"condition": "dark"}, "condition: received 'dark'"),
        ({"extra": 1}, "allowed are exactly the values"),
    ],
)
def test_a_line_that_is_no_trial_is_refused(tmp_path, change, message):
    path = tmp_path / "trials.jsonl"
    written(path)
    with path.open("a") as file:
        file.write(json.dumps(result(9).to_dict() | change) + "\n")
    with pytest.raises(DatasetError, match=f"line 5: .*{message}"):
        read_trials(path)


def test_another_version_and_no_log_are_refused(tmp_path):
    path = tmp_path / "trials.jsonl"
    with pytest.raises(DatasetError, match="no log of trials"):
        read_trials(path)
    path.write_text('{"format_version": 9, "settings": {}}\n')
    with pytest.raises(DatasetError, match="format_version is 9, known is 1"):
        read_trials(path)
