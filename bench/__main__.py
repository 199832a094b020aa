"""``python -m bench``: commands that measure speed, each pairing tnp with its rivals in one run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bench import (
    compiled,
    compiled_functions,
    functions,
    importing,
    latency,
    loop_programs,
    loops,
    memory,
    overhead,
    pi,
    programs,
    scaling,
    sigmoid,
    small,
    transfer,
    transforms,
)

COMMANDS = {
    "sigmoid": sigmoid,
    "small": small,
    "overhead": overhead,
    "compile": compiled,
    "compiled-functions": compiled_functions,
    "functions": functions,
    "import": importing,
    "latency": latency,
    "loop-programs": loop_programs,
    "loops": loops,
    "memory": memory,
    "pi": pi,
    "programs": programs,
    "scaling": scaling,
    "transfer": transfer,
    "transforms": transforms,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        summary = str(module.__doc__).strip().partition(": ")[2]
        module.add_arguments(commands.add_parser(name, help=summary, description=summary))
    options = parser.parse_args(arguments)
    return COMMANDS[options.command].run(options)


if __name__ == "__main__":
    raise SystemExit(main())
