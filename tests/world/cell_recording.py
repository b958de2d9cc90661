"""The arm's part of a calibration recording, without cameras and files."""

import numpy as np

from r2s2r.cell.virtual_cell import VirtualCell
from r2s2r.control.minimum_jerk import progress
from r2s2r.recording.cell_log import CellLog, Segment, Stream
from r2s2r.recording.excitation import AIR_ARM, HELD_OUT_ARM, ArmExcitationCfg, arm_excitation
from r2s2r.robot.ready import READY_ARM


def record_arm(cell: VirtualCell) -> CellLog:
    """Drive the arm through both of its segments."""
    messages, segments = [], []
    start, air = np.array(READY_ARM), np.array(AIR_ARM)

    def follow(path, duration_s: float, name: str | None = None) -> None:
        begin = cell.now()
        for k in range(round(200 * duration_s)):
            cell.command_arm(path(k / 200))
            cell.wait(0.005)
        messages.extend(cell.read())
        if name:
            segments.append(Segment(name, begin, cell.now()))

    follow(lambda time_s: start + (air - start) * progress(time_s / 3.0), 3.5)
    for name, cfg in (("arm_chirp", ArmExcitationCfg()), ("arm_chirp_held_out", HELD_OUT_ARM)):
        follow(lambda time_s, cfg=cfg: arm_excitation(time_s, cfg), cfg.duration_s, name)
        follow(lambda _: air, 0.5)
    streams = {}
    for name in ("arm_command", "arm_joint_pos", "hand_joint_pos"):
        chosen = [message for message in messages if message.stream == name]
        streams[name] = Stream(np.array([m.time_s for m in chosen]), np.array([m.value for m in chosen]))
    return CellLog(cell.info, streams, {}, tuple(segments))
