"""Trials, how they are judged, and what a report shows."""
