"""Names for open HDF5 things in signatures.

h5py types item access as a union of everything a file may hold, which no type checker can narrow by a path; so these
are `Any` under names that say what is meant.
"""

from typing import Any

File = Any
"""An open `h5py.File`."""

Group = Any
"""An `h5py.Group`."""

Array = Any
"""An `h5py.Dataset`."""

Attributes = Any
"""The `h5py.AttributeManager` of a group."""
