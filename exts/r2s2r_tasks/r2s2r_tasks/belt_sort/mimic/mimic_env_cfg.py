"""Configuration of the task under Mimic: the same scene, events, actions and rules, and Mimic's subtasks."""

from dataclasses import MISSING

from isaaclab.envs.mdp.recorders.recorders_cfg import ActionStateRecorderManagerCfg
from isaaclab.envs.mimic_env_cfg import MimicEnvCfg
from isaaclab.managers import DatasetExportMode, TerminationTermCfg
from isaaclab.utils import configclass

from r2s2r_tasks.belt_sort.config.xarm7_allegro.xarm7_allegro_env_cfg import XArm7AllegroBeltSortEnvCfg
from r2s2r_tasks.belt_sort.mimic.subtasks import HAND, subtasks
from r2s2r_tasks.belt_sort.mimic.terminations import first_verdict


@configclass
class MimicTerminationsCfg:
    """The verdict alone: a trajectory ends by itself."""

    judged = TerminationTermCfg(func=first_verdict, params={"judging": MISSING, "strict": False})


@configclass
class XArm7AllegroBeltSortMimicEnvCfg(XArm7AllegroBeltSortEnvCfg, MimicEnvCfg):
    """Belt sorting for Isaac Lab Mimic's data generator, which records what its script records; no file is written."""

    recorders: ActionStateRecorderManagerCfg = ActionStateRecorderManagerCfg(
        dataset_export_mode=DatasetExportMode.EXPORT_NONE
    )
    terminations: MimicTerminationsCfg = MimicTerminationsCfg()

    def __post_init__(self):
        super().__post_init__()
        self.subtask_configs = {HAND: subtasks()}
