"""Corners of a tag to hundredths of a pixel: the whole print is fitted to the picture, not only its corners.

The picture of a tag is its printed modules, bent by perspective and lens, blurred by lens and pixel, and developed by
the camera's tone curve. All of it is fitted at once by Gauss-Newton on the pixels: four corners, four numbers of
second-order bending that leave the corners where they are (a fisheye bends edges), blur, two grey levels with a linear
falloff, and the exponent of the tone curve. The exponent matters: a curve that brightens dark tones moves every edge
into the black, 0.3 px for an ordinary camera and lens, which makes all tags look small. Edges of both directions in
the print tell it from size.
"""

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from r2s2r.contracts.targets import CORNER_SIGNS
from r2s2r.world.tag_prints import MODULES, tag_print

_TEXELS = 12
"""Texels a module in the texture of a print; interpolation blurs it by half a texel, far below a pixel."""

_BORDER = 3
"""White modules around the print in its texture."""

_FINE = 3
"""Samples a pixel edge at which the print is drawn before it is blurred."""

_OUTSIDE = 0.6
"""Modules beyond the black square that are compared; one is white in every print."""

_INK = 0.03
"""Light from ink, and the foot of the tone curve, over light from paper."""

_STEPS = 10
_CONVERGED_PX = 5e-3
_SIGMA_STEP, _TONE_STEP = 0.02, 0.01
_ACROSS = 0.5 * _FINE * np.array([[-1.0, 0.0, 1.0]])
"""Central difference of fine samples, per pixel."""


@dataclass(frozen=True)
class RefinedTag:
    """A tag as fitted."""

    corners: np.ndarray
    """(4, 2) [px], in the order of the contract."""
    bend: np.ndarray
    """(6, 2) how far shapes of second and third order move the print's picture between the corners [px]."""
    residual: float
    """RMS of what the fit leaves over the contrast between paper and ink."""
    contrast: float
    """Paper less ink, in grey levels."""
    blur_sigma_px: float
    """Gaussian blur beside the pixel's own [px]; coarse, see :mod:`r2s2r.world.blur` for a measurement."""
    tone_exponent: float
    """1: values are linear in light; 0.45: an ordinary camera."""
    converged: bool
    """Whether the corners stopped moving."""


def refine_tag(grey: np.ndarray, tag_id: int, corners: np.ndarray) -> RefinedTag | None:
    """Return the tag fitted to the picture from detected corners, None when it is too near the picture's border.

    Args:
        grey: (H, W) float32, values as the camera gave them.
        tag_id: which print.
        corners: (4, 2) [px], within about a pixel.
    """
    fit = _Fit(grey, tag_id, np.asarray(corners, dtype=float))
    return fit.solved() if fit.inside else None


