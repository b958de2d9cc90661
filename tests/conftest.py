"""What all tests share: seed, device, the real recordings, and which markers run."""

import os
import sys
from pathlib import Path

# Before NumPy or torch start their pools: a test is small, and runs beside others.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        skip = pytest.mark.skip(reason="slow; give --slow to run it")
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(skip)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if "gpu" in item.keywords and not _cuda_is_available():
        pytest.skip("Warp sees no CUDA device")


@pytest.fixture(autouse=True)
def one_torch_thread() -> None:
    """What a command of an earlier test chose for the process does not slow the next one down: beside a busy process,
    threads that wait for each other are ten and more times slower than one."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture
def seed() -> int:
    """Seed of every random number in the tests; a test that needs more derives them from it."""
    return 20260930


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(params=["cpu", "cuda:0"])
def device(request: pytest.FixtureRequest) -> str:
    """Warp device: the CPU always, the first GPU where there is one."""
    if request.param != "cpu" and not _cuda_is_available():
        pytest.skip("Warp sees no CUDA device")
    return request.param


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real recordings; a test that needs them is skipped where there are none."""
    from r2s2r.recording.catalogue import NO_DATA_REASON
    from r2s2r.recording.catalogue import data_dir as find_data_dir

    found = find_data_dir()
    if found is None:
        pytest.skip(NO_DATA_REASON)
    return found


def _cuda_is_available() -> bool:
    import warp

    return warp.is_cuda_available()
