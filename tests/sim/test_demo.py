"""The demo from end to end, small: real recordings in, report, data set and summary out."""

import json

import pytest

from r2s2r.cli.demo import Demo
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.validate import validate

pytestmark = pytest.mark.sim

ENVS, ATTEMPTS, SEED = 8, 8, 0


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    return out, Demo(out=out, seed=SEED, num_envs=ENVS, attempts=ATTEMPTS).run()


def test_summary_tells_what_happened(demo):
    out, summary = demo
    assert json.loads((out / "summary.json").read_text()) == json.loads(json.dumps(summary))
    assert summary["attempts"] == ATTEMPTS and summary["seed"] == SEED
    assert summary["successes"] + sum(summary["failures"].values()) == ATTEMPTS
    assert summary["yield"] == summary["successes"] / ATTEMPTS
    assert summary["env_steps_per_s"] > 0 and summary["wall_s"] > summary["generation_s"] > 0
    assert {"isaaclab", "newton", "numpy", "r2s2r"} <= set(summary["versions"])


def test_data_set_is_whole_and_holds_the_successes(demo):
    out, summary = demo
    reader = DatasetReader(out / "dataset.hdf5")
    assert len(reader) == summary["successes"] > 0
    # So few demonstrations may leave nothing to hold out; whatever else is missing would be a fault.
    assert [problem for problem in validate(out / "dataset.hdf5") if "valid" not in str(problem)] == []
    for episode in reader:
        assert episode.success and episode.dones[-1] == 1
        assert episode.obs["head_rgb"].shape[1:] == episode.obs["wrist_rgb"].shape[1:] == (64, 64, 3)
        assert episode.obs["head_rgb"].std() > 10, "the picture shows something"
        assert len(episode.commands["joint_pos_target"]) == len(episode)


def test_report_is_one_file_with_clips_and_pictures(demo):
    out, summary = demo
    html = (out / "report.html").read_text()
    assert html.count("data:video/mp4") >= 1 and html.count("data:image/png") >= 10
    assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html
    assert f"{summary['successes']}" in html and not list(out.glob("*.parts"))
