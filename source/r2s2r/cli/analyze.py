"""`r2s2r analyze`: where rollouts are, whom their actions follow, and how far simulation is from the real cell."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.files import writable_folder, write_json


@dataclass(frozen=True)
class Analyze(Verb):
    """Analyse an evaluation: analysis.html with figures, analysis.json with every number.

    Embeddings of observations and distances between domains, coverage of the real demonstrations along rollouts, the
    mixture claim, getting out and getting back, finger use, and a sim/real probe on latents.
    """

    out: Annotated[Path, tyro.conf.Positional]
    """Folder for analysis.html and analysis.json."""

    evaluation: Path
    """Folder of `r2s2r evaluate`, with the rollouts."""

    real: Path
    """Real demonstrations, as a data set."""

    sim: tuple[str, ...]
    """Simulated data sets as NAME=FILE; the set that a policy was co-trained with has the policy's name."""

    policies: tuple[str, ...] = ()
    """Policies of the rollouts as NAME=CHECKPOINT, for their latents; none: only what needs no policy."""

    real_only: str = "real_100"
    """Name among --policies of the one trained on the real demonstrations alone."""

    sim_only: tuple[str, ...] = ()
    """Policies trained on one simulated set alone as NAME=CHECKPOINT with that set's name: with them and the real-only
    policy the mixture claim is made of policies too, not of nearest demonstrations alone."""

    episodes: int = 100
    """Episodes drawn from each data set, real and simulated: equally many, so that none is denser."""

    neighbours: int = 3
    """Real demonstrations that have to come near for a state to be covered."""

    quantile: float = 0.95
    """Share of the real demonstrations' own states that the others cover."""

    seed: int = 0
    """Seed of everything that is drawn."""

    def run(self) -> dict[str, Any]:
        """Analyse, write report and numbers, and return the numbers."""
        self.check_counts("episodes", "neighbours")
        self.check_seed(self.seed)
        if not self.sim:
            raise ConfigError("--sim: received none, at least one NAME=FILE is needed")
        sets = _named("--sim", self.sim)
        policies, sim_only = _named("--policies", self.policies), _named("--sim-only", self.sim_only)
        out = writable_folder(self.out)
        # Loaded here, so that `--help` waits neither for SciPy nor for Matplotlib.
        from r2s2r.contracts.provenance import provenance
        from r2s2r.evaluation.analysis import analyse
        from r2s2r.evaluation.analysis_material import AnalysisCfg
        from r2s2r.evaluation.analysis_report import write_analysis_report
        from r2s2r.evaluation.coverage import CoverageCfg

        cfg = AnalysisCfg(coverage=CoverageCfg(self.neighbours, self.quantile), seed=self.seed)
        material = self._material(sets, policies, sim_only)
        analysis = analyse(material, cfg, _say)
        chosen = {
            "sim": list(sets),
            "policies": list(policies),
            "sim_only": list(sim_only),
            "real_only": self.real_only,
        }
        told = provenance({**chosen, "cfg": cfg, "episodes": self.episodes}, [self.real, *sets.values()], self.seed)
        summary = {**analysis.to_dict(), "provenance": told}
        write_json(out / "analysis.json", summary)
        report = write_analysis_report(out / "analysis.html", analysis, cfg, told)
        print(f"  report: {report}")
        return {**summary, "report": str(report)}

    def _material(self, sets: dict[str, Path], policies: dict[str, Path], sim_only: dict[str, Path]) -> Any:
        from r2s2r.evaluation.analysis_data import read_rollouts, read_set
        from r2s2r.evaluation.analysis_material import Material

        _say("rollouts")
        rollouts = read_rollouts(self.evaluation)
        chunk = rollouts[0].chunks.shape[1]
        _say("real demonstrations and simulated sets")
        read = {
            name: read_set(path, name, chunk=chunk, episodes=self.episodes, seed=self.seed)
            for name, path in {"real": self.real, **sets}.items()
        }
        real = read.pop("real")
        return Material(real, read, rollouts, _loaded(policies), self.real_only, _loaded(sim_only))


def _named(option: str, texts: tuple[str, ...]) -> dict[str, Path]:
    """Return the paths of NAME=PATH by their names."""
    named: dict[str, Path] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path or name in named or name == "real":
            raise ConfigError(f"{option}: received {text!r}, allowed is NAME=PATH, each name once and none `real`")
        named[name] = Path(path)
    return named


def _loaded(checkpoints: dict[str, Path]) -> dict[str, Any]:
    if not checkpoints:
        return {}
    from r2s2r_policies.runtime import FlowPolicy

    return {name: FlowPolicy.load(path) for name, path in checkpoints.items()}


def _say(line: str) -> None:
    print(f"r2s2r analyze: {line}", flush=True)
