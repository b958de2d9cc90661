"""Real, simulated and rollout observations in one embedding: their plane, distances, probes and coverage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.policy import Observation, Policy
from r2s2r.evaluation.analysis_data import Domain
from r2s2r.evaluation.analysis_material import AnalysisCfg
from r2s2r.evaluation.coverage import Coverage, CoverageCurve, coverage_curve
from r2s2r.evaluation.embeddings import DomainDistance, Projection, domain_distance, halves, thumbnails
from r2s2r.evaluation.probe import Probe, probe

REAL = "real"
"""Name of the real demonstrations in every result."""

OTHER_HALF = "real, other half"
"""Distance between two halves of the real demonstrations: what no difference looks like."""

type Embed = Callable[[Domain], np.ndarray]
"""From a domain to the embeddings (P, D) of its pictured rows."""


@dataclass(frozen=True)
class Embedding:
    """Where the domains lie in one embedding."""

    plane: dict[str, np.ndarray]
    """(P, 2) coordinates of each domain's pictures along the first two components."""
    explained: np.ndarray
    """(2,) share of the variance along each."""
    distances: dict[str, DomainDistance]
    """Of each domain from the real one."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {
            "explained": self.explained.tolist(),
            "distances": {name: distance.to_dict() for name, distance in self.distances.items()},
        }


@dataclass(frozen=True)
class ObservationView:
    """The embeddings of real pictures, of simulated sets and of rollouts in the real ones' principal components."""

    real: Domain
    sets: dict[str, Domain]
    rolled: dict[str, Domain]
    raw: dict[str, np.ndarray]
    """(P, D) of each domain."""
    projection: Projection

    @staticmethod
    def make(embed: Embed, real: Domain, sets: dict[str, Domain], rolled: dict[str, Domain]) -> "ObservationView":
        named = {REAL: real, **sets, **{domain.name: domain for domain in rolled.values()}}
        raw = {name: embed(domain) for name, domain in named.items()}
        # Every data set weighs alike in the plane, whatever its size; rollouts are only drawn into it.
        rows = min(len(raw[name]) for name in (REAL, *sets))
        even = [raw[name][np.linspace(0, len(raw[name]) - 1, rows).astype(int)] for name in (REAL, *sets)]
        return ObservationView(real, sets, rolled, raw, Projection.fit(np.concatenate(even)))

    def embedding(self, cfg: AnalysisCfg) -> Embedding:
        """Return the plane and the distances from the real demonstrations."""
        at = {name: self.projection(rows) for name, rows in self.raw.items()}
        sources = {REAL: _sources(self.real), **{name: _sources(domain) for name, domain in self.sets.items()}}
        sources |= {domain.name: _sources(domain) for domain in self.rolled.values()}
        first, second = halves(sources[REAL], cfg.seed)
        pairs = {OTHER_HALF: (at[REAL][first], at[REAL][second], sources[REAL][first], sources[REAL][second])}
        pairs |= {name: (at[REAL], rows, sources[REAL], sources[name]) for name, rows in at.items() if name != REAL}
        distances = {
            name: domain_distance(*pair, rounds=cfg.rounds, seed=cfg.seed)
            for name, pair in pairs.items()
            if min(len(np.unique(pair[2])), len(np.unique(pair[3]))) > 1
        }
        return Embedding({name: rows[:, :2] for name, rows in at.items()}, self.projection.explained[:2], distances)

    def probes(self, cfg: AnalysisCfg) -> dict[str, Probe]:
        """Return how well each simulated set can be told from the real one."""
        real = self.raw[REAL], _sources(self.real)
        return {
            name: probe(real[0], self.raw[name], real[1], _sources(domain), rounds=cfg.rounds, seed=cfg.seed)
            for name, domain in self.sets.items()
        }

    def curves(self, cfg: AnalysisCfg) -> dict[str, CoverageCurve]:
        """Return the coverage of rollouts by the real demonstrations in this embedding."""
        components = Projection.fit(self.raw[REAL])
        region = Coverage.fit(components(self.raw[REAL]), self.real.episode[self.real.pictured], cfg.coverage)
        return {
            name: covered_over_time(region.ratio(components(self.raw[domain.name])), domain, cfg)
            for name, domain in self.rolled.items()
        }


def embed_pictures(domain: Domain) -> np.ndarray:
    """Return the thumbnails (P, D) of a domain's pictures."""
    return thumbnails(domain.head_rgb, domain.wrist_rgb)


def embed_by(name: str, policy: Policy) -> Embed:
    """Return the embedding of a policy: what its encoders make of an observation.

    Raises:
        ConfigError: the policy does not tell its features.
    """
    features: Callable[[list[Observation]], np.ndarray] | None = getattr(policy, "features", None)
    if features is None:
        raise ConfigError(f"policy {name}: has no features, its latents cannot be analysed; leave it out of --policies")
    return lambda domain: np.asarray(features(domain.observations()), dtype=float)


def _sources(domain: Domain) -> np.ndarray:
    return domain.source[domain.pictured].astype(str)


def covered_over_time(ratio: np.ndarray, domain: Domain, cfg: AnalysisCfg) -> CoverageCurve:
    """Return the coverage of a domain of rollouts over time; `ratio` (N,) is the distance over the threshold."""
    return coverage_curve(ratio <= 1.0, domain.time_s, domain.episode, rounds=cfg.rounds, seed=cfg.seed)
