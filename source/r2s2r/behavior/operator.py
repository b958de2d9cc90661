"""The human operator model: demonstrations of the task with the timing and variation of measured human reaches."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.human_statistics import HumanStatistics
from r2s2r.behavior.pick_plan import OperatorScene, PickPlan
from r2s2r.behavior.synergy import ClosingSynergy
from r2s2r.contracts.action import POLICY_RATE_HZ


@dataclass(frozen=True)
class OperatorModel:
    """Makes demonstrations: minimum-jerk wrist segments and a closing that follows the human synergy.

    A motion longer than the measured reaches lasts longer by the square root of the lengths' ratio, which keeps the
    highest acceleration that of the recording.
    """

    label: ClassVar[str] = "operator"

    statistics: HumanStatistics = field(default_factory=HumanStatistics.builtin)
    """Timing, curvature and their variation."""

    synergy: ClosingSynergy = field(default_factory=ClosingSynergy.builtin)
    """Coordination of the joints while closing."""

    grasp: GraspGeometry = field(default_factory=GraspGeometry)
    """Where and how the object is taken."""

    def demonstrate(self, scene: OperatorScene, rng: np.random.Generator, name: str = "operator") -> Demonstration:
        """Return one demonstration of picking the object and dropping it into the bin; the same for the same `rng`."""
        plan = PickPlan.draw(scene, self.statistics, self.grasp, rng)
        clock = np.arange(int(np.ceil(plan.end * POLICY_RATE_HZ)) + 1) / POLICY_RATE_HZ
        wrist_pos, wrist_quat = plan.wrist(clock)
        object_pos, object_yaw = plan.expected_object(clock)
        return Demonstration(
            name=name,
            wrist_pos_b=wrist_pos,
            wrist_quat_b=wrist_quat,
            hand_joint_pos=self.grasp.hand_joint_pos(plan.closed_share(clock, self.synergy), plan.widened(clock)),
            phase=plan.phase(clock),
            object_pos_b=object_pos,
            object_yaw=object_yaw,
            belt_velocity_b=scene.belt_velocity_b,
            bin_pos_b=scene.bin_pos_b,
            provenance={"operator": self.statistics.source, "synergy": self.synergy.source},
        )
