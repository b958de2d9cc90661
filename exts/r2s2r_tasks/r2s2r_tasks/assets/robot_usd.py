"""The composed robot as USD, kept beside its URDF in the cache."""

import importlib.metadata
from pathlib import Path

from r2s2r.contracts.errors import MissingDependencyError, RobotDescriptionError
from r2s2r.robot.cache import whole_folder
from r2s2r.robot.description import RobotDescription


def robot_usd(description: RobotDescription) -> Path:
    """Return the USD of `description`, converted once by urdf-usd-converter.

    Raises:
        MissingDependencyError: urdf-usd-converter is not installed.
        RobotDescriptionError: the converter refuses the URDF.
        ConfigError: the cache cannot be written.
    """
    try:
        version = importlib.metadata.version("urdf-usd-converter")
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingDependencyError("urdf-usd-converter is not installed; pip install 'r2s2r[sim]'") from error
    folder = description.folder / f"usd-{version}"
    path = folder / f"{description.urdf_path.stem}.usda"
    if not path.is_file():
        with whole_folder(folder) as aside:
            _convert(description.urdf_path, aside)
    if not path.is_file():
        raise RobotDescriptionError(f"cache folder {str(folder)!r} has lost its USD; delete it")
    return path


def link_prim_path(description: RobotDescription, link: str) -> str:
    """Return the prim path of `link` below the robot's prim; the converter nests links as the URDF does.

    Raises:
        RobotDescriptionError: there is no such link.
    """
    if link not in description.link_paths:
        known = ", ".join(description.link_paths)
        raise RobotDescriptionError(f"link {link!r} is unknown, known are {known}")
    return f"Geometry/{description.link_paths[link]}"


def _convert(urdf_path: Path, folder: Path) -> None:
    import urdf_usd_converter  # loads USD
    import usdex.core

    usdex.core.activateDiagnosticsDelegate()
    usdex.core.setDiagnosticsLevel(usdex.core.DiagnosticsLevel.eWarning)
    try:
        urdf_usd_converter.Converter().convert(str(urdf_path), str(folder))
    except (ValueError, RuntimeError) as error:
        raise RobotDescriptionError(f"URDF {str(urdf_path)!r} does not convert to USD: {error}") from error
