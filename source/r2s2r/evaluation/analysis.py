"""All parts of an analysis: embeddings, coverage, mixture claim, getting back, finger use, probe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.policy import Observation, Policy
from r2s2r.evaluation.analysis_data import Domain
from r2s2r.evaluation.analysis_material import AnalysisCfg, Material
from r2s2r.evaluation.coverage import Coverage, CoverageCurve
from r2s2r.evaluation.finger_use import FingerUse, finger_use
from r2s2r.evaluation.getting_back import GettingBack, getting_back
from r2s2r.evaluation.mixture_claim import MixtureClaim, action_scale, mixture_claim, nearest_chunks
from r2s2r.evaluation.observation_view import (
    REAL,
    Embed,
    Embedding,
    ObservationView,
    covered_over_time,
    embed_by,
    embed_pictures,
)
from r2s2r.evaluation.probe import Probe
from r2s2r.evaluation.rollout import Rollout
from r2s2r.evaluation.state_space import StateSpace

PICTURES = "pictures"
"""The embedding that no policy had a hand in."""

OWN_LATENTS = "own latents"
"""Space of the coverage of a policy's rollouts in that policy's latents."""

NEAREST, POLICIES = "nearest demonstrations", "single-domain policies"
"""Where the real and the simulated chunk of the mixture claim are taken from."""


@dataclass(frozen=True)
class Analysis:
    """All results, by embedding, policy or set."""

    embeddings: dict[str, Embedding]
    space: list[str]
    """What the state space is made of."""
    curves: dict[str, dict[str, CoverageCurve]]
    """Coverage over the time of a rollout, by space and policy."""
    mixture: dict[str, dict[str, MixtureClaim]]
    """By where the two chunks are taken from, and policy."""
    getting_back: dict[str, GettingBack]
    fingers: dict[str, FingerUse]
    probes: dict[str, dict[str, Probe]]
    """By embedding and simulated set."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {
            "embeddings": {name: one.to_dict() for name, one in self.embeddings.items()},
            "state_space": self.space,
            "coverage": _dicts(self.curves),
            "mixture": _dicts(self.mixture),
            "getting_back": {name: one.to_dict() for name, one in self.getting_back.items()},
            "finger_use": {name: one.to_dict() for name, one in self.fingers.items()},
            "probe": _dicts(self.probes),
        }


