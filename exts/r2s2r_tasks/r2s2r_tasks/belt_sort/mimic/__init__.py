"""The task as Isaac Lab Mimic drives it: its environment, its source demonstrations, its generation loop."""
