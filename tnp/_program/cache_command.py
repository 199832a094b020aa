"""``python -m tnp cache``: the machine code of compiled functions that is kept on disk.

Layer: owns the command line; what an entry is belongs to the backend.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence

from backend_torch.graphs import code_cache

_DAY = 86400.0
_MEGABYTE = 2.0**20


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(prog="python -m tnp cache", description=__doc__.partition("\n")[0])
    commands = options.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="print the entries, the oldest first, and where they lie")
    prune = commands.add_parser("prune", help="remove old entries, or all")
    prune.add_argument("--days", type=float, default=math.inf, help="remove what is older (default: none)")
    prune.add_argument("--megabytes", type=float, default=math.inf, help="remove the oldest until so many are left")
    prune.add_argument("--all", action="store_true", help="remove all")
    export = commands.add_parser("export", help="write all entries to an archive")
    export.add_argument("archive", help="a .tar.gz file")
    taken = commands.add_parser("import", help="add the entries of an archive: only from those you trust, it is code")
    taken.add_argument("archive", help="what export wrote, on a machine with the same processor and versions")
    return options


def main(arguments: Sequence[str]) -> None:
    """Run a command; SystemExit with a message if it fails."""
    chosen = parser().parse_args(arguments)
    try:
        if chosen.command == "list":
            _print_list()
        elif chosen.command == "prune":
            size = 0.0 if chosen.all else chosen.megabytes * _MEGABYTE
            print(f"{code_cache.prune(chosen.days * _DAY, size)} entries removed from {code_cache.folder()}")
        elif chosen.command == "export":
            print(f"{code_cache.export(chosen.archive)} entries written to {chosen.archive}")
        else:
            print(f"{code_cache.take_in(chosen.archive)} new entries in {code_cache.folder()}")
    except (OSError, ValueError) as error:
        raise SystemExit(f"python -m tnp cache: {error}") from None


def _print_list() -> None:
    entries = code_cache.entries()
    for entry in entries:
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.made))
        inputs = ", ".join(entry.inputs)
        print(f"{entry.name[:12]}  {made}  {entry.size // 1024:6d} KB  {entry.operations:4d} operations of {inputs}")
    print(f"{len(entries)} entries, {sum(entry.size for entry in entries) // 1024} KB in {code_cache.folder()}")
