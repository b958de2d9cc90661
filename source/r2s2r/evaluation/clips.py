"""Moving pictures: arranged, labelled, written as H.264 that every browser plays.

A clip is uint8 of shape (T, H, W, 3) in RGB, N clips of one size are (N, T, H, W, 3).
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Final

import av
import numpy as np
from av.codec.codec import Codec, UnknownCodecError
from av.container import OutputContainer
from av.error import FFmpegError
from av.video.reformatter import ColorRange, Colorspace
from PIL import Image, ImageDraw, ImageFont

from r2s2r.contracts.errors import ConfigError, MissingDependencyError, RecordingError
from r2s2r.contracts.files import whole_file

Colour = tuple[int, int, int]

_ENCODER: Final = "libx264"

# Constant quality: 23 is x264's default; thin lines and small letters keep legible one step finer.
_ENCODER_OPTIONS = {"crf": "21", "preset": "medium"}
_BT709 = 1
"""Code of primaries and transfer curve in H.264, table E-3; players take untagged small clips for another standard."""

_CAPTION_SHARE = 1 / 14
"""Height of caption letters as a share of the picture's height."""

_SMALLEST_FONT = 8


def write_clip(path: Path | str, frames: Iterable[np.ndarray] | np.ndarray, fps: float) -> Path:
    """Write frames as an H.264 MP4 that starts playing before it is loaded; the same frames give the same bytes.

    Args:
        path: File to write, replaced whole.
        frames: T pictures, uint8 (H, W, 3) in RGB, one after the other. An odd last row or column is doubled, since
            H.264 stores colour for 2 x 2 pixels.
        fps: Pictures a second.

    Returns:
        `path`.

    Raises:
        ConfigError: no frames, one of another type or shape, `fps` not positive, or the folder cannot be written.
        MissingDependencyError: PyAV was built without the x264 encoder.
    """
    path = Path(path)
    if not (isfinite(fps) and fps > 0):
        raise ConfigError(f"clip {path}: fps is {fps}, allowed are positive numbers")
    pictures = _checked(frames, f"clip {path}")
    with whole_file(path) as aside, av.open(str(aside), "w", format="mp4", options=_container_options()) as container:
        first = next(pictures)
        stream = _add_stream(container, first.shape, Fraction(fps).limit_denominator(1001))
        for index, picture in enumerate(chain([first], pictures)):
            frame = av.VideoFrame.from_ndarray(_even(picture), format="rgb24")
            frame = frame.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709)
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def read_clip(path: Path | str) -> tuple[np.ndarray, float]:
    """Return the frames of a clip, uint8 (T, H, W, 3) in RGB, and its pictures a second.

    Raises:
        RecordingError: there is no such file, it is damaged or holds no pictures.
    """
    frames: list[np.ndarray] = []
    rate = None
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            rate = stream.average_rate
            frames.extend(_rgb_array(frame) for frame in container.decode(stream))
    except (FFmpegError, OSError, IndexError) as error:
        raise RecordingError(f"clip {path}: missing, damaged or no clip ({error})") from error
    if not frames or rate is None:
        raise RecordingError(f"clip {path}: no pictures in it")
    return np.stack(frames), float(rate)


def grid(clips: np.ndarray, columns: int, gap: int = 2, background: Colour = (255, 255, 255)) -> np.ndarray:
    """Return N clips (N, T, H, W, 3) beside and below each other as one clip (T, H', W', 3), row by row.

    Args:
        clips: uint8 pictures in RGB.
        columns: clips in a row; the last row is filled up with `background`.
        gap: Width of the lines between clips [px].
        background: Colour of lines and filling.

    Raises:
        ConfigError: no clips, another type or shape, or `columns` or `gap` out of range.
    """
    clips = _checked_pictures(clips, "grid", "(N, T, H, W, 3)", ndim=5)
    if columns < 1 or gap < 0:
        raise ConfigError(f"grid: columns {columns} and gap {gap}, allowed are columns >= 1 and gap >= 0")
    count, steps, height, width, _ = clips.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    sheet = np.empty((steps, rows * (height + gap) - gap, columns * (width + gap) - gap, 3), dtype=np.uint8)
    sheet[:] = background
    for index, clip in enumerate(clips):
        row, column = divmod(index, columns)
        top, left = row * (height + gap), column * (width + gap)
        sheet[:, top : top + height, left : left + width] = clip
    return sheet


def border(frames: np.ndarray, rgb: Colour, width: int = 3) -> np.ndarray:
    """Return pictures (..., H, W, 3) with their outermost `width` pixels painted in `rgb`, e.g. for an outcome.

    Raises:
        ConfigError: no pictures, another type or shape, or `width` less than 1 or more than half a picture.
    """
    frames = _checked_pictures(frames, "border", "(..., H, W, 3)").copy()
    if not 1 <= width <= min(frames.shape[-3:-1]) // 2:
        raise ConfigError(f"border: width {width} in pictures of {frames.shape[-3:-1]}, allowed is 1 to half of a side")
    for edge in (slice(None, width), slice(-width, None)):
        frames[..., edge, :, :] = rgb
        frames[..., :, edge, :] = rgb
    return frames


