"""What the numeric streams of a cell hold."""

from dataclasses import dataclass

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS


@dataclass(frozen=True)
class StreamKind:
    """Columns of a stream."""

    names: tuple[str, ...]
    """What each number belongs to."""
    unit: str
    """Of every number."""
    stamp: str
    """What the time stamp means: `sent` or `sampled`."""

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return len(self.names)


STREAM_KINDS = {
    "arm_command": StreamKind(ARM_JOINTS, "rad", "sent"),
    "hand_command": StreamKind(HAND_JOINTS, "rad", "sent"),
    "belt_command": StreamKind(("belt_speed",), "m/s", "sent"),
    "arm_joint_pos": StreamKind(ARM_JOINTS, "rad", "sampled"),
    "hand_joint_pos": StreamKind(HAND_JOINTS, "rad", "sampled"),
}
"""One for each of :data:`r2s2r.contracts.cell.STREAMS`."""

COMMAND_OF = {"arm_joint_pos": "arm_command", "hand_joint_pos": "hand_command"}
"""Which stream commands the joints that a stream measures."""
