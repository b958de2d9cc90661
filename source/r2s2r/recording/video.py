"""Pictures of a recording's video, by row."""

from collections.abc import Iterator

import av
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.reformatter import Colorspace

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.teleop_recording import Video


def read_pictures(video: Video, count: int) -> np.ndarray:
    """Return the pictures (T, H, W, 3) uint8, RGB, of the first `count` rows.

    A picture belongs to the row whose number it has in the file, whatever the recorder's clock said.

    Raises:
        RecordingError: the file is missing or damaged, its codec is not known to PyAV, or it has not as many pictures.
    """
    first = round(video.begin_s * video.rate_hz)
    pictures: list[np.ndarray] = []
    try:
        with av.open(str(video.path)) as container:
            for number, frame in _decoded(container, video.rate_hz, video.begin_s):
                if number >= first + count:
                    break
                if number >= first:
                    pictures.append(frame.reformat(format="rgb24", dst_colorspace=Colorspace.ITU601).to_ndarray())
    except (FFmpegError, OSError, IndexError) as error:
        raise RecordingError(
            f"{video.path}: missing, damaged or of a codec that PyAV does not know ({error})"
        ) from error
    if len(pictures) < count:
        raise RecordingError(
            f"{video.path}: {len(pictures)} pictures from {video.begin_s:.3f} s on, {count} rows need one each"
        )
    return np.stack(pictures)


def _decoded(container: InputContainer, rate_hz: float, begin_s: float) -> Iterator[tuple[int, av.VideoFrame]]:
    """Yield pictures with their numbers in the file, from some way before `begin_s` on."""
    stream = container.streams.video[0]
    start = stream.start_time or 0
    time_base = stream.time_base
    if time_base is None:
        raise RecordingError(f"{container.name}: the video has no clock")
    if begin_s > 0.0:
        container.seek(start + int(begin_s / time_base), stream=stream, backward=True)
    for frame in container.decode(stream):
        if frame.pts is not None:
            yield round(float((frame.pts - start) * time_base) * rate_hz), frame
