"""The whole loop, small: human motion, demonstrations, batch replay, data set, report."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.clip import retargeting_clip
from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.recorded_operator import RecordedOperator, recorded_operator
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.files import file_sha256, write_json
from r2s2r.contracts.provenance import provenance, versions
from r2s2r.dataset.space import StorageEstimate
from r2s2r.dataset.summary import summarize
from r2s2r.dataset.writer import DatasetWriter
from r2s2r.evaluation.clips import write_clip
from r2s2r.evaluation.judging import Outcome, rate
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.attempts import Attempt, rejection
from r2s2r_tasks.belt_sort.demo_pictures import COLUMNS, GRID_FPS, ROWS, grid_film, scene_pictures
from r2s2r_tasks.belt_sort.demo_report import DemoResult, write_report
from r2s2r_tasks.belt_sort.demonstrate import demonstrate
from r2s2r_tasks.belt_sort.episode_recorder import STATE_NAMES
from r2s2r_tasks.belt_sort.film import FILM_ENVS, Film
from r2s2r_tasks.belt_sort.generate import Generation, generate, summary
from r2s2r_tasks.belt_sort.generation_env import task_header
from r2s2r_tasks.belt_sort.session import belt_sort_env, check_choice

CLIP_S = 5.0
"""Longest clip of human beside robot [s]."""


@dataclass(frozen=True)
class DemoSettings:
    """What the demo is run with."""

    seed: int
    num_envs: int
    attempts: int
    device: str
    condition: str
    picture_size: int


def run_demo(out: Path, settings: DemoSettings) -> dict[str, Any]:
    """Run the demo, leave `report.html`, `dataset.hdf5` and `summary.json` in `out`, and return the summary."""
    began = time.perf_counter()
    check_choice(settings.num_envs, settings.device, settings.condition, settings.picture_size)
    human = recorded_operator()
    _say(f"operator: {human.source}")
    clips = _human_clips(human, out)
    record = provenance({"demo": settings, "replay": ReplayCfg(seed=settings.seed)}, seed=settings.seed)
    with _env(settings, settings.num_envs) as env:
        _say(f"{settings.num_envs} environments on {settings.device}; the operator demonstrates in each")
        demos, shown = demonstrate(env, human.model, settings.seed)
        _say(f"demonstrations kept: {', '.join(f'{len(d)} of class {name}' for name, d in demos.items())}")
        generation, episodes = _generate(env, demos, settings)
    with _env(settings, min(FILM_ENVS, settings.num_envs), settings.picture_size) as env:
        frames = _film(env, generation, episodes, settings, record, out)
    clips["grid"] = write_clip(out / "grid.mp4", frames, GRID_FPS)
    _say("pictures from every camera")
    with _env(settings, 2, 256) as env:
        pictures = scene_pictures(env, demos)
    figures = _figures(generation, shown, settings, out, time.perf_counter() - began)
    result = DemoResult(figures, human, demos, generation, clips, pictures, summarize(out / "dataset.hdf5"), record)
    write_report(out / "report.html", result)
    write_json(out / "summary.json", figures)
    _say(f"report: {out / 'report.html'}")
    return figures


def _env(settings: DemoSettings, num_envs: int, picture_size: int | None = None):
    return belt_sort_env(
        num_envs,
        seed=settings.seed,
        device=settings.device,
        condition=settings.condition,
        picture_size=picture_size,
    )


def _human_clips(human: RecordedOperator, out: Path) -> dict[str, Path]:
    clips = {}
    for name, motion in human.motions.items():
        _say(f"clip of {name}")
        rate = motion.recording.rate_hz
        frames = retargeting_clip(motion, max_frames=int(CLIP_S * rate))
        clips[name] = write_clip(out / f"{name}.mp4", frames, rate)
    return clips


def _generate(
    env: ManagerBasedRLEnv, demos: dict[str, list[Demonstration]], settings: DemoSettings
) -> tuple[Generation, dict[int, Episode]]:
    """Return what the attempts came to, and what was recorded of each by its number."""
    progress, episodes = _Progress(settings.attempts), {}

    def ended(attempt: Attempt, episode: Episode) -> None:
        episodes[attempt.number] = episode
        progress(attempt)

    cfg = ReplayCfg(seed=settings.seed)
    generation = generate(env, demos, settings.attempts, condition=settings.condition, cfg=cfg, on_attempt=ended)
    return generation, episodes


def _film(
    env: ManagerBasedRLEnv,
    generation: Generation,
    episodes: dict[int, Episode],
    settings: DemoSettings,
    record: dict[str, Any],
    out: Path,
) -> np.ndarray:
    """Film what is kept and write it, and return the film (T, H, W, 3) of the first attempts, failures included."""
    cfg = ReplayCfg(seed=settings.seed)
    first = [attempt.number for attempt in generation.attempts[: COLUMNS * ROWS]]
    kept = sorted(number for number, episode in episodes.items() if episode.success)
    _say(f"filming {len(kept)} episodes")
    filmed = dict(Film(env).shoot((number, episodes[number]) for number in sorted({*first, *kept})))
    size = (settings.picture_size, settings.picture_size)
    estimate = StorageEstimate(len(kept), env.max_episode_length_s, {"head": size, "wrist": size}, len(STATE_NAMES))
    header = task_header(record, (settings.condition,), settings.seed)
    writer = DatasetWriter(out / "dataset.hdf5", header, interrupted="discard", overwrite=True, estimate=estimate)
    with writer:
        for attempt in generation.attempts:
            if attempt.outcome is Outcome.SUCCESS:
                writer.add(filmed[attempt.number])
            else:
                writer.reject(rejection(attempt, env, cfg))
    return grid_film([filmed[number] for number in first])


def _figures(
    generation: Generation, shown: list[Attempt], settings: DemoSettings, out: Path, wall_s: float
) -> dict[str, Any]:
    good = sum(attempt.outcome is Outcome.SUCCESS for attempt in shown)
    return summary(generation) | {
        "demonstrations": {"attempts": len(shown), "successes": good},
        "seed": settings.seed,
        "settings": asdict(settings),
        "wall_s": wall_s,
        "dataset_sha256": file_sha256(out / "dataset.hdf5"),
        "versions": versions(),
    }


class _Progress:
    """One line for every eighth of the attempts."""

    def __init__(self, total: int):
        self._total, self._done, self._good, self._began = total, 0, 0, time.perf_counter()

    def __call__(self, attempt: Attempt) -> None:
        self._done += 1
        self._good += attempt.outcome is Outcome.SUCCESS
        if self._done % max(1, self._total // 8) == 0 or self._done == self._total:
            spent = time.perf_counter() - self._began
            left = spent / self._done * (self._total - self._done)
            _say(f"attempts {self._done}/{self._total}, sorted {rate(self._good, self._done)}, {left:.0f} s left")


def _say(line: str) -> None:
    print(f"r2s2r demo: {line}", flush=True)
