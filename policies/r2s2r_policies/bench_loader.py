"""How fast samples of one data set come: our loader, and robomimic's data set behind torch's loader."""

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

from r2s2r_policies.loader import MixtureLoader
from r2s2r_policies.mixture import PICTURE_KEYS, Mixture, Source


@dataclass(frozen=True)
class LoaderBench:
    """What is loaded: windows of `chunk` actions, in random order, in batches."""

    path: Path
    filter_key: str
    chunk: int
    batch_size: int
    seconds: float
    """Least time of a measurement [s]."""
    repetitions: int
    seed: int


@dataclass(frozen=True)
class LoaderRow:
    """How fast one way of loading is."""

    workers: int
    """Threads of ours, processes of the peer that load beside the caller."""
    whole_window: bool
    """Whether observations of all steps of a window are loaded, or of the first one."""
    samples_per_s: float
    """Median of the repetitions."""
    samples_per_s_range: tuple[float, float]


@dataclass(frozen=True)
class LoaderResult:
    """What a loader achieved in a process of its own."""

    open_s: float
    """Opening the data set [s]."""
    peak_bytes: int
    """Most memory that the process and its workers held, with all libraries."""
    rows: list[LoaderRow]


def measure_ours(bench: LoaderBench, threads: int) -> dict[str, Any]:
    """Return what :class:`MixtureLoader` achieves with 1 to `threads` threads, as the fields of `LoaderResult`.

    Raises:
        R2S2RError: the data set cannot be read.
    """
    return asdict(_in_own_process(_ours, bench, threads))


def measure_robomimic(bench: LoaderBench, workers: int) -> dict[str, Any]:
    """Return what `SequenceDataset`, without a cache, achieves behind `DataLoader` with 0 to `workers` processes.

    It loads observations of all steps of a window.
    """
    return asdict(_in_own_process(_robomimic, bench, workers))


def _in_own_process(measure: Callable[..., LoaderResult], *arguments: Any) -> LoaderResult:
    # A fresh process, so that its greatest memory is that of this loader.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def _ours(bench: LoaderBench, threads: int) -> LoaderResult:
    began, rows = time.perf_counter(), []
    with Mixture([Source(bench.path, 1.0, "sim", bench.filter_key)], bench.chunk) as mixture:
        open_s = time.perf_counter() - began
        for whole_window in (False, True):
            for count in range(1, threads + 1):
                with MixtureLoader(mixture, bench.batch_size, bench.seed, count, sequence=whole_window) as loader:
                    rows.append(_row(loader, bench, count, whole_window))
    return LoaderResult(open_s, _peak_bytes(), rows)


def _robomimic(bench: LoaderBench, workers: int) -> LoaderResult:
    import robomimic.utils.obs_utils as ObsUtils
    import torch
    from robomimic.utils.dataset import SequenceDataset

    torch.set_num_threads(1)
    torch.manual_seed(bench.seed)
    with redirect_stdout(StringIO()):  # it tells its modalities
        ObsUtils.initialize_obs_utils_with_obs_specs({"obs": {"low_dim": ["joint_pos"], "rgb": list(PICTURE_KEYS)}})
    began = time.perf_counter()
    windows = SequenceDataset(
        str(bench.path),
        obs_keys=("joint_pos", *PICTURE_KEYS),
        dataset_keys=("actions",),
        seq_length=bench.chunk,
        get_pad_mask=True,
        hdf5_cache_mode=None,
        filter_by_attribute=bench.filter_key,
        load_next_obs=False,
    )
    open_s = time.perf_counter() - began
    endless = torch.utils.data.RandomSampler(windows, replacement=True, num_samples=10**9)
    rows = []
    for count in range(workers + 1):
        # Workers are forked, as is usual on Linux, and must not share an open file.
        windows.close_and_delete_hdf5_handle()
        loader = torch.utils.data.DataLoader(
            windows,
            bench.batch_size,
            sampler=endless,
            num_workers=count,
            multiprocessing_context="fork" if count else None,
        )
        rows.append(_row(iter(loader), bench, count, whole_window=True))  # workers end with the iterator
    of_workers = workers * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return LoaderResult(open_s, _peak_bytes() + of_workers, rows)


def _row(batches: Iterator[Any], bench: LoaderBench, workers: int, whole_window: bool) -> LoaderRow:
    next(batches)  # starts threads and workers
    rates = [_rate(batches, bench) for _ in range(bench.repetitions)]
    return LoaderRow(workers, whole_window, median(rates), (min(rates), max(rates)))


def _rate(batches: Iterator[Any], bench: LoaderBench) -> float:
    began, count = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - began) < bench.seconds:
        next(batches)
        count += 1
    return count * bench.batch_size / elapsed


def _peak_bytes() -> int:
    """Return the most memory that this process held; unlike `getrusage`, not counting what its parent did."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
