"""Sizes of both cameras' pictures. Nothing heavy is imported here: the command checks before it starts a simulator."""

from r2s2r.contracts.errors import ConfigError

PICTURE_SIZES = (64, 128, 256)
"""Width and height of both pictures [px], chosen with `presets=rgb64` (default), `rgb128` or `rgb256`."""


def check_picture_size(size: int) -> None:
    """Refuse a size that the cameras do not have.

    Raises:
        ConfigError: with the sizes that they have.
    """
    if size not in PICTURE_SIZES:
        raise ConfigError(f"picture_size: received {size}, allowed are {', '.join(map(str, PICTURE_SIZES))}")
