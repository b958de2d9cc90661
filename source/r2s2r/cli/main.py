"""Entry point of the `r2s2r` command.

Only the module of the verb asked for is imported, so that `r2s2r inspect` does not wait for a simulator.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import r2s2r
from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, MissingDependencyError, R2S2RError, choose
from r2s2r.contracts.files import writable_folder, write_json

EXIT_ERROR = 2
"""Status of an error that the user can mend, and of a wrong command line."""
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as a shell reports it."""
EXIT_BROKEN_PIPE = 141
"""128 + SIGPIPE, as a shell reports it."""


@dataclass(frozen=True)
class VerbEntry:
    """Where a verb is implemented, without importing it."""

    target: str
    """`module:name` of a :class:`Verb` dataclass, or of a union of them (then tyro makes subcommands)."""
    summary: str
    """One line for `r2s2r --help`."""
    requirement: str
    """What to install for it, named when an import fails."""


VERBS = {
    "demo": VerbEntry("r2s2r.cli.demo:Demo", "the whole loop, small, with an HTML report", "r2s2r[sim]"),
    "data": VerbEntry("r2s2r.cli.data:Data", "the real recordings: source, licence, checksum, place", "r2s2r"),
    "retarget": VerbEntry("r2s2r.cli.retarget:Retarget", "a human recording -> robot motion and a clip", "r2s2r[sim]"),
    "record": VerbEntry(
        "r2s2r.cli.record:Record", "drive a cell: its calibration, or demonstrations", "r2s2r[sim,ground]"
    ),
    "ground": VerbEntry(
        "r2s2r.cli.ground:Ground", "a recording of a cell -> world.yaml and a report", "r2s2r[sim,ground]"
    ),
    "generate": VerbEntry(
        "r2s2r.cli.generate:Generate", "world x behavior -> data set, in parallel; resumable", "r2s2r[sim,ground]"
    ),
    "train": VerbEntry("r2s2r.cli.train:Train", "learn a policy from real and simulated data", "r2s2r[train]"),
    "evaluate": VerbEntry(
        "r2s2r.cli.evaluate:Evaluate", "policies x conditions x trials -> table, intervals, films", "r2s2r[sim]"
    ),
    "analyze": VerbEntry(
        "r2s2r.cli.analyze:Analyze", "embeddings, coverage and whom rollouts follow -> a report", "r2s2r[sim,train]"
    ),
    "study": VerbEntry(
        "r2s2r.cli.study:Study", "the paper's table on a virtual cell, as one resumable run", "r2s2r[sim,ground,train]"
    ),
    "export": VerbEntry("r2s2r.cli.export:Export", "a data set for LeRobot or GR00T", "r2s2r[sim]"),
    "validate": VerbEntry(
        "r2s2r.cli.validate:Validate", "check a data set against the schema and the trainer", "r2s2r"
    ),
    "inspect": VerbEntry("r2s2r.cli.inspect:Inspect", "what a data set or a cell log holds", "r2s2r"),
    "bench": VerbEntry("r2s2r.cli.bench:Bench", "paired benchmarks, each printing its ratio", "r2s2r[sim]"),
}
"""Every verb by its name on the command line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        argv: arguments behind the program's name; `sys.argv[1:]` if None.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
        return status
    except R2S2RError as error:
        # The message may quote one of several lines; the promise is one line.
        print(f"r2s2r: error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("r2s2r: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader is gone (`r2s2r inspect FILE | head`). Python flushes once more at exit, so give it somewhere to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview())
        return 0 if arguments else EXIT_ERROR
    if arguments[0] == "--version":
        print(f"r2s2r {r2s2r.__version__}")
        return 0
    name = choose("verb", arguments[0], list(VERBS))
    try:
        return _run_verb(name, arguments[1:])
    except ModuleNotFoundError as error:
        if (error.name or "r2s2r").partition(".")[0].startswith("r2s2r"):
            raise
        raise MissingDependencyError(
            f"{name}: module {error.name!r} is not installed; bring it by: pip install '{VERBS[name].requirement}'"
        ) from error


def _run_verb(name: str, arguments: list[str]) -> int:
    import tyro  # here, so that the overview and the version need no parser

    module, _, attribute = VERBS[name].target.partition(":")
    verb_type: Any = getattr(importlib.import_module(module), attribute)
    try:
        verb: Verb = tyro.cli(verb_type, args=arguments, prog=f"r2s2r {name}", description=None)
    except SystemExit as exit_request:  # tyro has printed the help (0) or what is wrong with the command line (2)
        return int(exit_request.code or 0)
    if verb.json is not None:
        _check_summary_path(verb.json)
    summary = verb.run()
    status = int(summary.pop("exit_code", 0))
    if verb.json is not None:
        write_json(verb.json, summary)
    return status


def _check_summary_path(path: Path) -> None:
    """Refuse a summary file that cannot be written before hours of work, not after."""
    if path.is_dir():
        raise ConfigError(f"--json: {str(path)!r} is a folder; give the path of a file")
    writable_folder(path.parent)


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {name:<{width}}  {entry.summary}" for name, entry in VERBS.items()]
    return "\n".join(
        ["usage: r2s2r VERB [options]", "", "Real2sim2real co-training of dexterous robots.", "", "verbs:"]
        + lines
        + ["", "Each verb explains its options: r2s2r VERB --help. Each writes its summary with --json FILE."]
    )


if __name__ == "__main__":
    sys.exit(main())
