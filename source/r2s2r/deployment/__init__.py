"""Whoever drives a cell: control stack, teleoperator, policies. A cell is known by its protocol only."""