def label(frames: np.ndarray, texts: str | Sequence[str]) -> np.ndarray:
    """Return a clip (T, H, W, 3) with a caption in the lower left corner: white letters on a darkened strip.

    Args:
        frames: uint8 pictures in RGB.
        texts: One text for the whole clip, or one for each of the T pictures. Letters shrink to fit the width; an empty
            text leaves its picture as it is.

    Raises:
        ConfigError: no pictures, another type or shape, or another number of texts.
    """
    frames = _checked_pictures(frames, "label", "(T, H, W, 3)", ndim=4).copy()
    each = [texts] * len(frames) if isinstance(texts, str) else list(texts)
    if len(each) != len(frames):
        raise ConfigError(f"label: {len(each)} texts for {len(frames)} pictures, allowed are one or one for each")
    for picture, text in zip(frames, each, strict=True):
        if text:
            caption = _caption(text, *picture.shape[:2])
            height, width = caption.shape
            corner = picture[-height:, :width]
            # The strip keeps a third of the picture's light, the letters add white to it.
            corner[:] = (corner / 3 * (1 - caption[..., None]) + 255 * caption[..., None]).astype(np.uint8)
    return frames


@lru_cache(maxsize=1024)
def _caption(text: str, height: int, width: int) -> np.ndarray:
    """Return how white each pixel of a caption is, 0..1, for a picture of `height` x `width` pixels."""
    size = max(_SMALLEST_FONT, round(height * _CAPTION_SHARE))
    font = ImageFont.load_default(size)
    too_wide = (font.getlength(text) + size) / width
    if too_wide > 1:
        size = max(_SMALLEST_FONT, int(size / too_wide))
        font = ImageFont.load_default(size)
    strip = Image.new("L", (min(width, round(font.getlength(text)) + size), min(height, round(1.5 * size))))
    ImageDraw.Draw(strip).text((size / 2, strip.height / 2), text, fill=255, font=font, anchor="lm")
    return np.asarray(strip, dtype=np.float64) / 255


def _checked(frames: Iterable[np.ndarray] | np.ndarray, where: str) -> Iterator[np.ndarray]:
    """Return the frames, each checked when it is its turn; the first one at once."""
    pictures = iter(frames)
    try:
        first = next(pictures)
    except StopIteration:
        raise ConfigError(f"{where}: no frames, at least one is needed") from None
    _checked_pictures(first, f"{where}: frame 0", "(H, W, 3)", ndim=3)
    return chain([first], _same_shape(pictures, np.shape(first), where))


def _same_shape(pictures: Iterator[np.ndarray], shape: tuple[int, ...], where: str) -> Iterator[np.ndarray]:
    for index, picture in enumerate(pictures, start=1):
        _checked_pictures(picture, f"{where}: frame {index}", "(H, W, 3)", ndim=3)
        if np.shape(picture) != shape:
            raise ConfigError(f"{where}: frame {index} has shape {np.shape(picture)}, frame 0 has {shape}")
        yield picture


def _checked_pictures(pictures: np.ndarray, where: str, allowed: str, ndim: int | None = None) -> np.ndarray:
    pictures = np.asarray(pictures)
    right_rank = pictures.ndim >= 3 if ndim is None else pictures.ndim == ndim
    if pictures.dtype != np.uint8 or not right_rank or pictures.shape[-1] != 3 or pictures.size == 0:
        raise ConfigError(
            f"{where}: {pictures.dtype} of shape {pictures.shape}, allowed is uint8 {allowed} in RGB and not empty; "
            "dataset.images.to_uint8_hwc converts"
        )
    return pictures


def _container_options() -> dict[str, str]:
    # bitexact leaves out the muxer's version and the time of writing; faststart moves the index to the front.
    return {"movflags": "+faststart", "fflags": "+bitexact"}


def _add_stream(container: OutputContainer, shape: tuple[int, ...], rate: Fraction) -> av.VideoStream:
    try:
        Codec(_ENCODER, "w")
    except UnknownCodecError as error:
        raise MissingDependencyError(
            f"clips: this build of PyAV has no {_ENCODER} encoder; the wheel that `pip install av` brings has it"
        ) from error
    stream = container.add_stream(_ENCODER, rate=rate, options=_ENCODER_OPTIONS)
    height, width = shape[:2]
    stream.height, stream.width = height + height % 2, width + width % 2
    stream.pix_fmt = "yuv420p"
    context = stream.codec_context
    context.thread_count = 1  # the bytes depend on the number of threads, so it must not follow the machine
    context.colorspace, context.color_range = Colorspace.ITU709, ColorRange.MPEG
    context.color_primaries = context.color_trc = _BT709
    return stream


def _even(picture: np.ndarray) -> np.ndarray:
    height, width = picture.shape[:2]
    if height % 2 or width % 2:
        return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    return np.ascontiguousarray(picture)


def _rgb_array(frame: av.VideoFrame) -> np.ndarray:
    # PyAV follows the stream's own colour standard only when told to convert to another; RGB has none of its own.
    return frame.reformat(format="rgb24", dst_colorspace=Colorspace.ITU601).to_ndarray()
