"""From pictures and the robot's state to the tokens that the velocity network attends to."""

import torch
from robomimic.models.base_nets import SpatialSoftmax
from torch import nn
from torchvision.models import resnet18, resnet50

from r2s2r_policies.augmentation import augmented
from r2s2r_policies.policy_cfg import PolicyCfg

GROUP = 8
"""Channels normalised together. GroupNorm instead of BatchNorm: averaged weights and mixed domains in a batch would
both spoil running statistics (Chi et al., "Diffusion policy", 2023)."""

RESIDUAL = {"resnet18": resnet18, "resnet50": resnet50}
"""Trunks that torchvision brings, without weights."""


class CameraEncoder(nn.Module):
    """One camera's pictures (B, C, S, S) to two tokens (B, 2, D): where things are, and what is there.

    C is 3, or 6 with the earlier picture behind the one of now.

    A spatial softmax says where each of its features is but not whether it is there at all, and an object's class is
    told by its looks; so the strongest answer of every feature of the map is a token of its own.
    """

    def __init__(self, cfg: PolicyCfg, inputs: int):
        super().__init__()
        self.trunk, channels, stride = _trunk(cfg, inputs)
        edge = -(-cfg.picture_size // stride)
        self.keypoints = SpatialSoftmax((channels, edge, edge), num_kp=cfg.keypoints)
        self.where = nn.Linear(2 * cfg.keypoints, cfg.width)
        self.what = nn.Linear(channels, cfg.width)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        # Channels last is what both oneDNN and cuDNN compute in; anything else is reordered in every layer.
        # The two heads reduce over space and want it contiguous; once here instead of in each, forwards and backwards.
        maps = self.trunk((pictures - 0.5).to(memory_format=torch.channels_last)).contiguous()
        where = self.where(self.keypoints(maps).flatten(1))
        what = self.what(maps.amax(dim=(2, 3)))
        return torch.stack((where, what), dim=1)


class ObservationEncoder(nn.Module):
    """State and pictures to tokens (B, N, D): two of each camera, in the order of the cfg, and one of the state."""

    def __init__(self, cfg: PolicyCfg):
        super().__init__()
        self.cfg = cfg
        self.cameras = nn.ModuleDict({key: CameraEncoder(cfg, 6 if key in cfg.earlier else 3) for key in cfg.cameras})
        self.state = nn.Sequential(nn.Linear(cfg.state_dim, cfg.width), nn.GELU(), nn.Linear(cfg.width, cfg.width))
        self.kind = nn.Parameter(0.02 * torch.randn(2 * len(cfg.cameras) + 1, cfg.width))
        self.norm = nn.LayerNorm(cfg.width)

    def forward(self, obs: dict[str, torch.Tensor], generator: torch.Generator | None = None) -> torch.Tensor:
        """Return the tokens of `obs`; in training mode augmented by draws of `generator`, if there is one."""
        cfg = self.cfg
        drawn = generator if self.training else None
        state = obs["robot_state"]
        if drawn is not None and cfg.state_noise:
            noise = torch.randn(state.shape, generator=drawn, device=state.device)
            state = state + cfg.state_noise * noise
        tokens = []
        for key, encoder in self.cameras.items():
            pictures = torch.cat((obs[key], obs[cfg.earlier[key]]), dim=1) if key in cfg.earlier else obs[key]
            if drawn is not None:
                pictures = augmented(pictures, cfg.crop_px, cfg.colour_jitter, cfg.channel_jitter, drawn)
            tokens.append(encoder(pictures))
        tokens.append(self.state(state).unsqueeze(1))
        return self.norm(torch.cat(tokens, dim=1) + self.kind)


def _trunk(cfg: PolicyCfg, inputs: int) -> tuple[nn.Module, int, int]:
    """Return convolutions of `inputs` channels, their map's channels and how often it is smaller than the picture."""
    if cfg.trunk == "conv":
        first, second, third = cfg.channels
        layers = (_layer(inputs, first, 5, 2), _layer(first, second, 3, 2), _layer(second, third, 3, 1))
        return nn.Sequential(*layers), third, 4
    network = RESIDUAL[cfg.trunk](norm_layer=_group_norm)
    network.conv1 = nn.Conv2d(inputs, network.conv1.out_channels, 7, 2, padding=3, bias=False)
    # As it comes it ends at a 32nd of the picture's edge, 4 x 4 for 128 px: too coarse to say where something is.
    # Without its pooling layer and the last stride that is an eighth.
    for module in network.layer4.modules():
        if isinstance(module, nn.Conv2d):
            module.stride = (1, 1)
    stages = (network.layer1, network.layer2, network.layer3, network.layer4)
    return nn.Sequential(network.conv1, network.bn1, network.relu, *stages), network.fc.in_features, 8


def _layer(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, _group_norm(outputs), nn.ReLU(inplace=True))


def _group_norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(channels // GROUP, channels)
