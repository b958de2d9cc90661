"""PPO on the privileged state, so that `isaaclab train` has something to start from."""

from isaaclab.utils import configclass
from isaaclab_rl.rsl_rl import RslRlMLPModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoAlgorithmCfg

STATE_GROUPS = ["policy", "privileged"]
"""Observation groups that actor and critic see: no pictures."""


@configclass
class BeltSortPPORunnerCfg(RslRlOnPolicyRunnerCfg):
    """Runner of the state task; the camera task trains on the same groups."""

    num_steps_per_env = 32
    max_iterations = 5000
    save_interval = 250
    experiment_name = "r2s2r_belt_sort"
    obs_groups = {"actor": STATE_GROUPS, "critic": STATE_GROUPS}
    actor = RslRlMLPModelCfg(
        distribution_cfg=RslRlMLPModelCfg.GaussianDistributionCfg(init_std=0.3),
        obs_normalization=True,
        hidden_dims=[512, 256, 128],
        activation="elu",
    )
    critic = RslRlMLPModelCfg(obs_normalization=True, hidden_dims=[512, 256, 128], activation="elu")
    algorithm = RslRlPpoAlgorithmCfg(
        value_loss_coef=1.0,
        use_clipped_value_loss=True,
        clip_param=0.2,
        entropy_coef=0.002,
        num_learning_epochs=5,
        num_mini_batches=4,
        learning_rate=3.0e-4,
        schedule="adaptive",
        gamma=0.99,
        lam=0.95,
        desired_kl=0.01,
        max_grad_norm=1.0,
    )
