"""Who may import whom: docs/architecture.md in executable form.

What loads at run time is checked in fresh interpreters, what is written in the source by its syntax tree.
"""

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "source" / "r2s2r"
TASKS = ROOT / "exts" / "r2s2r_tasks" / "r2s2r_tasks"
POLICIES = ROOT / "policies" / "r2s2r_policies"

STAGES = (
    "contracts",
    "robot",
    "control",
    "recording",
    "world",
    "behavior",
    "replay",
    "visual",
    "dataset",
    "evaluation",
    "deployment",
    "generation",
    "study",
    "cli",
)
"""The one way through the house: a stage imports itself and earlier ones."""

MAY_IMPORT: dict[str, set[str]] = {stage: set(STAGES[: i + 1]) for i, stage in enumerate(STAGES)}
# The virtual cell stands beside the chain: what it needs of the robot, but nothing that is fitted to it.
MAY_IMPORT["cell"] = {"contracts", "robot", "control", "cell"}
MAY_IMPORT["cli"].add("cell")

BANNED = ("isaaclab", "pxr", "rclpy", "robomimic")
"""Never in the core, neither at the top of a module nor inside a function; isaaclab stands for its family."""

IMPORT_ALL = """
import importlib, json, sys
findings = {}
for name in json.loads(sys.argv[1]):
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:  # an optional part that is not installed here
        if error.name.startswith("r2s2r"):
            raise
    findings[name] = sorted(set(sys.modules) - before)
print(json.dumps(findings))
"""


def _modules(package: Path, pattern: str = "*.py") -> list[str]:
    """Return the dotted names of the modules in the folder `package`, of the core or of the tasks, by file name."""
    top = TASKS if package.is_relative_to(TASKS) else CORE
    files = sorted(file.relative_to(top.parent).with_suffix("") for file in package.rglob(pattern))
    return [".".join(part for part in file.parts if part != "__init__") for file in files]


def _loaded_by(modules: list[str]) -> dict[str, list[str]]:
    """Import `modules` one after the other in a fresh interpreter: {module: what it loaded first}."""
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, json.dumps(modules)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _imports(file: Path, module_level_only: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of each import written in `file`; relative ones are not used in this project."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body if module_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_importing_the_package_loads_nothing():
    assert _loaded_by(["r2s2r"]) == {"r2s2r": ["r2s2r"]}


def test_contracts_load_only_numpy_and_the_standard_library():
    theirs = ["numpy", "numpy.random"]  # and what they bring
    loaded = _loaded_by([*theirs, *_modules(CORE / "contracts")])
    for name in theirs:
        del loaded[name]
    allowed = {"r2s2r", "numpy", *sys.stdlib_module_names}
    foreign = {name: [m for m in new if m.partition(".")[0] not in allowed] for name, new in loaded.items()}
    assert {name: new for name, new in foreign.items() if new} == {}


def test_no_module_of_the_core_loads_a_simulator_ros_or_a_trainer():
    guilty = {}
    newton_loaded = False
    for name, new in _loaded_by(_modules(CORE)).items():
        tops = {module.partition(".")[0] for module in new}
        newton_loaded |= "newton" in tops
        # Newton itself imports pxr when it is installed.
        found = [top for top in tops if top.startswith(BANNED) and not (top == "pxr" and newton_loaded)]
        if found:
            guilty[name] = found
    assert guilty == {}


def test_no_source_of_the_core_imports_a_simulator_ros_or_a_trainer():
    guilty = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in CORE.rglob("*.py")
        for line, name in _imports(file)
        if name.startswith(BANNED)
    ]
    assert guilty == []


@pytest.mark.parametrize("package", ["r2s2r_tasks", "r2s2r_policies"])
def test_only_the_command_reaches_into_other_packages_and_only_when_it_runs(package):
    guilty = []
    for file in CORE.rglob("*.py"):
        in_cli = file.is_relative_to(CORE / "cli")
        for line, name in _imports(file, module_level_only=in_cli):
            if name.partition(".")[0] == package:
                guilty.append(f"{file.relative_to(ROOT)}:{line}: {name}")
    assert guilty == []


