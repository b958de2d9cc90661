"""One distribution from several import roots; everything else is said in pyproject.toml."""

from setuptools import find_packages, setup

ROOTS = {"r2s2r": "source", "r2s2r_tasks": "exts/r2s2r_tasks", "r2s2r_policies": "policies"}
"""Package -> folder that it lies in."""

setup(
    packages=[name for root in ROOTS.values() for name in find_packages(root)],
    package_dir={package: f"{root}/{package}" for package, root in ROOTS.items()},
    package_data={"r2s2r": ["evaluation/templates/*", "py.typed"], "r2s2r_policies": ["configs/*.json"]},
    # Isaac Sim's extension manager reads this file; Isaac Lab without it finds the tasks by the entry point.
    data_files=[("share/r2s2r_tasks/config", ["exts/r2s2r_tasks/config/extension.toml"])],
)
