"""Registers the belt-sorting task of the xArm7 with the Allegro hand."""

import gymnasium as gym

from r2s2r_tasks.belt_sort.config.xarm7_allegro import agents

_KWARGS = {
    "rsl_rl_cfg_entry_point": f"{agents.__name__}.rsl_rl_ppo_cfg:BeltSortPPORunnerCfg",
    "default_agent": "rsl_rl",
}

gym.register(
    id="R2S2R-BeltSort-XArm7Allegro",
    entry_point="r2s2r_tasks.belt_sort.belt_sort_env:BeltSortEnv",
    disable_env_checker=True,
    kwargs={"env_cfg_entry_point": f"{__name__}.xarm7_allegro_env_cfg:XArm7AllegroBeltSortEnvCfg", **_KWARGS},
)

gym.register(
    id="R2S2R-BeltSort-XArm7Allegro-Camera",
    entry_point="r2s2r_tasks.belt_sort.belt_sort_env:BeltSortEnv",
    disable_env_checker=True,
    kwargs={
        "env_cfg_entry_point": f"{__name__}.xarm7_allegro_camera_env_cfg:XArm7AllegroBeltSortCameraEnvCfg",
        **_KWARGS,
    },
)

gym.register(
    id="R2S2R-BeltSort-XArm7Allegro-Mimic",
    entry_point="r2s2r_tasks.belt_sort.mimic.mimic_env:BeltSortMimicEnv",
    disable_env_checker=True,
    kwargs={"env_cfg_entry_point": "r2s2r_tasks.belt_sort.mimic.mimic_env_cfg:XArm7AllegroBeltSortMimicEnvCfg"},
)
