"""Fits of the world to a cell: cameras, poses, arm, hand."""
