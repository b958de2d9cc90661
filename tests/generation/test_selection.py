"""Which episodes are kept depends on the settings alone."""

import itertools

import pytest

from r2s2r.dataset.reader import DatasetReader
from r2s2r.generation.begin import mend
from r2s2r.generation.films import FilmFolder
from r2s2r.generation.finish import chosen_numbers, count_attempts, finish
from r2s2r.generation.selection import select
from r2s2r.generation.shards import ShardFolder, ShardKey

from .conftest import HEADER, make_episode, make_job, object_class

FAILING = {1, 6, 7}


def _publish_all(publish, job, order, condition="nominal") -> ShardFolder:
    return [publish(job, ShardKey(condition, index), FAILING) for index in order][-1]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_in_which_shards_are_finished_does_not_matter(publish, order):
    job = make_job(episodes=6)
    selection = select(job, _publish_all(publish, job, order))
    # Numbers divisible by three are round: 0 3 9 are the first three of them, 2 4 5 of the boxes; 1 6 7 fail.
    assert chosen_numbers(selection) == [0, 2, 3, 4, 5, 9]
    assert selection.complete


def test_shards_count_up_to_the_first_gap(publish):
    job = make_job(episodes=6)
    shards = publish(job, ShardKey("nominal", 0), FAILING)
    publish(job, ShardKey("nominal", 2), FAILING)
    selection = select(job, shards)
    assert chosen_numbers(selection) == [0, 2, 3]
    assert selection.missing == {"nominal": 3} and not selection.complete
    publish(job, ShardKey("nominal", 1), FAILING)
    assert select(job, shards).complete


def test_shards_beyond_the_last_one_needed_change_no_figure(publish):
    job = make_job(episodes=6)
    shards = _publish_all(publish, job, range(3))
    before = count_attempts(select(job, shards)).to_dict()
    _publish_all(publish, job, range(3, 6))
    assert count_attempts(select(job, shards)).to_dict() == before
    assert before["attempts"] == 12 and before["failures"] == {"dropped": 3}


def test_classes_and_conditions_are_balanced(publish):
    job = make_job(episodes=8, conditions=("nominal", "red_light"))
    shards = [_publish_all(publish, job, range(4), condition) for condition in job.conditions]
    selection = select(job, shards[-1])
    assert selection.complete
    for condition in job.conditions:
        numbers = [n for key, chosen in selection.chosen.items() if key.condition == condition for n in chosen]
        assert sorted(map(object_class, numbers)) == ["box", "box", "round", "round"]


def test_the_data_set_holds_the_chosen_episodes_in_order(publish, tmp_path):
    job = make_job(episodes=6)
    selection = select(job, _publish_all(publish, job, (2, 0, 1)))
    films = FilmFolder(tmp_path / "films")
    numbers = chosen_numbers(selection)
    for number in reversed(numbers):
        films.add(number, make_episode(number, pictures=True), HEADER)
    assert films.unfinished([*numbers, 100]) == [100]
    written = finish(tmp_path / "dataset.hdf5", selection, films)
    with DatasetReader(written.path) as reader:
        assert [episode.attributes["attempt"] for episode in reader] == numbers
        assert reader[3].obs["head_rgb"].shape == (3, 8, 8, 3)


def test_a_damaged_film_is_set_aside_and_named(publish, tmp_path):
    job = make_job(episodes=6)
    selection = select(job, _publish_all(publish, job, range(3)))
    films = FilmFolder(tmp_path / "films")
    for number in chosen_numbers(selection):
        films.add(number, make_episode(number, pictures=True), HEADER)
    path = tmp_path / "films" / "demo_4.hdf5"
    content = bytearray(path.read_bytes())
    content[-200:-100] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(Exception, match="resume to film it again"):
        finish(tmp_path / "dataset.hdf5", selection, films)
    assert not (tmp_path / "dataset.hdf5").exists()
    assert films.unfinished(chosen_numbers(selection)) == [4]
    films.add(4, make_episode(4, pictures=True), HEADER)
    assert finish(tmp_path / "dataset.hdf5", selection, films).episodes == 6


def test_mending_tells_what_is_damaged(publish, tmp_path):
    job = make_job(episodes=6)
    shards = _publish_all(publish, job, range(3))
    folder = shards.folder.parent
    assert mend(folder) == []
    (shards.folder / "nominal_00001.hdf5").write_bytes(b"not HDF5")
    assert len(mend(folder)) == 1
    assert not select(job, ShardFolder(shards.folder)).complete
