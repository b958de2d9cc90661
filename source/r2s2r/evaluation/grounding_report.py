"""The report of a grounding: figures, overlays, tracking, residual maps, intervals, what each factor leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.world import FACTORS, World
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.grounding_charts import interval_panels, remaining_gap, residual_map, tracking
from r2s2r.evaluation.report import Report
from r2s2r.evaluation.task_gap import task_gaps
from r2s2r.world.estimate import Estimate, FactorFit
from r2s2r.world.grounding import Grounding
from r2s2r.world.parameters import parameters

_SHOWN_JOINTS = {"arm": (0, 3, 4, 6), "hand": (1, 6, 10, 13)}
"""Joints whose tracking is drawn: of the arm both sizes, of the hand one of each finger."""


@dataclass(frozen=True)
class Overlay:
    """One real picture and what the simulator shows in its place; all (H, W, 3) uint8 of one size."""

    caption: str
    """What is seen."""
    real: np.ndarray
    """As recorded."""
    nominal: np.ndarray
    """Edges of the nominal world's picture over the real one."""
    fitted: np.ndarray
    """Edges of the fitted world's picture over the real one."""


@dataclass(frozen=True)
class GroundingReport:
    """Everything that the report shows."""

    cell: str
    """Name of the cell."""
    grounding: Grounding
    """World and fits."""
    overlays: Sequence[Overlay] = ()
    """Real and simulated pictures."""
    truth: Mapping[str, np.ndarray] | None = None
    """Hidden values by name, of a virtual cell."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Where everything comes from."""

    def write(self, path: Path) -> Path:
        """Write the report to `path` and return it."""
        report = Report("Grounding", f"The simulator fitted to the cell {self.cell}")
        fits = self.grounding.fits
        self._key_figures(report, fits)
        self._pictures(report)
        for name in ("arm", "hand"):
            if name in fits:
                self._tracking(report, name, fits[name])
        for name in ("wrist_cameras", "poses"):
            if name in fits:
                self._residuals(report, name, fits[name])
        self._parameters(report, fits)
        report.section("Where it comes from")
        report.data("provenance", dict(self.provenance))
        return report.write(path)

    def _key_figures(self, report: Report, fits: Mapping[str, FactorFit]) -> None:
        report.section("In short")
        report.key_figures(
            {f"{f.replace('_', ' ')}: {k}": _figure(v) for f, fit in fits.items() for k, v in _headline(fit).items()}
        )
        gaps = task_gaps(fits, self.grounding.world)
        if gaps:
            report.chart(
                svg(remaining_gap(gaps, "mm")),
                "What each factor leaves between simulator and cell on held-out data, as millimetres at the hand: of "
                "cameras the reprojection error where they look, of the arm at the wrist, of the hand at a fingertip.",
            )
        if self.grounding.warnings:
            report.table([{"warning": text} for text in self.grounding.warnings])

    def _pictures(self, report: Report) -> None:
        if not self.overlays:
            return
        report.section("Simulated over real pictures")
        report.text(
            "Edges that the simulator draws over the recorded picture: as recorded, nominal world, fitted world."
        )
        for overlay in self.overlays:
            report.picture(overlay.real, overlay.caption)
            report.picture(overlay.nominal, "nominal world")
            report.picture(overlay.fitted, "fitted world")

    def _tracking(self, report: Report, name: str, fit: FactorFit) -> None:
        report.section(f"Tracking: {name}")
        joints, plots = _SHOWN_JOINTS[name], fit.plots
        names = ARM_JOINTS if name == "arm" else HAND_JOINTS
        columns = list(joints)
        reading, nominal, fitted = (
            plots[f"held_out_{which}"][:, columns] for which in ("reading", "nominal", "fitted")
        )
        chart = tracking(plots["held_out_time_s"], reading, nominal, fitted, [names[j] for j in joints])
        report.chart(svg(chart), "The same commands to both simulators; nothing of this motion was fitted.", wide=True)

    def _residuals(self, report: Report, name: str, fit: FactorFit) -> None:
        world = self.grounding.world
        camera, lens = (
            ("wrist", world.wrist_cameras.camera) if name == "wrist_cameras" else ("head", world.poses.head_camera)
        )
        report.section(f"Residuals: {name.replace('_', ' ')}")
        pixels, residuals = fit.plots[f"{camera}_pixels"], fit.plots[f"{camera}_residuals_px"]
        chart = residual_map(pixels, -residuals, lens.width, lens.height)
        report.chart(svg(chart), "Measured minus predicted tag corners; a pattern would be a model that is wrong.")

    def _parameters(self, report: Report, fits: Mapping[str, FactorFit]) -> None:
        report.section("Parameters")
        truth = "; crosses: the hidden truth" if self.truth is not None else ""
        report.text(f"Fitted minus nominal value with its 95 % interval; hollow: not determined{truth}.")
        nominal = parameters(World.nominal())
        for name in FACTORS:
            if name in fits:
                report.chart(svg(interval_panels(fits[name].estimates, nominal, self.truth)), name, wide=True)
                report.table([row for estimate in fits[name].estimates for row in _rows(estimate)], f"{name}: values")


def _headline(fit: FactorFit) -> dict[str, float]:
    shown = {
        "held_out_rms_px": "held-out error [px]",
        "held_out_rms_rad": "held-out error [rad]",
        "tracking_ratio": "error over nominal's",
    }
    return {label: fit.residuals[name] for name, label in shown.items() if name in fit.residuals}


def _rows(estimate: Estimate) -> list[dict[str, Any]]:
    """Return table rows: each number of a vector; a pose's or rotation's value as one row with its widths."""
    if estimate.kind != "vector":
        value = ", ".join(f"{x:.5g}" for x in estimate.value)
        return [{"name": estimate.name, "value": value, "+-": ", ".join(f"{x:.2g}" for x in estimate.half_width)}]
    pairs = zip(estimate.value, estimate.half_width, strict=True)
    return [
        {"name": f"{estimate.name}[{k}]", "value": f"{v:.5g}", "+-": f"{w:.2g}", "unit": estimate.unit}
        for k, (v, w) in enumerate(pairs)
    ]


def _figure(value: float) -> str:
    return f"{value:.3g}"
