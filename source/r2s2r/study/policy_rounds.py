"""Trains one policy in rounds until it has converged.

    python -m r2s2r.study.policy_rounds FOLDER SETTINGS WORKERS MAX_ROUNDS

runs in the study's folder as the process of one stage. FOLDER gets

    train/               the training run (`r2s2r train`)
    validation/round_K/  trials after each round (`r2s2r evaluate`)
    rounds.jsonl         a line for each finished round
    best/                the checkpoint of the best round
    convergence.json     all rounds, the best one, and whether training converged; appears last

An interrupted run goes on in the middle of a round, one that has used up its rounds with a greater MAX_ROUNDS.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import R2S2RError, StudyError
from r2s2r.contracts.files import whole_file, write_json
from r2s2r.deployment.trial_log import read_trials
from r2s2r.study.convergence import Round, best_round, converged
from r2s2r.study.plan import COMMAND

Command = Callable[[tuple[str, ...]], None]
"""Runs `r2s2r` with the arguments given."""


@dataclass(frozen=True)
class PolicyRounds:
    """What to train on what, and when to stop."""

    real: str
    """Data set of real demonstrations."""
    simulated: str | None
    """Data set of simulated episodes; None: real demonstrations alone."""
    real_share: float
    """Share of the samples that are real. The held-out loss is that of real demonstrations, whatever the share."""
    size: str
    """Size of the policy."""
    batch_size: int
    """Samples of a step."""
    seed: int
    """Seed of the training."""
    round_steps: int
    """Steps of a round."""
    patience: int
    """Rounds without gain after which it has converged."""
    cell_seed: int
    """Seed of the cell that validation trials are made in."""
    trial_seed: int
    """Seed of these trials' draw, another one than the evaluation's."""
    trials: list[int]
    """Validation trials under each condition after each round; all 0: none."""
    device: str
    """cpu, or a CUDA device."""

    def run(self, folder: Path, command: Command, workers: int, max_rounds: int) -> list[Round]:
        """Train in `folder`, and return the rounds.

        Args:
            folder: of the policy.
            command: runs `r2s2r` with the arguments given, and raises if it fails.
            workers: processes that make validation trials.
            max_rounds: rounds at most.

        Raises:
            StudyError: there are no held-out demonstrations to measure a loss on.
        """
        rounds = _read_rounds(folder / "rounds.jsonl")
        while len(rounds) < max_rounds and not converged(rounds, self.patience):
            rounds.append(self._round(folder, len(rounds) + 1, command, workers))
            # First the policy, then the line that says so: what is killed in between is made again.
            if best_round(rounds) == len(rounds) - 1:
                _replace_folder(_checkpoint(folder, rounds[-1].steps), folder / "best")
            _write_rounds(folder / "rounds.jsonl", rounds)
            _say(len(rounds), rounds[-1])
        summary = {"rounds": [one.to_dict() for one in rounds], "best": best_round(rounds)}
        write_json(folder / "convergence.json", summary | {"converged": converged(rounds, self.patience)})
        return rounds

    def _round(self, folder: Path, number: int, command: Command, workers: int) -> Round:
        steps = number * self.round_steps
        command(self.training_command(folder, steps))
        loss = _held_out_loss(folder / "train" / "metrics.jsonl", steps)
        if not any(self.trials):
            return Round(steps, loss)
        out = folder / "validation" / f"round_{number}"
        command(self.validation_command(_checkpoint(folder, steps), out, workers))
        _, results = read_trials(out / "trials.jsonl")
        return Round(steps, loss, sum(result.success for result in results), len(results))

    def training_command(self, folder: Path, steps: int) -> tuple[str, ...]:
        """Return the command that trains until `steps` are made."""
        out = folder / "train"
        data, weights = [f"real={self.real}"], [self.real_share]
        if self.simulated is not None:
            data, weights = [*data, f"sim={self.simulated}"], [*weights, 1.0 - self.real_share]
        return (
            *("train", str(out), "--data", *data, "--weights", *map(str, weights), "--size", self.size),
            *("--batch-size", str(self.batch_size), "--steps", str(steps), "--seed", str(self.seed)),
            *("--device", self.device),
            *(["--resume"] if out.exists() else []),
        )

    def validation_command(self, checkpoint: Path, out: Path, workers: int) -> tuple[str, ...]:
        """Return the command that tries a checkpoint."""
        return (
            *("evaluate", str(out), "--policies", f"policy={checkpoint}", "--cell", "virtual"),
            *("--seed", str(self.cell_seed), "--trial-seed", str(self.trial_seed)),
            *("--trials", *map(str, self.trials), "--workers", str(workers)),
            *(["--resume"] if out.exists() else []),
        )


def run_command(arguments: tuple[str, ...]) -> None:
    """Run `r2s2r` with these arguments.

    Raises:
        SystemExit: it failed, with its status.
    """
    print("r2s2r", *arguments, flush=True)
    status = subprocess.call([sys.executable, *COMMAND, *arguments])
    if status:
        raise SystemExit(status)  # it has said why, and that shall be the last line of the log


def _checkpoint(folder: Path, steps: int) -> Path:
    return folder / "train" / "checkpoints" / f"step_{steps:09d}"


def _held_out_loss(path: Path, steps: int) -> float:
    """Return the held-out loss after so many steps."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    losses = [row["held_out_loss"] for row in rows if row["step"] == steps and row.get("held_out_loss") is not None]
    if not losses:
        raise StudyError(f"{path}: no held-out loss after {steps} steps; are no demonstrations held out?")
    return float(losses[-1])


def _replace_folder(source: Path, target: Path) -> None:
    aside = target.with_name(f".{target.name}")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(source, aside)
    shutil.rmtree(target, ignore_errors=True)
    aside.rename(target)


def _read_rounds(path: Path) -> list[Round]:
    return [Round(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def _write_rounds(path: Path, rounds: list[Round]) -> None:
    with whole_file(path) as aside:
        aside.write_text("".join(json.dumps(one.to_dict(), sort_keys=True) + "\n" for one in rounds))


def _say(number: int, one: Round) -> None:
    tried = f", {one.successes} of {one.trials} trials" if one.trials else ""
    print(f"round {number}: {one.steps} steps, held-out loss {one.held_out_loss:.4f}{tried}", flush=True)


def main(folder: str, settings: str, workers: str, max_rounds: str) -> int:
    """Run, and return the exit status."""
    try:
        fields: dict[str, Any] = json.loads(settings)
        PolicyRounds(**fields).run(Path(folder), run_command, int(workers), int(max_rounds))
    except R2S2RError as error:
        print(f"r2s2r study: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
