"""Camera pictures of a recording: encoded without loss, decoded one by one."""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np

from r2s2r.contracts.errors import RecordingError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
"""First bytes of every PNG picture."""

_END = b"IEND\xaeB`\x82"
"""Last bytes of every PNG picture: its end chunk and that chunk's checksum."""


def encode(rgb: np.ndarray) -> bytes:
    """Return a picture (H, W, 3) uint8 as PNG; weakly compressed, since a camera's noise leaves little to gain.

    Raises:
        RecordingError: another shape or type.
    """
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or rgb.size == 0:
        raise RecordingError(f"picture: received {rgb.dtype} of shape {rgb.shape}, allowed are uint8 of (H, W, 3)")
    import cv2  # here, so that numbers are read without OpenCV

    _, png = cv2.imencode(".png", rgb[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 1])
    return png.tobytes()


def decode(png: bytes) -> np.ndarray:
    """Return the picture (H, W, 3) uint8, RGB, of an encoded one.

    Raises:
        RecordingError: it is no PNG, or damaged.
    """
    import cv2

    bgr = None
    if is_whole(png):
        bgr = cv2.imdecode(np.frombuffer(png, dtype=np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise RecordingError(f"picture of {len(png)} bytes: no whole PNG picture")
    return np.ascontiguousarray(bgr[..., ::-1])


def is_whole(png: bytes) -> bool:
    """Return whether an encoded picture has its beginning and its end."""
    return png.startswith(SIGNATURE) and png.endswith(_END)


def size_of(png: bytes) -> tuple[int, int]:
    """Return width and height [px] without decoding.

    Raises:
        RecordingError: it is no PNG.
    """
    if not png.startswith(SIGNATURE) or len(png) < 24:
        raise RecordingError(f"picture of {len(png)} bytes: no PNG picture")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


class StoredPictures(Sequence[bytes]):
    """Encoded pictures that stay in a file until they are asked for.

    Args:
        path: The file.
        spans: (T, 2) place and size of each picture [bytes].
    """

    def __init__(self, path: Path, spans: np.ndarray):
        self._path = path.absolute()
        self._spans = np.asarray(spans, dtype=np.int64).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> "StoredPictures": ...
    def __getitem__(self, index: int | slice) -> "bytes | StoredPictures":
        """Return one picture, or those of a slice, still in the file.

        Raises:
            RecordingError: the file is gone or shorter than it was.
        """
        if isinstance(index, slice):
            return StoredPictures(self._path, self._spans[index])
        start, size = self._spans[index].tolist()
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                png = file.read(size)
        except OSError as error:
            raise RecordingError(f"{self._path}: picture {index} cannot be read: {error.strerror}") from error
        if len(png) < size:
            raise RecordingError(f"{self._path}: picture {index} is cut off; the file has become shorter")
        return png
