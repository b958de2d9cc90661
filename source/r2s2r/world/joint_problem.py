"""The residual of a joint fit as `mujoco.sysid` takes it: parameters, models, rollouts, robust loss."""

import io
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from mujoco import minimize, sysid
from mujoco.sysid import Parameter, ParameterDict, SystemTrajectory, TimeSeries

from r2s2r.world.joint_excerpt import JointExcerpt
from r2s2r.world.joint_simulation import JointParameters, JointSimulator, positions_at

FIELDS = ("armature", "viscous_friction", "coulomb_friction", "encoder_bias")
"""Fields of JointParameters with one number for each joint that are always fitted."""

UPPER = {"armature": 2.0, "viscous_friction": 30.0, "coulomb_friction": 30.0, "encoder_bias": 0.5}
"""Largest values; the smallest is 0, for a bias the negative. They bound the search far above any arm of this size."""

STIFFNESS_SCALE = (0.1, 10.0)
"""Bounds of the factor on a position gain that is not known."""

_DIFFERENCE = 1e-5
"""Step of finite differences in every unit: far above the solver's tolerance, far below what a fit resolves."""


class Huber(minimize.Norm):
    """Quadratic up to `delta`, linear beyond."""

    def __init__(self, delta: float):
        """Bend at `delta` standard deviations."""
        self.delta = delta

    def value(self, r: np.ndarray) -> np.float64:
        """Return the loss of residuals (M, 1)."""
        size = np.abs(r)
        loss = np.where(size <= self.delta, 0.5 * r**2, self.delta * (size - 0.5 * self.delta))
        return np.float64(loss.sum())

    def weights(self, r: np.ndarray) -> np.ndarray:
        """Return the weight of each residual."""
        return np.minimum(1.0, self.delta / np.maximum(np.abs(r), 1e-300))

    def grad_hess(self, r: np.ndarray, proj: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and Gauss-Newton Hessian (iteratively reweighted) along `proj`."""
        weighted = self.weights(r) * proj
        return weighted.T @ r, weighted.T @ proj


class JointProblem:
    """Parameters and residuals of a fit."""

    def __init__(
        self,
        simulator: JointSimulator,
        excerpts: tuple[JointExcerpt, ...],
        moved: np.ndarray,
        largest_delay_s: float,
        settle_s: float,
        free_stiffness: bool,
    ):
        """See :class:`r2s2r.world.joint_fit.JointFitCfg`; `moved` (J,) tells which joints are fitted."""
        self._simulator = simulator
        self._excerpts = excerpts
        self._moved = np.flatnonzero(moved)
        self._largest_delay_s = largest_delay_s
        self._free_stiffness = free_stiffness
        self._least_armature = np.max([simulator.least_armature(part) for part in excerpts], axis=0)
        self._used = [part.time_s > settle_s for part in excerpts]

    @property
    def time_s(self) -> np.ndarray:
        """Times of all residuals (M,), excerpts one after the other."""
        starts = np.cumsum([0.0, *(part.duration_s for part in self._excerpts)])
        times = [s + part.time_s[used] for s, part, used in zip(starts, self._excerpts, self._used, strict=False)]
        return np.repeat(np.concatenate(times), len(self._moved))

    @property
    def joint(self) -> np.ndarray:
        """Joints of all residuals (M,)."""
        return np.tile(self._moved, sum(int(used.sum()) for used in self._used))

    def dictionary(self, start: JointParameters) -> ParameterDict:
        """Return what is fitted, at start values moved off the bounds."""
        parameters = ParameterDict()
        fields = (*FIELDS, "stiffness_scale") if self._free_stiffness else FIELDS
        for name in fields:
            for j in self._moved:
                low, high = bounds(name)
                if name == "armature":
                    low = float(self._least_armature[j])
                parameters.add(_parameter(f"{name}.{j + 1}", getattr(start, name)[j], low, high))
        parameters.add(_parameter("command_delay_s", start.command_delay_s, 0.0, self._largest_delay_s))
        return parameters

    def parameters(self, parameters: ParameterDict) -> JointParameters:
        """Return the values; zeros for joints that are not fitted."""
        count = self._simulator.joint_count
        vectors = {name: np.zeros(count) for name in FIELDS} | {"stiffness_scale": np.ones(count)}
        for name, parameter in parameters.items():
            field, _, joint = name.partition(".")
            if joint:
                vectors[field][int(joint) - 1] = parameter.value.item()
        return JointParameters(command_delay_s=parameters["command_delay_s"].value.item(), **vectors)

    def residuals(self, parameters: ParameterDict, sigma: np.ndarray) -> np.ndarray:
        """Return all residuals (M,) over the standard deviations of their joints (J,)."""
        found, _, _ = self._residual_fn(sigma)(parameters.as_vector(), parameters.copy())
        return np.concatenate(found)

    def optimise(
        self, start: ParameterDict, sigma: np.ndarray, outlier: float, tolerance: float, max_iterations: int
    ) -> tuple[ParameterDict, np.ndarray]:
        """Return the optimum and the Jacobian (M, P) of the residuals there."""
        optimum, result = sysid.optimize(
            start,
            self._residual_fn(sigma),
            optimizer="mujoco",
            verbose=False,
            max_iters=max_iterations,
            norm=Huber(outlier),
            eps=_DIFFERENCE,
            xtol=tolerance,
            x_scale="jac",
            mu_min=1e-4,
            mu_max=10.0,
            mu_factor=10.0**0.5,
            output=io.StringIO(),
        )
        return optimum, result.jac

    def _residual_fn(self, sigma: np.ndarray) -> Any:
        """Return what `sysid.optimize` takes: one built residual for each excerpt, one after the other."""
        parts = [self._part(k, sigma) for k in range(len(self._excerpts))]

        def residual(x: np.ndarray, parameters: ParameterDict) -> tuple[list, list, list]:
            residuals, predictions, records = [], [], []
            for part in parts:
                one = part(x, parameters)
                residuals += one[0]
                predictions += one[1]
                records += one[2]
            return residuals, predictions, records

        return residual

    def _part(self, k: int, sigma: np.ndarray) -> Any:
        excerpt, simulator = self._excerpts[k], self._simulator
        model = simulator.model
        measured = TimeSeries.from_names(excerpt.time_s, excerpt.readings, model)
        # The simulator averages the held command over its steps itself; sysid only passes this through.
        control = TimeSeries.from_control_names(excerpt.time_s, excerpt.targets(), model)
        start = sysid.create_initial_state(model, excerpt.start_reading, excerpt.start_speed)

        def build_model(parameters: ParameterDict, _: mujoco.MjSpec) -> mujoco.MjModel:
            return simulator.candidate(self.parameters(parameters), excerpt)

        def rollout(
            models: Sequence[mujoco.MjModel], param_dicts: Sequence[ParameterDict], **_: Any
        ) -> list[SystemTrajectory]:
            candidates = [self.parameters(one) for one in param_dicts]
            states = simulator.states(models, candidates, excerpt)
            return [_trajectory(model, one, control) for model, one in zip(models, states, strict=True)]

        def compare(
            parameters: ParameterDict, predicted: TimeSeries, *_: Any, state: np.ndarray, **__: Any
        ) -> tuple[np.ndarray, TimeSeries, TimeSeries]:
            bias = self.parameters(parameters).encoder_bias
            readings = positions_at(state, excerpt.time_s, simulator.step_s) + bias
            difference = ((readings - excerpt.readings) / sigma)[self._used[k]][:, self._moved]
            return difference.ravel(), TimeSeries(excerpt.time_s, readings, measured.signal_mapping), measured

        sequence = sysid.ModelSequences(excerpt.name, simulator.spec, excerpt.name, start, control, measured)
        return sysid.build_residual_fn(
            models_sequences=[sequence],
            build_model=build_model,
            custom_rollout=rollout,
            modify_residual=compare,
            resample_true=False,
            n_threads=1,
        )


def bounds(field: str) -> tuple[float, float]:
    """Return the smallest and largest value of a field with one number a joint."""
    if field == "stiffness_scale":
        return STIFFNESS_SCALE
    return (-UPPER[field] if field == "encoder_bias" else 0.0), UPPER[field]


def _parameter(name: str, value: float, low: float, high: float) -> Parameter:
    margin = 2e-3 * (high - low)
    return Parameter(name, float(np.clip(value, low + margin, high - margin)), low, high)


def _trajectory(model: mujoco.MjModel, states: np.ndarray, control: TimeSeries) -> SystemTrajectory:
    count = model.nv
    sensors = TimeSeries.from_names(states[:, 0], np.ascontiguousarray(states[:, 1 : 1 + count]), model)
    state = TimeSeries(states[:, 0], states)
    return SystemTrajectory(model, control, sensors, states[0], state)
