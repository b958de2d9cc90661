"""The report of retargeted recordings takes entries of any kind of source."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.clips import write_clip
from r2s2r.evaluation.retargeting_charts import residuals_over_time
from r2s2r.evaluation.retargeting_report import Refusal, RetargetingEntry, write_retargeting_report


def test_entry_of_frames_and_lines_is_enough(tmp_path, rng):
    clip = write_clip(tmp_path / "clip.mp4", rng.integers(0, 255, (4, 32, 64, 3), dtype=np.uint8), 10.0)
    entry = RetargetingEntry("teleop <1>", ("source: another robot", "fact: 30 rows a second"), clip, {"frames": 4})
    path = write_retargeting_report(tmp_path / "report.html", [entry], [Refusal("bad", "no hand in it")], {"seed": 1})
    page = path.read_text()
    assert "teleop &lt;1&gt;" in page and "another robot" in page and "no hand in it" in page and "video/mp4" in page
    assert write_retargeting_report(tmp_path / "again.html", [entry], [Refusal("bad", "no hand in it")], {"seed": 1})
    assert (tmp_path / "again.html").read_text() == page, "the same entries give the same bytes"


def test_report_of_refusals_alone(tmp_path):
    page = write_retargeting_report(tmp_path / "report.html", [], [Refusal("bad", "no hand")]).read_text()
    assert "Refused" in page and "no hand" in page


def test_empty_statement_is_refused():
    with pytest.raises(ConfigError, match="name and statement must not be empty"):
        RetargetingEntry("hand", ())


def test_refusal_names_the_file_not_where_it_lies(tmp_path):
    refusal = Refusal.of("hand", tmp_path / "hand.npz", ValueError(f"{tmp_path / 'hand.npz'}: cut\noff"))
    assert refusal.reason == "hand.npz: cut off"


def test_chart_of_what_there_is():
    time_s, tracked = np.arange(2000) / 30.0, np.ones(2000, dtype=bool)
    tracked[100:130] = False
    for fingers, wrist in (
        (np.full(2000, 0.003), None),
        (None, np.zeros(2000)),
        (np.full(2000, np.nan), np.zeros(2000)),
    ):
        assert "<svg" in svg(residuals_over_time(time_s, fingers, wrist, tracked))