def print_coordinates(pixels: np.ndarray, corners: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Return where pixels (h, w, 2) lie on the print (h, w, 2), in half edges from its middle, y up.

    Args:
        pixels: places in the picture [px].
        corners: (4, 2) of :class:`RefinedTag`.
        bend: (6, 2) of :class:`RefinedTag`.
    """
    back = cv2.getPerspectiveTransform(corners.astype(np.float32), CORNER_SIGNS.astype(np.float32))
    uv = cv2.perspectiveTransform(pixels, back)
    for _ in range(2):
        # The shapes are meant for the print; far outside of it they would run away.
        uv = cv2.perspectiveTransform(pixels - _bending(np.clip(uv, -1.6, 1.6)) @ bend, back)
    return uv


class _Fit:
    """Numbers of the fit: corners 0..7, bend 8..11, blur 12, tone 13, then grey levels 14..17 (linear)."""

    def __init__(self, grey: np.ndarray, tag_id: int, corners: np.ndarray):
        module = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1).max() / MODULES
        low = np.floor(corners.min(axis=0) - module - 3.0).astype(int)
        high = np.ceil(corners.max(axis=0) + module + 4.0).astype(int)
        low, high = np.maximum(low, 0), np.minimum(high, [grey.shape[1], grey.shape[0]])
        self.inside = bool((corners > low + 1.0).all() and (corners < high - 2.0).all())
        self.patch = grey[low[1] : high[1], low[0] : high[0]].astype(np.float64)
        self.low, self.texture = low.astype(float), _texture(tag_id)
        rows, columns = np.mgrid[low[1] : high[1], low[0] : high[0]]
        self.pixels = np.stack([columns, rows], axis=-1).astype(float)
        self.corners, self.bend = corners.copy(), np.zeros((6, 2))
        half, focal = 0.5 * module * MODULES, grey.shape[1] / 3.0
        self.expected = 0.5 * np.array([half**2 / focal] * 2 + [half**3 / focal**2] * 4)
        self.sigma, self.tone = 0.7, 0.45

    def solved(self) -> RefinedTag:
        converged, residual, contrast = False, np.inf, 1.0
        for _ in range(_STEPS):
            uv = print_coordinates(self.pixels, self.corners, self.bend)
            chosen = np.abs(uv).max(axis=-1) < 1.0 + 2.0 * _OUTSIDE / MODULES
            if chosen.sum() < 40:
                break
            step, residual, contrast = self._step(uv, chosen)
            self._apply(step)
            if np.abs(step[:8]).max() < _CONVERGED_PX:
                converged = True
                break
        return self._result(residual / max(contrast, 1e-9), contrast, converged)

    def _result(self, residual: float, contrast: float, converged: bool) -> RefinedTag:
        return RefinedTag(self.corners, self.bend, float(residual), float(contrast), self.sigma, self.tone, converged)

    def _apply(self, step: np.ndarray) -> None:
        step = step * min(1.0, 0.7 / max(np.abs(step[:20]).max(), 1e-12))
        self.corners = self.corners + step[:8].reshape(4, 2)
        self.bend = self.bend + step[8:20].reshape(6, 2)
        self.sigma = float(np.clip(self.sigma + np.clip(step[20], -0.2, 0.2), 0.15, 3.0))
        self.tone = float(np.clip(self.tone + np.clip(step[21], -0.2, 0.2), 0.2, 1.6))

    def _step(self, uv: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return the change of the first 14 numbers, the RMS of the residual and the contrast [grey levels]."""
        light, softer, slope = self._drawn(uv)
        shade = _toned(light, self.tone)
        at, inner = uv[chosen], shade[chosen]
        levels = np.stack([np.ones_like(inner), inner, inner * at[:, 0], inner * at[:, 1]], axis=-1)
        seen = self.patch[chosen]
        gains = _least_squares(levels, seen)
        scale = gains[1] + at @ gains[2:]
        slope = slope[chosen] * (scale * _tone_slope(light[chosen], self.tone))[:, None]
        # When the print moves by d, the picture changes by -slope d. Between the corners d is taken as bilinear.
        share = 0.25 * (1.0 + at[:, :1] * CORNER_SIGNS[:, 0]) * (1.0 + at[:, 1:] * CORNER_SIGNS[:, 1])
        share = np.concatenate([share, _bending(at)], axis=-1)
        moved = -(share[:, :, None] * slope[:, None, :]).reshape(-1, 20)
        blurred = scale * (_toned(softer[chosen], self.tone) - inner) / _SIGMA_STEP
        toned = scale * (_toned(light[chosen], self.tone + _TONE_STEP) - inner) / _TONE_STEP
        jacobian = np.concatenate([moved, blurred[:, None], toned[:, None], levels], axis=-1)
        error = seen - levels @ gains
        rms = float(np.sqrt(np.mean(error**2)))
        # The expected bending bounds what little contrast or few pixels leave open.
        prior = np.zeros((12, jacobian.shape[1]))
        prior[:, 8:20] = np.diag(max(rms, 1e-3 * abs(gains[1])) / np.repeat(self.expected, 2))
        jacobian = np.concatenate([jacobian, prior])
        error = np.concatenate([error, -prior[:, 8:20] @ self.bend.ravel()])
        return _least_squares(jacobian, error)[:22], rms, float(gains[1])

    def _drawn(self, uv: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the print's light in 0..1 on the patch (h, w), the same a little softer, and its slope (h, w, 2)."""
        texel = ((uv * [1.0, -1.0] + 1.0) * 0.5 * MODULES + _BORDER) * _TEXELS - 0.5
        fine = cv2.resize(texel.astype(np.float32), None, fx=_FINE, fy=_FINE, interpolation=cv2.INTER_LINEAR)
        sharp = cv2.remap(self.texture, fine[..., 0], fine[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        soft, softer = (cv2.GaussianBlur(sharp, (0, 0), s * _FINE) for s in (self.sigma, self.sigma + _SIGMA_STEP))
        slope = cv2.merge([cv2.filter2D(soft, -1, kernel) for kernel in (_ACROSS, _ACROSS.T)])
        light, softer, slope = (
            cv2.resize(x, None, fx=1.0 / _FINE, fy=1.0 / _FINE, interpolation=cv2.INTER_AREA).astype(np.float64)
            for x in (soft, softer, slope)
        )
        return light, softer, slope


def _toned(light: np.ndarray, exponent: float) -> np.ndarray:
    """Return grey values in 0..1 of light in 0..1 between ink and paper."""
    low = _INK**exponent
    return ((light * (1.0 - _INK) + _INK).clip(1e-3) ** exponent - low) / (1.0 - low)


def _tone_slope(light: np.ndarray, exponent: float) -> np.ndarray:
    span = (1.0 - _INK) * exponent / (1.0 - _INK**exponent)
    return span * (light * (1.0 - _INK) + _INK).clip(1e-3) ** (exponent - 1.0)


def _bending(uv: np.ndarray) -> np.ndarray:
    """Return the shapes (..., 6) of second and third order that leave the corners where they are."""
    u, v = uv[..., 0], uv[..., 1]
    a, b = 1.0 - u**2, 1.0 - v**2
    return np.stack([a, b, u * a, u * b, v * a, v * b], axis=-1)


def _least_squares(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the solution by normal equations of scaled columns; a trace of damping keeps blind directions still."""
    lengths = np.linalg.norm(columns, axis=0) + 1e-12
    scaled = columns / lengths
    normal = scaled.T @ scaled + 1e-6 * np.eye(columns.shape[1])
    return np.linalg.solve(normal, scaled.T @ values) / lengths


@cache
def _texture(tag_id: int) -> np.ndarray:
    modules = np.pad(tag_print(tag_id).astype(np.float32), _BORDER, constant_values=1.0)
    return np.kron(modules, np.ones((_TEXELS, _TEXELS), dtype=np.float32))
