"""Robots that the task is set up for."""
