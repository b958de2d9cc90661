"""What a run tells of itself: yield, rate and time left."""

import pytest

from r2s2r.generation.films import FilmFolder
from r2s2r.generation.progress import Progress, duration
from r2s2r.generation.shards import ShardKey

from .conftest import HEADER, make_episode, make_job


def test_the_line_tells_yield_rate_and_time_left(publish, tmp_path):
    job = make_job(episodes=6)
    shards = publish(job, ShardKey("nominal", 0), [1])  # round: 0 3, box: 2
    films = FilmFolder(tmp_path / "films")
    progress = Progress(job, shards, films)
    assert "left" not in progress.line(60.0, {})
    films.add(0, make_episode(0, pictures=True), HEADER)
    line = progress.line(90.0, {"attempts": 9, "successes": 7})
    assert line.startswith("3/6 simulated (3/4 kept (75.0 %)), 1/6 filmed, this run 7 of 9 attempts")
    assert line.endswith("2.0 a minute, 2 min left")  # of the half minute since films are made


def test_what_an_earlier_run_filmed_counts_but_not_for_the_rate(publish, tmp_path):
    job = make_job(episodes=6)
    shards = publish(job, ShardKey("nominal", 0), [1])
    films = FilmFolder(tmp_path / "films")
    films.add(0, make_episode(0, pictures=True), HEADER)
    progress = Progress(job, shards, films)
    films.add(2, make_episode(2, pictures=True), HEADER)
    assert "2/6 filmed, 1.0 a minute, 4 min left" in progress.line(60.0, {})


def test_lines_do_not_follow_too_fast(publish, tmp_path):
    said = []
    progress = Progress(
        make_job(), publish(make_job(), ShardKey("nominal", 0)), FilmFolder(tmp_path / "f"), said.append
    )
    for _ in range(100):
        progress({})
    assert said == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (5430, "1 h 30 min"), (7260, "2 h 1 min")],
)
def test_durations_are_told_as_people_tell_them(seconds, text):
    assert duration(seconds) == text
