import hashlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.charts import hand_closure, outcome_bars, png, rate_by_group, svg, traces

STEPS_OF_PHASE = (30, 15, 15, 30, 10, 20)


def _demonstration(phases=tuple(Phase), closing=1.0):
    """The wrist goes 0.3 m/s along x; the joints go by `closing` rad during CLOSE and back during RELEASE."""
    phase = np.repeat([int(p) for p in phases], [STEPS_OF_PHASE[p] for p in phases])
    steps = len(phase)
    closed = np.interp(np.arange(steps), [29, 44, 89, 99], [0.0, 1.0, 1.0, 0.0])
    return Demonstration(
        name="test",
        wrist_pos_b=np.outer(0.3 * np.arange(steps) / 30, (1, 0, 0)),
        wrist_quat_b=np.tile((0.0, 0.0, 0.0, 1.0), (steps, 1)),
        hand_joint_pos=0.1 + closing * closed[:, None] * np.ones(16),
        phase=phase,
        object_pos_b=np.zeros((steps, 3)),
        object_yaw=np.zeros(steps),
        belt_velocity_b=np.array((0.0, 0.1, 0.0)),
        bin_pos_b=np.zeros(3),
    )


def _texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def _bars(figure):
    return [round(patch.get_width()) for patch in figure.axes[0].patches]


def _rows(figure):
    return [text.get_text() for text in figure.axes[0].get_yticklabels()]


def test_outcomes_are_success_first_then_the_most_frequent_failures():
    figure = outcome_bars({"late_close": 1, "dropped": 3, "timeout": 3}, successes=13)
    assert _rows(figure) == ["success", "dropped", "timeout", "late close"]
    assert _bars(figure) == [13, 3, 3, 1]
    assert _texts(figure) == ["13  (65.0 %)", "3  (15.0 %)", "3  (15.0 %)", "1  (5.0 %)"]


def test_b48_no_attempts_are_drawn_as_n_a():
    assert _texts(outcome_bars({}, successes=0)) == ["0  (n/a)"]


def test_b80_every_rate_is_drawn_with_counts_and_interval():
    figure = rate_by_group({"box": (4, 5), "round": (0, 0), "novel": (20, 20)})
    assert _rows(figure) == ["box", "round", "novel"]
    assert _texts(figure) == ["4/5  80.0 %  (37.6-96.4 %)", "0/0  n/a", "20/20  100.0 %  (83.9-100.0 %)"]
    ends = [tuple(lines.get_segments()[0][:, 0]) for lines in figure.axes[0].collections]
    assert ends == [pytest.approx((0.376, 0.964), abs=5e-4), pytest.approx((0.839, 1.0), abs=5e-4)]


def test_wrist_speed_is_that_of_the_path():
    speed = traces(_demonstration()).axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(speed, 0.3, rtol=1e-12)


def test_belt_speed_and_phases_are_drawn_and_named():
    figure = traces(_demonstration())
    assert figure.axes[0].lines[1].get_ydata() == [0.1, 0.1]
    assert _texts(figure) == ["belt", "approach", "close", "lift", "transport", "release", "retreat"]
    assert len(figure.axes[1].patches) == 6
    assert figure.axes[1].patches[1].get_x() == pytest.approx(1.0)


def test_phases_that_do_not_occur_are_left_out():
    assert _texts(traces(_demonstration((Phase.APPROACH, Phase.LIFT)))) == ["belt", "approach", "lift"]


@pytest.mark.parametrize("closing", [1.0, -0.4])
def test_hand_closure_goes_from_0_to_1_and_back(closing):
    closure = hand_closure(_demonstration(closing=closing))
    np.testing.assert_allclose(closure[[0, 29, 44, 70, 99, 119]], [0, 0, 1, 1, 0, 0], atol=1e-12)
    assert (np.diff(closure[29:45]) > 0).all()


@pytest.mark.parametrize(
    "demonstration", [_demonstration(closing=0.0), _demonstration((Phase.LIFT, Phase.TRANSPORT))], ids=["still", "none"]
)
def test_hand_that_never_closes_stays_at_0(demonstration):
    assert (hand_closure(demonstration) == 0).all()


def test_files_hold_a_picture():
    figure = outcome_bars({"dropped": 3}, successes=13)
    assert png(figure).startswith(b"\x89PNG\r\n\x1a\n")
    root = ElementTree.fromstring(svg(figure))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not list(root.iter("{http://www.w3.org/2000/svg}text")), "letters are to be outlines, not the reader's font"


def test_two_processes_write_the_same_svg():
    script = (
        "from r2s2r.evaluation.charts import rate_by_group, svg\n"
        "import sys; sys.stdout.write(svg(rate_by_group({'box': (4, 5), 'round': (1, 9)})))\n"
    )
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout for _ in range(2)]
    assert b"<dc:date>" not in runs[0]
    assert len({hashlib.sha256(run).hexdigest() for run in runs}) == 1


def test_the_callers_matplotlib_is_left_alone_and_has_no_say():
    with matplotlib.rc_context({"font.size": 30.0}):
        loud = svg(rate_by_group({"box": (4, 5)}))
        assert matplotlib.rcParams["font.size"] == 30.0
    assert loud == svg(rate_by_group({"box": (4, 5)}))
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize(("failures", "successes", "name"), [({"dropped": -1}, 2, "dropped"), ({}, -1, "successes")])
def test_negative_counts_are_refused(failures, successes, name):
    with pytest.raises(ConfigError, match=f"outcome chart: {name} is -1, allowed are counts from 0"):
        outcome_bars(failures, successes)


def test_no_groups_are_refused():
    with pytest.raises(ConfigError, match="rate chart: no groups"):
        rate_by_group({})
