"""Copies the state of the physics aside and puts it back, so that the same steps can be run twice."""

from collections.abc import Iterator
from contextlib import contextmanager

import warp as wp
from isaaclab_newton.physics import NewtonManager

SOLVER_BUFFERS = ("qacc_warmstart", "qfrc_applied", "xfrc_applied", "ctrl", "act", "overflow")
"""What the MuJoCo Warp solver carries from step to step beside the state: what its own reset clears, and the overflow
bits that it only ever adds to."""


class PhysicsCheckpoint:
    """State, controls and solver memory of all environments; stays on the device. Newton with MuJoCo Warp only."""

    def __init__(self):
        solver_data = NewtonManager._solver.mjw_data
        live = [*vars(NewtonManager.get_state_0()).values(), *vars(NewtonManager.get_control()).values()]
        live += [getattr(solver_data, name) for name in SOLVER_BUFFERS]
        self._live = [array for array in live if isinstance(array, wp.array) and array.size]
        self._kept = [wp.empty_like(array) for array in self._live]

    def save(self) -> None:
        """Keep the present state."""
        for live, kept in zip(self._live, self._kept, strict=True):
            wp.copy(kept, live)

    def restore(self) -> None:
        """Go back to the state that was kept."""
        for live, kept in zip(self._live, self._kept, strict=True):
            wp.copy(live, kept)


@contextmanager
def model_changes_held_back() -> Iterator[None]:
    """Step the physics with the model that the solver has: what a reset has changed reaches it afterwards."""
    pending, NewtonManager._model_changes = NewtonManager._model_changes, set()
    try:
        yield
    finally:
        NewtonManager._model_changes = pending
