"""Training in rounds: goes on while it gets better, keeps the best, and survives an interruption anywhere."""

import json
from pathlib import Path

import pytest

from r2s2r.contracts.errors import StudyError
from r2s2r.deployment.trial_log import TrialLog
from r2s2r.evaluation.trial_result import TrialResult
from r2s2r.study.policy_rounds import PolicyRounds

SETTINGS = PolicyRounds(
    real="demos.hdf5",
    simulated="dataset.hdf5",
    real_share=0.5,
    size="tiny",
    batch_size=8,
    seed=1,
    round_steps=10,
    patience=2,
    cell_seed=7,
    trial_seed=5,
    trials=[4, 0, 0, 0, 0],
    device="cpu",
)


class Trainee:
    """Leaves the files that `r2s2r train` and `r2s2r evaluate` leave, with given losses and successes by round."""

    def __init__(self, losses: list[float], successes: list[int]):
        self.losses, self.successes, self.calls = losses, successes, []

    def __call__(self, arguments: tuple[str, ...]) -> None:
        self.calls.append(arguments)
        out = Path(arguments[1])
        if arguments[0] == "train":
            steps = int(arguments[arguments.index("--steps") + 1])
            checkpoint = out / "checkpoints" / f"step_{steps:09d}"
            checkpoint.mkdir(parents=True, exist_ok=True)
            (checkpoint / "weights").write_text(str(steps))
            with (out / "metrics.jsonl").open("a") as file:
                file.write(json.dumps({"step": steps - 5, "loss": 1.0}) + "\n")
                file.write(json.dumps({"step": steps, "held_out_loss": self.losses[steps // 10 - 1]}) + "\n")
        else:
            number = int(out.name.rpartition("_")[2])
            with TrialLog(out / "trials.jsonl", {}) as log:
                for k in range(4):
                    outcome = "success" if k < self.successes[number - 1] else "dropped"
                    log.append(TrialResult("policy", "nominal", k, 5, outcome, "box", "box", 0.1, 5.0, 9, 0, 0.0, 0))


def convergence(folder: Path) -> dict:
    return json.loads((folder / "convergence.json").read_text())


def test_it_trains_until_nothing_gets_better_and_keeps_the_best(tmp_path):
    trainee = Trainee([0.9, 0.5, 0.5, 0.5, 0.1, 0.1], [0, 2, 2, 1, 4, 4])
    SETTINGS.run(tmp_path, trainee, 1, 6)
    told = convergence(tmp_path)
    assert [one["steps"] for one in told["rounds"]] == [10, 20, 30, 40] and told["converged"] and told["best"] == 1
    assert (tmp_path / "best/weights").read_text() == "20"
    assert [("--resume" in call) for call in trainee.calls if call[0] == "train"] == [False, True, True, True]


def test_it_ends_where_rounds_are_used_up_and_says_so(tmp_path):
    SETTINGS.run(tmp_path, Trainee([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [0] * 6), 1, 6)
    told = convergence(tmp_path)
    assert len(told["rounds"]) == 6 and not told["converged"] and told["best"] == 5


def test_more_rounds_later_come_to_the_same_as_at_once(tmp_path):
    losses, successes = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [0, 1, 2, 1, 3, 2]
    once, twice, again = tmp_path / "once", tmp_path / "twice", Trainee(losses, successes)
    SETTINGS.run(once, Trainee(losses, successes), 1, 6)
    SETTINGS.run(twice, Trainee(losses, successes), 1, 2)
    SETTINGS.run(twice, again, 1, 6)
    assert convergence(twice) == convergence(once) and len(again.calls) == 2 * 4
    assert (twice / "best/weights").read_text() == (once / "best/weights").read_text() == "50"


@pytest.mark.parametrize("calls", range(1, 8))
def test_an_interruption_anywhere_comes_to_the_same(tmp_path, calls):
    class Killed(Exception):
        pass

    def trainee():
        return Trainee([0.9, 0.5, 0.5, 0.5, 0.1, 0.1], [0, 2, 2, 1, 4, 4])

    first = trainee()

    def dying(arguments):
        if len(first.calls) == calls:
            raise Killed
        first(arguments)

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    SETTINGS.run(whole, trainee(), 1, 6)
    with pytest.raises(Killed):
        SETTINGS.run(broken, dying, 1, 6)
    assert not (broken / "convergence.json").exists()
    again = trainee()
    SETTINGS.run(broken, again, 1, 6)
    assert (broken / "convergence.json").read_bytes() == (whole / "convergence.json").read_bytes()
    assert (broken / "best/weights").read_text() == (whole / "best/weights").read_text()
    finished = calls // 2  # a round is a training and an evaluation
    assert len(again.calls) == 2 * (4 - finished), "finished rounds are not made again"


def test_a_loss_that_was_not_measured_is_told(tmp_path):
    def silent(arguments):
        out = Path(arguments[1])
        out.mkdir(parents=True)
        (out / "metrics.jsonl").write_text('{"step": 10, "loss": 1.0}\n')

    with pytest.raises(StudyError, match="no held-out loss after 10 steps"):
        SETTINGS.run(tmp_path, silent, 1, 6)
