"""Tests that drive Isaac Lab; without it they are left out. One environment is open at a time: one a module."""

import importlib.util

collect_ignore_glob = ["test_*.py"] if importlib.util.find_spec("isaaclab") is None else []
