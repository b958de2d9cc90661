"""Isaac Lab tasks of r2s2r; importing this package registers them with Gymnasium."""

from r2s2r_tasks.belt_sort.config import xarm7_allegro  # noqa: F401
