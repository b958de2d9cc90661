"""Flow matching as an algorithm of robomimic, beside robomimic's own: `config_factory("flow_matching")` and training.

Importing this module registers the configuration and the algorithm.
"""

from collections import OrderedDict, deque
from dataclasses import replace
from typing import Any, cast

import torch
from robomimic.algo import PolicyAlgo, register_algo_factory_func
from robomimic.config.base_config import BaseConfig
from robomimic.utils import torch_utils
from torch import nn
from torch.optim.swa_utils import AveragedModel

from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.ema import averaged_copy
from r2s2r_policies.network import FlowPolicyNet
from r2s2r_policies.policy_cfg import CAMERAS, EARLIER, PolicyCfg
from r2s2r_policies.policy_numbers import STATE
from r2s2r_policies.precision import autocast

NAME = "flow_matching"


class FlowMatchingConfig(BaseConfig):
    """robomimic's configuration of the algorithm; `algo.policy` holds the fields of `PolicyCfg`."""

    ALGO_NAME: Any = NAME  # a property in robomimic's base, a string in all its configurations

    def train_config(self) -> None:
        super().train_config()
        self.train.hdf5_load_next_obs = False
        self.train.seq_length = PolicyCfg().chunk
        self.train.dataset_keys = ("actions",)
        self.train.batch_size = 64

    def algo_config(self) -> None:
        optimizer = self.algo.optim_params.policy
        optimizer.optimizer_type = "adamw"
        optimizer.learning_rate.initial = 5e-4
        optimizer.learning_rate.decay_factor = 0.1
        optimizer.learning_rate.epoch_schedule = []
        optimizer.learning_rate.scheduler_type = "multistep"
        optimizer.regularization.L2 = 1e-4
        self.algo.max_grad_norm = 1.0
        self.algo.precision = "auto"
        self.algo.execute = 8
        for name, value in PolicyCfg().to_dict().items():
            setattr(self.algo.policy, name, value)

    def observation_config(self) -> None:
        super().observation_config()
        self.observation.modalities.obs.low_dim = [STATE]
        self.observation.modalities.obs.rgb = list(CAMERAS)


@register_algo_factory_func(NAME)
def algo_class(_algo_config: Any) -> tuple[type[PolicyAlgo], dict[str, Any]]:
    """Return the class that robomimic makes the algorithm from, and no further arguments."""
    return FlowMatching, {}


class FlowMatching(PolicyAlgo):
    """Rectified-flow matching of action chunks, on robomimic's batches and in its training loop.

    `nets` holds the network as trained, `policy`, and its averaged weights, `averaged`, which act. Numbers are taken
    as normalised by whoever made the batch.
    """

    def _create_networks(self) -> None:
        cfg = self._cfg()
        self.nets["policy"] = FlowPolicyNet(cfg)
        self.nets["averaged"] = averaged_copy(self.nets["policy"], cfg.ema_decay)
        self.nets = self.nets.to(self.device)
        self.generator = torch.Generator(self.device).manual_seed(self.global_config.train.seed)
        self._queue: deque[torch.Tensor] = deque()

    def _cfg(self) -> PolicyCfg:
        """Return `algo.policy` fitted to the shapes of the data; without earlier pictures it sees one instant.

        Raises:
            ConfigError: the data have no state of the robot, or their pictures are not square or of different sizes.
        """
        shapes = self.obs_shapes
        cameras = tuple(key for key in CAMERAS if key in shapes)
        allowed = (STATE, *CAMERAS, *EARLIER.values())
        unknown = sorted(set(shapes) - set(allowed))
        if STATE not in shapes or unknown:
            raise ConfigError(f"{NAME}: observations are {sorted(shapes)}, allowed are {allowed}")
        sizes = {tuple(shapes[key][-2:]) for key in cameras}
        if len(sizes) > 1 or any(height != width for height, width in sizes):
            raise ConfigError(f"{NAME}: pictures are {sorted(sizes)}, allowed is one square size")
        cfg = PolicyCfg.from_dict(dict(self.algo_config.policy))
        for height, _ in sizes:
            cfg = cfg.resized(height)
        if not any(key in shapes for key in EARLIER.values()):
            cfg = replace(cfg, earlier_steps=0)
        return replace(cfg, cameras=cameras, state_dim=shapes[STATE][0], action_dim=self.ac_dim)

    # The weights in `nets` can be exchanged, by a checkpoint's for one, so networks are always looked up there.

    @property
    def _network(self) -> FlowPolicyNet:
        return cast(FlowPolicyNet, self.nets["policy"])

    @property
    def _averaged(self) -> AveragedModel:
        return cast(AveragedModel, self.nets["averaged"])

    def process_batch_for_training(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return what training needs of a batch of sequences: the first observation, actions (B, H, A) and their mask.

        The mask is the batch's `mask` (B, H), or robomimic's `pad_mask` (B, H, 1), or all actions if it has neither.
        """
        chunk = self._network.cfg.chunk
        actions = batch["actions"][:, :chunk]
        mask = batch.get("mask", batch.get("pad_mask"))
        mask = torch.ones(actions.shape[:2]) if mask is None else mask.reshape(len(actions), -1)[:, :chunk]
        # Pictures travel as bytes and become floats on the device.
        obs = {key: batch["obs"][key][:, 0].to(self.device).float() for key in self.obs_shapes}
        return {"obs": obs, "actions": actions.to(self.device).float(), "mask": mask.to(self.device, torch.bool)}

    def train_on_batch(self, batch: dict[str, Any], epoch: int, validate: bool = False) -> OrderedDict:
        """Take one training step on a processed batch, or only compute its loss; return `losses` for the log."""
        with torch_utils.maybe_no_grad(no_grad=validate):
            info = super().train_on_batch(batch, epoch, validate=validate)
            with autocast(self.device, self.algo_config.precision):
                loss = self._network(batch["obs"], batch["actions"], batch["mask"], self.generator)
            info["losses"] = {"action_loss": loss.detach()}
            if not validate:
                info["policy_grad_norms"] = self._step(loss)
        return info

    def _step(self, loss: torch.Tensor) -> float | None:
        """Take a step and return the gradients' norm; None where `algo.max_grad_norm` leaves them to another one."""
        network, optimizer = self._network, self.optimizers["policy"]
        optimizer.zero_grad()
        loss.backward()
        largest = self.algo_config.max_grad_norm
        norm = None if largest is None else float(nn.utils.clip_grad_norm_(network.parameters(), largest))
        optimizer.step()
        self._averaged.update_parameters(network)
        return norm

    def set_train(self) -> None:
        """Put the trained network, not its average, into training mode."""
        self.nets.train()
        self._averaged.eval()

    def log_info(self, info: dict[str, Any]) -> OrderedDict:
        """Return the numbers of a step that robomimic logs."""
        log = super().log_info(info)
        log["Loss"] = info["losses"]["action_loss"].item()
        if "policy_grad_norms" in info:
            log["Policy_Grad_Norms"] = info["policy_grad_norms"]
        return log

    def get_action(self, obs_dict: dict[str, torch.Tensor], goal_dict: Any = None) -> torch.Tensor:
        """Return the next action (B, A); after `algo.execute` of them the averaged weights draw a new chunk."""
        if not self._queue:
            with autocast(self.device, self.algo_config.precision):
                chunk = cast(FlowPolicyNet, self._averaged.module).sample(obs_dict, generator=self.generator)
            self._queue.extend(chunk[:, : self.algo_config.execute].unbind(dim=1))
        return self._queue.popleft()

    def reset(self) -> None:
        """Forget what is left of the last chunk."""
        self._queue.clear()