def _dicts(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {outer: {name: one.to_dict() for name, one in inner.items()} for outer, inner in results.items()}


def analyse(material: Material, cfg: AnalysisCfg, say: Callable[[str], None] = lambda _: None) -> Analysis:
    """Return all parts of the analysis; the same for the same material and seed.

    Raises:
        ConfigError: too few demonstrations or rollouts for a part; a policy has no `features`.
    """
    decisions, real = material.decisions, material.real.domain
    sets = {name: one.domain for name, one in material.sets.items()}
    say("states and coverage")
    space = StateSpace.fit(real, [*sets.values(), *decisions.values()])
    region = Coverage.fit(space(real), real.episode, cfg.coverage)
    ratios = {name: region.ratio(space(domain)) for name, domain in decisions.items()}
    curves = {"states": {name: covered_over_time(ratios[name], domain, cfg) for name, domain in decisions.items()}}
    embeddings: dict[str, Embedding] = {}
    probes: dict[str, dict[str, Probe]] = {}
    views: dict[str, tuple[Embed, dict[str, Domain], dict[str, Domain]]] = {PICTURES: (embed_pictures, sets, decisions)}
    for name, policy in material.policies.items():
        own = {name: decisions[name]} if name in decisions else {}
        views[f"latents of {name}"] = (embed_by(name, policy), material.own_sets(name), own)
    for name, (embed, shown, rolled) in views.items():
        say(name)
        view = ObservationView.make(embed, real, shown, rolled)
        embeddings[name], probes[name] = view.embedding(cfg), view.probes(cfg)
        curves.setdefault(PICTURES if name == PICTURES else OWN_LATENTS, {}).update(view.curves(cfg))
    say("mixture claim")
    mixture = {NEAREST: {name: _nearest_claim(material, name, space, ratios[name], cfg) for name in decisions}}
    mixture[POLICIES] = {
        name: _policies_claim(material, name, ratios[name], cfg)
        for name in decisions
        if material.real_only in material.policies and name in material.sim_only and name != material.real_only
    }
    return Analysis(
        embeddings,
        space.names,
        curves,
        {source: claims for source, claims in mixture.items() if claims},
        {
            name: _getting_back(material.by_policy[name], ratios[name], domain, cfg)
            for name, domain in decisions.items()
        },
        _fingers(material),
        probes,
    )


def _nearest_claim(
    material: Material, name: str, space: StateSpace, ratio: np.ndarray, cfg: AnalysisCfg
) -> MixtureClaim:
    decisions, real = material.decisions[name], material.real.domain
    own = list(material.own_sets(name).values())
    # Of several sets every n-th episode, so that together they are no denser than one.
    rows = [np.unique(one.episode, return_inverse=True)[1] % len(own) == k for k, one in enumerate(own)]
    states = space(decisions)
    simulated = nearest_chunks(
        states,
        np.concatenate([space(one)[chosen] for one, chosen in zip(own, rows, strict=True)]),
        np.concatenate([one.chunks[chosen] for one, chosen in zip(own, rows, strict=True)]),
    )
    return mixture_claim(
        decisions.chunks,
        nearest_chunks(states, space(real), real.chunks),
        simulated,
        ratio,
        decisions.episode,
        action_scale(real.chunks),
        rounds=cfg.rounds,
        seed=cfg.seed,
    )


def _policies_claim(material: Material, name: str, ratio: np.ndarray, cfg: AnalysisCfg) -> MixtureClaim:
    decisions = material.decisions[name]
    count = min(cfg.asked_states, len(decisions))
    rows = np.sort(np.random.default_rng(cfg.seed).choice(len(decisions), count, replace=False))
    seen = decisions.observations(rows)
    real = _answers(material.policies[material.real_only or ""], seen, cfg.seed)
    simulated = _answers(material.sim_only[name], seen, cfg.seed)
    if not decisions.chunks.shape[1] == real.shape[1] == simulated.shape[1]:
        lengths = f"{decisions.chunks.shape[1]}, {real.shape[1]} and {simulated.shape[1]}"
        raise ConfigError(
            f"mixture: chunks of {name} and the two policies have {lengths} actions, allowed is one length"
        )
    scale = action_scale(material.real.domain.chunks)
    return mixture_claim(
        decisions.chunks[rows],
        real,
        simulated,
        ratio[rows],
        decisions.episode[rows],
        scale,
        rounds=cfg.rounds,
        seed=cfg.seed,
    )


def _answers(policy: Policy, observations: list[Observation], seed: int) -> np.ndarray:
    """Return the chunks (N, H, 25) of a policy that meets each observation afresh, with the same random numbers."""
    chunks = []
    for observation in observations:
        policy.reset(seed)
        chunks.append(policy.act(observation))
    return np.stack(chunks)


def _getting_back(rollouts: Sequence[Rollout], ratio: np.ndarray, decisions: Domain, cfg: AnalysisCfg) -> GettingBack:
    ends = np.flatnonzero(np.diff(decisions.episode)) + 1
    return getting_back(
        np.split(ratio <= 1.0, ends),
        np.split(decisions.time_s, ends),
        [bool(rollout.meta["success"]) for rollout in rollouts],
        cfg.min_run,
    )


def _fingers(material: Material) -> dict[str, FingerUse]:
    use = {REAL: finger_use(material.real.actions)}
    use |= {f"{name}, data": finger_use(one.actions) for name, one in material.sets.items()}
    rolled = material.by_policy.items()
    return use | {f"{name}, rollouts": finger_use(r.actions for r in rollouts) for name, rollouts in rolled}
