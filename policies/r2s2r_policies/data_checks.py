"""What ruins a policy without a word: labels that are the state itself, and long idle starts."""

import numpy as np

from r2s2r.contracts.errors import DatasetError

EQUAL = 1e-5
"""Actions this close to the state [rad, m] are the state: float32 rounds at 2e-7 there, while a joint that follows its
target lags by more than 1e-4 rad under any load."""

MAX_EQUAL_SHARE = 0.9
"""Share of the steps in which action and state may agree. Labels that are the state do so in nearly all (in 99.5 % of a
published set); a hand that rests in its target at the end of an episode does for a while."""

IDLE = 1e-4
"""Actions within this of the first one [m, rad; rotation columns without unit] command nothing new; a target that moves
at 5 mm/s moves by 1.7e-4 m a step."""


def check_actions_are_not_states(actions: np.ndarray, states: np.ndarray, where: str) -> float:
    """Return the share of steps in which action and state are equal.

    Args:
        actions: Actions (T, N) whose columns name the same quantities as those of `states`.
        states: What was measured in the same row (T, N) [rad, m].
        where: Data set that the message names.

    Raises:
        DatasetError: they are equal in more than :data:`MAX_EQUAL_SHARE` of the steps.
    """
    share = float((np.abs(actions - states).max(axis=1) <= EQUAL).mean())
    if share > MAX_EQUAL_SHARE:
        raise DatasetError(
            f"{where}: the action equals the state of its own row in {100 * share:.1f} % of the steps, allowed are "
            f"{100 * MAX_EQUAL_SHARE:.0f} %; a policy learns to stand still from it: record what was commanded, or "
            "shift by one so that the action of a row is the state of the next"
        )
    return share


def idle_steps(actions: np.ndarray) -> int:
    """Return how many steps at the start of an episode command the same `actions` (T, N), before the first new one.

    0 where the second step already commands something new; an episode that never moves is idle throughout (T).
    """
    moved = np.abs(actions - actions[0]).max(axis=1) > IDLE
    if not moved.any():
        return len(actions)
    first_new = int(moved.argmax())
    return first_new if first_new > 1 else 0
