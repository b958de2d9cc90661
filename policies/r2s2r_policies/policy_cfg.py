"""What a flow-matching policy is built from, and the four sizes that have names. Needs no deep-learning framework."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r_policies.wrist_frame import STATE_NAMES

CAMERAS = ("head_rgb", "wrist_rgb")
"""Observation keys of the pictures, in the order of their tokens."""

EARLIER = {"head_rgb": "head_rgb_earlier"}
"""Observation keys of earlier pictures, of the cameras that stand still: what differs between two of their pictures has
moved, and how fast is seen in no single one."""


def earlier_keys(cameras: Iterable[str]) -> dict[str, str]:
    """Return the keys of earlier pictures, by camera, of those cameras that have them."""
    return {key: EARLIER[key] for key in cameras if key in EARLIER}


TRUNKS = ("conv", "resnet18", "resnet50")
"""Convolutions of a camera's encoder: three small layers of our own widths, or torchvision's residual networks."""

SMALLEST_PICTURE = 16
"""[px] Below this the strided layers leave no map worth a spatial softmax."""


@dataclass(frozen=True)
class PolicyCfg:
    """Shape, augmentation and integration of a flow-matching policy.

    The defaults are those of `small`. Pictures need not be of the size a named policy was thought for: whoever trains
    takes `cfg.resized(S)` with the size of the data's pictures.

    Raises:
        ConfigError: a value is out of its range.
    """

    chunk: int = 16
    """Actions in an answer (H)."""
    action_dim: int = len(ACTION_NAMES)
    state_dim: int = len(STATE_NAMES)
    cameras: tuple[str, ...] = CAMERAS
    picture_size: int = 64
    """Edge S of the square pictures [px]."""

    earlier_steps: int = 8
    """How many steps before its observation a policy also sees through the cameras of EARLIER: as many as are executed
    of an answer, so that the picture of the answer before is the one. 0: it sees one instant only."""

    trunk: str = "conv"
    channels: tuple[int, int, int] = (16, 32, 64)
    """Channels of the three layers of the trunk `conv`; the residual networks have their own."""
    keypoints: int = 32
    """Points that a camera's spatial softmax reports."""
    width: int = 256
    """Width of the tokens (D)."""
    layers: int = 4
    heads: int = 8
    actions_per_token: int = 4
    """Consecutive actions that share a token of the velocity network; divides `chunk`. Its time is proportional to the
    number of tokens, and at 30 Hz neighbouring actions differ little."""
    feedforward: int = 4
    """Hidden width of a transformer block, in multiples of `width`."""
    dropout: float = 0.0
    """Of the transformer. It draws from torch's global generator, unlike everything else here."""

    crop_px: int = 0
    """Pictures are shifted by up to this much either way while training [px]; 0 switches it off. A pixel of a small
    picture is 1.5 cm of the belt: with shifts of 2 px, wrist targets were off by a fifth more on held-out
    demonstrations."""
    colour_jitter: float = 0.25
    """Brightness, contrast and saturation are each multiplied by exp(u), u uniform within +/- this."""
    channel_jitter: float = 0.15
    """Each colour channel is multiplied by exp(u), u uniform within +/- this: lamps of another colour."""
    state_noise: float = 0.005
    """Standard deviation added to the normalised state while training: what encoders and kinematics may be off."""

    flow_steps: int = 8
    """Steps of the integrator in an answer."""
    start_noise: float = 0.3
    """Standard deviation of the noise that an answer begins with, 1 in training. Less of it gives an answer closer to
    the likeliest one: on held-out demonstrations wrist targets were off by
    2.1 cm with 0 to 0.3 and by 2.6 cm with 1 (eighth action, `tiny` after 1,500 steps)."""
    ema_decay: float = 0.999
    """Decay of the averaged weights per training step, once training is long (`ema.decay_at`)."""

    def __post_init__(self):
        positive = ("chunk", "action_dim", "state_dim", "keypoints", "width", "layers", "heads", "feedforward")
        for name in (*positive, "actions_per_token", "flow_steps"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"policy: {name} is {value!r}, allowed is an integer of 1 or more")
        if not isinstance(self.earlier_steps, int) or self.earlier_steps < 0:
            raise ConfigError(f"policy: earlier_steps is {self.earlier_steps!r}, allowed is an integer of 0 or more")
        for name in ("colour_jitter", "channel_jitter", "state_noise", "start_noise"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"policy: {name} is {value!r}, allowed is a number of 0 or more")
        for name in ("dropout", "ema_decay"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"policy: {name} is {getattr(self, name)!r}, allowed is 0 up to below 1")
        choose("policy: trunk", self.trunk, TRUNKS)
        # JSON knows lists only.
        for name in ("cameras", "channels"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.channels) != 3 or any(channels < 8 or channels % 8 for channels in self.channels):
            raise ConfigError(f"policy: channels are {self.channels}, allowed are three multiples of 8")
        if self.chunk % self.actions_per_token:
            allowed = f"a divisor of the chunk, {self.chunk}"
            raise ConfigError(f"policy: actions_per_token is {self.actions_per_token}, allowed is {allowed}")
        if self.width % self.heads or self.width % 2:
            raise ConfigError(f"policy: width {self.width} with {self.heads} heads, allowed is an even multiple")
        if self.picture_size < SMALLEST_PICTURE:
            raise ConfigError(f"policy: picture_size is {self.picture_size}, allowed is {SMALLEST_PICTURE} or more")
        if not 0 <= self.crop_px < self.picture_size:
            raise ConfigError(f"policy: crop_px is {self.crop_px}, allowed is 0 to below {self.picture_size}")

    @staticmethod
    def named(size: str) -> "PolicyCfg":
        """Return the policy of a named size: `tiny`, `small`, `base` or `paper` (1, 5, 80 and 500 M parameters).

        Raises:
            ConfigError: there is no size of that name.
        """
        return SIZES[choose("policy size", size, tuple(SIZES))]

    @property
    def earlier(self) -> dict[str, str]:
        """Keys of the earlier pictures that it sees, by camera."""
        return earlier_keys(self.cameras) if self.earlier_steps else {}

    def resized(self, picture_size: int) -> "PolicyCfg":
        """Return the same policy for pictures of `picture_size` [px]; the shift keeps its share of the picture."""
        crop_px = round(self.crop_px * picture_size / self.picture_size)
        return replace(self, picture_size=picture_size, crop_px=crop_px)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, JSON-able."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "PolicyCfg":
        """Return the policy that `to_dict` described; fields that are absent take their defaults.

        Raises:
            ConfigError: a field is unknown or out of its range.
        """
        known = tuple(field.name for field in fields(PolicyCfg))
        for name in values:
            choose("policy field", name, known)
        return PolicyCfg(**values)


SIZES = {
    "tiny": PolicyCfg(channels=(16, 32, 32), width=128, layers=3, heads=4, actions_per_token=2),
    "small": PolicyCfg(),
    "base": PolicyCfg(
        picture_size=128,
        crop_px=4,
        trunk="resnet18",
        keypoints=64,
        width=768,
        layers=6,
        heads=12,
        actions_per_token=1,
        ema_decay=0.9999,
    ),
    "paper": PolicyCfg(
        picture_size=224,
        crop_px=7,
        trunk="resnet50",
        keypoints=128,
        width=1536,
        layers=12,
        heads=16,
        actions_per_token=1,
        ema_decay=0.9999,
    ),
}
"""Named policies. `paper` has the paper's 500 M parameters; the paper says nothing of how they are spent."""
