"""The network that says which way a noisy action chunk flows, given an observation."""

import torch
from robomimic.models.transformers import PositionalEncoding
from torch import nn

from r2s2r_policies.policy_cfg import PolicyCfg

TIME_SCALE = 1000.0
"""Flow time 0..1 times this is the position encoded: the sinusoids' range was made for counts, not for fractions."""


class VelocityNet(nn.Module):
    """A transformer decoder over the actions of a chunk, which attend to each other and to the observation's tokens.

    The flow time is added to every action's token and is one more token to attend to.
    """

    def __init__(self, cfg: PolicyCfg):
        super().__init__()
        self.token_shape = (cfg.chunk // cfg.actions_per_token, cfg.actions_per_token * cfg.action_dim)
        self.actions = nn.Linear(self.token_shape[1], cfg.width)
        self.positions = nn.Parameter(0.02 * torch.randn(self.token_shape[0], cfg.width))
        self.sinusoids = PositionalEncoding(cfg.width)
        self.time = nn.Sequential(nn.Linear(cfg.width, cfg.width), nn.SiLU(), nn.Linear(cfg.width, cfg.width))
        layer = nn.TransformerDecoderLayer(
            cfg.width,
            cfg.heads,
            cfg.feedforward * cfg.width,
            dropout=cfg.dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.decoder = nn.TransformerDecoder(layer, cfg.layers, norm=nn.LayerNorm(cfg.width))
        self.velocity = nn.Linear(cfg.width, self.token_shape[1])
        # The first prediction is no velocity at all: the mean of an untrained network's guesses, without their noise.
        nn.init.zeros_(self.velocity.weight)
        nn.init.zeros_(self.velocity.bias)

    def forward(self, actions: torch.Tensor, time: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return velocities (B, H, A) of noisy actions (B, H, A) at flow times (B,), given tokens (B, N, D)."""
        when = self.time(self.sinusoids(TIME_SCALE * time[:, None]))
        queries = self.actions(actions.reshape(-1, *self.token_shape)) + self.positions + when
        return self.velocity(self.decoder(queries, torch.cat((tokens, when), dim=1))).view_as(actions)
