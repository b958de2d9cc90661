"""How these tests run what takes one target a step."""

from typing import Any

import numpy as np
import warp as wp


def run(unit: Any, signal: np.ndarray) -> np.ndarray:
    """Return what `signal` (T, N, J) gives, step by step, as (T, N, J)."""
    target, answer = (wp.zeros(unit.shape, dtype=wp.float32, device=unit.device) for _ in range(2))
    result = []
    for row in signal:
        target.assign(row.astype(np.float32))
        unit.step(target, answer)
        result.append(answer.numpy().copy())
    return np.array(result)
