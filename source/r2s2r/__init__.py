"""Real2sim2real co-training of dexterous robots: the simulator-free core.

Importing this package loads nothing heavy; each stage is a subpackage of its own.
"""

__version__ = "0.1.0"
