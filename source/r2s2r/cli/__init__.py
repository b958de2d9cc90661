"""The `r2s2r` command: one module and one dataclass a verb, see :mod:`r2s2r.cli.main`."""
