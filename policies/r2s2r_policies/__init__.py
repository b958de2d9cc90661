"""Policies of the sorting task, learned with robomimic: data, networks, training and inference.

Importing the package registers the algorithm `flow_matching` with robomimic.
"""

import contextlib
import io

# robomimic prints advice on a file of macros, which nothing here needs, into whatever a command prints.
with contextlib.redirect_stdout(io.StringIO()):
    import robomimic.macros as _macros  # noqa: F401

from r2s2r_policies import algo as algo
