"""The flow-matching policy as one torch module: observation and noise in, a normalised action chunk out."""

from functools import partial

import torch
from torch import nn

from r2s2r_policies.encoders import ObservationEncoder
from r2s2r_policies.flow import flow_loss, integrate
from r2s2r_policies.policy_cfg import PolicyCfg
from r2s2r_policies.velocity import VelocityNet


class FlowPolicyNet(nn.Module):
    """Encoders of an observation and the velocity network that is conditioned on them.

    An observation is a dict of `robot_state` (B, 32), normalised, and one entry (B, 3, S, S) of 0..1 for each of the
    cfg's cameras and of its earlier pictures. Whatever is drawn comes from the generator that is passed, on the
    observation's device; dropout, off by default, is the exception. Layers compute in whatever `precision.autocast` the
    caller is in.
    """

    def __init__(self, cfg: PolicyCfg):
        super().__init__()
        self.cfg = cfg
        self.encoder = ObservationEncoder(cfg)
        self.velocity = VelocityNet(cfg)

    def encode(self, obs: dict[str, torch.Tensor], generator: torch.Generator | None = None) -> torch.Tensor:
        """Return the tokens (B, N, D) of observations; in training mode augmented, where a generator is given."""
        return self.encoder(obs, generator)

    def forward(
        self,
        obs: dict[str, torch.Tensor],
        actions: torch.Tensor,
        mask: torch.Tensor,
        generator: torch.Generator,
    ) -> torch.Tensor:
        """Return :meth:`loss_terms`; a module's call is what data parallel training hooks into."""
        return self.loss_terms(obs, actions, mask, generator)

    def compile_layers(self, backend: str = "inductor") -> None:
        """Compile, in place, the parts that hold nearly all arithmetic and draw nothing; worth it on CUDA only.

        Names of the weights stay as they are.

        Args:
            backend: one of `torch.compile`'s.
        """
        for encoder in self.encoder.cameras.children():
            encoder.get_submodule("trunk").compile(backend=backend, fullgraph=True)
        self.velocity.compile(backend=backend, fullgraph=True)

    def loss_terms(
        self,
        obs: dict[str, torch.Tensor],
        actions: torch.Tensor,
        mask: torch.Tensor,
        generator: torch.Generator,
    ) -> torch.Tensor:
        """Return the rectified-flow loss (scalar) of normalised actions (B, H, A), over valid ones only.

        Args:
            obs: observations.
            actions: (B, H, A) normalised.
            mask: (B, H) bool, False where a chunk is padding.
            generator: where augmentation, noise and flow times come from.
        """
        tokens = self.encode(obs, generator)
        return flow_loss(partial(self.velocity, tokens=tokens), actions, mask, generator)

    @torch.no_grad()
    def sample(
        self, obs: dict[str, torch.Tensor], steps: int | None = None, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return normalised action chunks (B, H, A), integrated in `steps` steps (default: the cfg's)."""
        tokens = self.encode(obs)
        shape = (len(tokens), self.cfg.chunk, self.cfg.action_dim)
        noise = self.cfg.start_noise * torch.randn(shape, generator=generator, device=tokens.device)
        return integrate(partial(self.velocity, tokens=tokens), noise, steps or self.cfg.flow_steps)

    @torch.no_grad()
    def features(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return one embedding (B, D) of each observation: the mean of its tokens."""
        return self.encode(obs).float().mean(dim=1)
