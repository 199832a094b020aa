"""Match what ran with the list of all cases, and summarise it."""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Event = dict[str, Any]
Result = dict[str, Any]
Groups = Mapping[str, Sequence[str]]

OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
PASSED = ("passed", "xpassed")


def case_id(key: Sequence[Any], parameters: str | None) -> str:
    file, function, _ = key
    return f"{file}::{function}" + ("" if parameters is None else f"[{parameters}]")


def match(cases: Iterable[Event], ran: Iterable[Event]) -> Iterator[tuple[Event, Event | None]]:
    """Pair NumPy's cases with those that ran against the target.

    Cases of a function pair by their parameters where both have the same names,
    and else by their place.  Where the parameters could not be had at all, a single
    failing case stands for all.  Without a partner, a case was not collected.
    """
    groups: dict[Any, tuple[list[Event], list[Event]]] = collections.defaultdict(lambda: ([], []))
    for side, entries in enumerate((cases, ran)):
        for entry in entries:
            groups[tuple(entry["key"][:2])][side].append(entry)
    for wanted, found in groups.values():
        names = {e["parameters"]: e for e in found}
        if list(names) == [None] and found[0]["outcome"] in ("failed", "error"):
            yield from ((e, found[0]) for e in wanted)
        elif {e["parameters"] for e in wanted} != names.keys() and len(wanted) == len(found):
            yield from zip(wanted, found, strict=True)
        else:
            yield from ((e, names.get(e["parameters"])) for e in wanted)


def assemble(
    cases: Iterable[Event], events: Sequence[Event], noise: Mapping[str, str], out_of_scope: Mapping[str, str]
) -> list[Result]:
    """The results of one target, one entry for each case but noise."""
    ran = [e for e in events if e["event"] == "result"]
    unloaded = {f"{e['file']}::{e['name']}": e["error"] for e in events if e["event"] == "unloaded"}
    failures = {e["node"]: e["error"] for e in events if e["event"] == "uncollected"}
    results = []
    for case, result in match(cases, ran):
        name = case_id(case["key"], case["parameters"])
        if name in noise or not case["selected"]:
            continue
        rule = out_of_scope.get(name) or out_of_scope.get(name.partition("[")[0])
        entry = {"id": name, "out_of_scope": rule}
        if result is None:
            entry.update(outcome="error", error=_uncollected(name, unloaded, failures))
        else:
            entry.update((k, result[k]) for k in ("outcome", "seconds", "error", "where") if k in result)
        results.append(entry)
    return results


def _uncollected(name: str, unloaded: Mapping[str, str], failures: Mapping[str, str]) -> str:
    for place, error in (*unloaded.items(), *failures.items()):
        if name.startswith(place.removeprefix("numpy/")):
            return f"not collected: {error}"
    return "not collected: the target gives no such parameters"


def write_json(path: Path, **content: Any) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")


def in_scope(results: Iterable[Result]) -> list[Result]:
    return [r for r in results if not r["out_of_scope"]]


def case_rate(results: Sequence[Result]) -> float:
    """Percentage of the cases that passed."""
    passed = sum(r["outcome"] in PASSED for r in results)
    return 100 * passed / len(results) if results else float("nan")


def function_rate(results: Iterable[Result]) -> float:
    """The same with every test function counting once, however many cases it has."""
    tests = collections.defaultdict(list)
    for result in results:
        tests[result["id"].partition("[")[0]].append(result["outcome"] in PASSED)
    rates = [sum(passed) / len(passed) for passed in tests.values()]
    return 100 * sum(rates) / len(rates) if rates else float("nan")


def parts(groups: Groups, optional: set[str], results: Iterable[Result]) -> Iterator[tuple[str, list[Result]]]:
    """Label and results of each file and group, and of the total without optional ones."""
    by_file = collections.defaultdict(list)
    for result in results:
        by_file[result["id"].partition("::")[0]].append(result)
    total: list[Result] = []
    for group, files in groups.items():
        members = [r for file in files for r in by_file[file]]
        for file in files:
            if by_file[file]:
                yield f"  {file.replace('tests/', '')}", by_file[file]
        if members:
            yield group + (" (optional)" if group in optional else ""), members
        if group not in optional:
            total += members
    yield "TOTAL", total


def table(results: Iterable[Result], groups: Groups, optional: set[str]) -> str:
    """Counts per file, group and in total, as text."""
    heading = [f"{o:>8}" for o in OUTCOMES]
    lines = [f"{'in scope':36}{'cases':>7}{''.join(heading)}  cases %  tests % | with out-of-scope"]
    for label, members in parts(groups, optional, results):
        scope = in_scope(members)
        counts = collections.Counter(r["outcome"] for r in scope)
        passed = sum(r["outcome"] in PASSED for r in members)
        lines.append(
            f"{label:36}{len(scope):7}"
            + "".join(f"{counts[o]:8}" for o in OUTCOMES)
            + f"{case_rate(scope):9.1f}{function_rate(scope):9.1f} |"
            f"{passed:7} /{len(members):6} ={case_rate(members):6.1f} %"
        )
    return "\n".join(lines)


def rules(results: Iterable[Result]) -> str:
    """How many cases each rule puts out of scope, as text."""
    counts = collections.Counter(r["out_of_scope"] for r in results if r["out_of_scope"])
    return ", ".join(f"{rule} {count}" for rule, count in counts.most_common())


_VARYING = (
    (re.compile(r"0x[0-9a-f]+"), "0x.."),
    (
        re.compile(r"(Not equal to tolerance|Arrays are not (almost )?equal|Items are not equal|x and y are not).*"),
        r"\1",
    ),
    (re.compile(r"(assert) .*"), r"\1 ..."),
    (re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e[-+]?\d+)?"), "#"),
    (re.compile(r"\[[^\]]*\]|\([^)]*\)"), "(..)"),
)


def cluster(result: Result) -> str:
    """What a failure has in common with others of its kind."""
    text: str = result.get("error") or result["outcome"]
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text[:110]


def clusters(results: Iterable[Result], count: int) -> str:
    """The most frequent kinds of failure, as text."""
    found = collections.defaultdict(list)
    for result in results:
        found[cluster(result)].append(result["id"].partition("[")[0])
    ranked = sorted(found.items(), key=lambda item: -len(set(item[1])))[:count]
    return "\n".join(
        f"{len(set(ids)):6} tests {len(ids):6} cases  {text}\n{'':26}e.g. {ids[0]}" for text, ids in ranked
    )
