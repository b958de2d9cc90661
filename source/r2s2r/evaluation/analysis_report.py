"""The report of an analysis: what is measured, how, and what came out, figure by figure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r2s2r.evaluation.analysis import NEAREST, PICTURES, Analysis
from r2s2r.evaluation.analysis_charts import (
    colours_of,
    coverage_chart,
    domain_plane,
    finger_chart,
    interval_rows,
    mixture_chart,
    returning_chart,
)
from r2s2r.evaluation.analysis_material import AnalysisCfg
from r2s2r.evaluation.charts import rate_by_group, svg
from r2s2r.evaluation.getting_back import FATES
from r2s2r.evaluation.intervals import interval_text
from r2s2r.evaluation.mixture_claim import MixtureClaim
from r2s2r.evaluation.observation_view import Embedding
from r2s2r.evaluation.probe import CHANCE
from r2s2r.evaluation.report import Report


def write_analysis_report(path: Path, analysis: Analysis, cfg: AnalysisCfg, provenance: Mapping[str, Any]) -> Path:
    """Write the report to `path` and return it."""
    report = Report("Analysis", "Getting out and getting back: where rollouts are, and whom their actions follow")
    colours = colours_of([*analysis.getting_back, *analysis.probes[PICTURES]])
    _embeddings(report, analysis, colours)
    _coverage(report, analysis, cfg, colours)
    _mixture(report, analysis, colours)
    _getting_back(report, analysis, cfg, colours)
    _fingers(report, analysis)
    _probes(report, analysis)
    report.section("Where it comes from")
    report.data("provenance", dict(provenance))
    return report.write(path)


def _embeddings(report: Report, analysis: Analysis, colours: Mapping[str, str]) -> None:
    report.section("Observations of real cell, simulators and rollouts")
    report.text(
        "Principal components of embeddings of what the cameras see (Figure 3a), every data set weighing alike; "
        "crosses are means. `pictures` averages both pictures down to 8 x 8 pixels, and no policy had a hand in "
        "it; `latents` is the mean over a policy's observation tokens, joints included.\n\n"
        "Distances are taken in the first 16 components. The energy distance is 0 for equal distributions; the "
        "Frechet distance takes both for normal ones and is above 0 for finite samples, so that both are to be "
        "held against `real, other half`. Phases of the task weigh as long as they last: a set that moves at "
        "another pace is apart for that too. Intervals are percentile bootstraps over demonstrations or rollouts."
    )
    for name, embedding in analysis.embeddings.items():
        chart = domain_plane(embedding, colours)
        report.chart(svg(chart), f"{name}: real and simulated observations, and rollouts.", wide=True)
        _distances(report, name, embedding)


def _distances(report: Report, name: str, embedding: Embedding) -> None:
    if not embedding.distances:
        return
    energy = {domain: distance.energy for domain, distance in embedding.distances.items()}
    frechet = {domain: distance.frechet for domain, distance in embedding.distances.items()}
    report.chart(svg(interval_rows(energy, "energy distance from real")), f"{name}: energy distance.")
    report.chart(svg(interval_rows(frechet, "Frechet distance from real")), f"{name}: Frechet distance.")


def _coverage(report: Report, analysis: Analysis, cfg: AnalysisCfg, colours: Mapping[str, str]) -> None:
    report.section("Coverage by the real demonstrations")
    report.text(
        f"A state is covered if at least {cfg.coverage.neighbours} demonstrations come as near to it as "
        f"{100 * cfg.coverage.quantile:.0f} % of the demonstrations' own states have so many of the *other* "
        "demonstrations near (each is left out in turn). So a further real demonstration would be covered at the "
        f"dashed line. The space `states` is made of {', '.join(analysis.space)}, each kind counting alike, each "
        "number in standard deviations of the demonstrations; time and phase are no part of it. Of the "
        "embeddings the first 16 components of the real pictures are taken. Shares are of the rollouts that "
        "still run."
    )
    for space, curves in analysis.curves.items():
        if curves:
            chart = coverage_chart(curves, cfg.coverage.quantile, colours)
            report.chart(svg(chart), f"Coverage along rollouts, space: {space}.", wide=True)


def _mixture(report: Report, analysis: Analysis, colours: Mapping[str, str]) -> None:
    report.section("Does the deployed action follow real or simulated behavior?")
    report.text(
        "At each decision the deployed chunk is held against two others: what the real demonstrations and what "
        f"the simulation would do there. With `{NEAREST}` these are the recorded actions of the nearest state of "
        "the real set and of the simulated set that the policy was trained with (all sets for one that has "
        "none), drawn to the same number of episodes so that neither is denser; with `single-domain policies` "
        "they are the answers of the policy trained on real demonstrations alone and of one trained on that set "
        "alone. The claim says: nearer to real where covered, nearer to simulation beyond. The weight is the "
        "real chunk's share in the best mixture of the two; noise in the two draws it towards one half. A policy "
        "that never saw simulation is the control, and only what goes beyond its curve counts: far from all "
        "demonstrations the nearest real action fits no better than a simulated one. Intervals are bootstraps over "
        "rollouts."
    )
    for source, claims in analysis.mixture.items():
        report.chart(svg(mixture_chart(claims, colours)), f"By {source}.", wide=True)
        report.table([_claim_row(name, claim) for name, claim in claims.items()], f"By {source}.")


def _claim_row(name: str, claim: MixtureClaim) -> dict[str, Any]:
    return {
        "policy": name,
        "nearer to real, covered": str(claim.inside),
        "nearer to real, beyond": str(claim.outside),
        "difference": str(claim.difference),
        "decisions": int(claim.decisions.sum()),
        "no difference between the two": claim.alike,
    }


def _getting_back(report: Report, analysis: Analysis, cfg: AnalysisCfg, colours: Mapping[str, str]) -> None:
    report.section("Getting out and getting back")
    report.text(
        f"A rollout leaves the covered region of states when {cfg.min_run} decisions in a row lie beyond its "
        "border, and is back with as many inside. Rates are per minute inside (leaving) and outside (returning), "
        "with exact Poisson intervals that take events as independent. Times outside are Kaplan-Meier estimates: "
        "an excursion that the rollout's end cuts short is censored, whether the rollout ended with success or "
        "not."
    )
    report.table([_rates_row(name, one.to_dict(), one) for name, one in analysis.getting_back.items()])
    survivals = {name: one.time_outside for name, one in analysis.getting_back.items()}
    report.chart(svg(returning_chart(survivals, colours)), "How long excursions last.", wide=True)
    for name, one in analysis.getting_back.items():
        report.chart(svg(rate_by_group(one.by_fate)), f"{name}: success by what became of the rollout.")


def _rates_row(name: str, told: dict[str, Any], one: Any) -> dict[str, Any]:
    median = told["time_outside"]["median_s"]
    return {
        "policy": name,
        "rollouts": told["rollouts"],
        "leaves per rollout": told["leaves_per_rollout"],
        "leaving [1/min]": str(one.leaving),
        "returning [1/min]": str(one.returning),
        "median time outside [s]": "not seen" if median is None else f"{median:.1f}",
        "censored": told["time_outside"]["censored"],
        "began outside": told["began_outside"],
        **{f"success, {fate}": "{}/{}".format(*one.by_fate[fate]) for fate in FATES},
    }


def _fingers(report: Report, analysis: Analysis) -> None:
    report.section("Finger use")
    report.text(
        "How many fingers take part in the closing of the hand (Figure 3b): those that go at least a quarter of "
        "the way of the one that goes furthest, by commanded joint motion in the last 1.5 s before the hand is "
        "lifted. A pinch is the thumb with exactly one other finger."
    )
    report.chart(svg(finger_chart(analysis.fingers)), "Fingers that take part.", wide=True)
    rows = []
    for name, use in analysis.fingers.items():
        told = use.to_dict()
        rows.append(
            {
                "set": name,
                "episodes": told["episodes"],
                "fingers, effective number": told["effective_fingers"],
                "pinches": f"{use.pinches}/{len(use.shares)}",
                "95 %": interval_text(use.pinches, len(use.shares)),
                **{f"{finger}'s share": share for finger, share in (told["shares"] or {}).items()},
            }
        )
    report.table(rows, "The effective number is 1 over the sum of squared shares: 2 for a pinch, 4 for all alike.")


def _probes(report: Report, analysis: Analysis) -> None:
    report.section("Sim/real probe")
    report.text(
        "How often a ridge logistic regression tells simulated from real observations, by the embedding that it "
        f"sees: area under the curve and accuracy (mean of both classes), chance is {CHANCE:g} for both. "
        "Demonstrations are left out of the fit as a whole, five folds; intervals are bootstraps over "
        f"demonstrations with the fits held. `{PICTURES}` says how far the domains can be told apart at all, a "
        "policy's latents how much of it the policy keeps."
    )
    rows = {f"{name}: {view}": probe for view, probes in analysis.probes.items() for name, probe in probes.items()}
    for label, figure in (("area under the curve", "auc"), ("accuracy", "accuracy")):
        shown = {name: getattr(probe, figure) for name, probe in rows.items()}
        report.chart(svg(interval_rows(shown, label, reference=CHANCE)), f"{label.capitalize()}; dashed: chance.")