NOT_IN_POLICIES = ("isaaclab", "pxr", "rclpy", "r2s2r_tasks")
"""A policy trains and runs where neither a simulator nor ROS is installed."""


def test_no_source_of_the_policies_imports_a_simulator_ros_or_a_cell():
    files = list(POLICIES.rglob("*.py"))
    assert files
    guilty = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in files
        for line, name in _imports(file)
        if name.startswith(NOT_IN_POLICIES) or f"{name}.".startswith(("r2s2r.cell.", "r2s2r.cli."))
    ]
    assert guilty == []


@pytest.mark.parametrize("stage", sorted(MAY_IMPORT))
def test_a_stage_imports_no_later_one(stage):
    guilty = []
    for file in (CORE / stage).rglob("*.py"):
        for line, name in _imports(file):
            parts = name.split(".")
            if parts[0] == "r2s2r" and len(parts) > 1 and parts[1] in MAY_IMPORT and parts[1] not in MAY_IMPORT[stage]:
                guilty.append(f"{file.relative_to(ROOT)}:{line}: {name}")
    assert guilty == []


SEES_THE_TRUTH = ("cell/*.py", "cli/*bench*.py", "cli/*report*.py")
"""Modules of the core that may look at a virtual cell's hidden world."""


def test_nothing_that_is_fitted_or_trained_imports_the_virtual_cell():
    beside = (CORE / "cell", CORE / "cli")
    guilty = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in CORE.rglob("*.py")
        if not any(file.is_relative_to(folder) for folder in beside)
        for line, name in _imports(file)
        if f"{name}.".startswith("r2s2r.cell.")
    ]
    guilty += [str(file) for file in TASKS.rglob("*.py") if "r2s2r.cell" in file.read_text(encoding="utf-8")]
    assert guilty == []


def test_the_hidden_truth_is_read_only_by_benches_and_reports():
    allowed = {file for pattern in SEES_THE_TRUTH for file in CORE.glob(pattern)}
    guilty = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for package in (CORE, TASKS)
        for file in package.rglob("*.py")
        if file not in allowed
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr == "hidden")
        or (isinstance(node, ast.Constant) and node.value == "hidden")  # getattr(cell, "hidden")
    ]
    assert guilty == []


def test_every_folder_of_the_core_is_a_known_stage():
    folders = {file.parent.relative_to(CORE).parts[0] for file in CORE.rglob("*.py") if file.parent != CORE}
    assert folders <= set(MAY_IMPORT)


NOT_IN_CONFIGS = ("scipy", "pxr")
"""Isaac Lab reads the configuration of every task before a simulator starts, and a USD library loaded before that is
the wrong one under Isaac Sim."""


def test_isaac_lab_configs_import_neither_scipy_nor_usd():
    guilty = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in TASKS.rglob("*_cfg.py")
        for line, name in _imports(file, module_level_only=True)
        if name.partition(".")[0] in NOT_IN_CONFIGS
    ]
    assert guilty == []


@pytest.mark.skipif(importlib.util.find_spec("isaaclab") is None, reason="isaaclab comes with the extra 'sim'")
def test_isaac_lab_configs_load_neither_scipy_nor_usd():
    configs = _modules(TASKS, "*_cfg.py")
    loaded = _loaded_by(configs)
    assert set(configs) <= {module for new in loaded.values() for module in new}, "a configuration was not imported"
    guilty = {name: [m for m in new if m.partition(".")[0] in NOT_IN_CONFIGS] for name, new in loaded.items()}
    assert {name: new for name, new in guilty.items() if new} == {}


@pytest.mark.skipif(importlib.util.find_spec("isaaclab") is None, reason="isaaclab comes with the extra 'sim'")
def test_the_task_alone_needs_nothing_of_the_extra_ground():
    """`pip install r2s2r[sim]` brings neither YAML files nor tag detectors."""
    (loaded,) = _loaded_by(["r2s2r_tasks.belt_sort.belt_sort_env"]).values()
    assert "r2s2r_tasks.belt_sort.belt_sort_env" in loaded
    assert [m for m in loaded if m.partition(".")[0] in ("ruamel", "pupil_apriltags", "cma", "mcap")] == []
