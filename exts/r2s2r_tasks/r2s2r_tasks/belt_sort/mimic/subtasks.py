"""The subtasks that Mimic cuts a demonstration into, and how it chooses and joins their pieces."""

from isaaclab.envs.mimic_env_cfg import SubTaskConfig

from r2s2r.replay.cfg import ReplayCfg

HAND = "hand"
"""Mimic's name of the one end effector."""

TARGET, BIN = "target", "bin"
"""Mimic's names of the two frames that subtasks refer to."""

LIFTED = "lifted"
"""Signal that ends the first subtask."""

BRIDGE_STEPS = 15
"""Control steps from the lifted hand to where the demonstration carried on, up to 0.13 m away along the belt: half a
second, as in Mimic's own tasks of placing into a box."""


def subtasks() -> list[SubTaskConfig]:
    """Return the two subtasks: reach, take and lift relative to the target; carry and release relative to its bin.

    A demonstration is chosen among the three whose target lay most alike, by place and turn. The first subtask begins
    at once, as bridging would take time in which the target rides on. Noise is the replay's in size, though new in each
    step: Mimic adds it to each of the nine numbers of a wrist target.
    """
    common = {
        "selection_strategy": "nearest_neighbor_object",
        "selection_strategy_kwargs": {"nn_k": 3},
        "action_noise": ReplayCfg().pos_noise,
    }
    return [
        SubTaskConfig(object_ref=TARGET, subtask_term_signal=LIFTED, num_interpolation_steps=0, **common),
        SubTaskConfig(object_ref=BIN, subtask_term_signal=None, num_interpolation_steps=BRIDGE_STEPS, **common),
    ]
