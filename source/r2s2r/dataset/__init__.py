"""Data sets: robomimic HDF5 files, their schema, splits, checks, statistics and recovery."""
