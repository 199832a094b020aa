"""Try the samples on arrays sharded over several processes, which torchrun's launcher starts.

All arrays are cut along their first axis, most of them into uneven parts.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy
import torch

import tnp
from conformance import samples, trials

PROCESSES = 2
TIMEOUT = 60.0  # seconds that a process waits for the others, of which one may have failed
PLAIN = (bool, int, float, complex, str)  # types of results that are not arrays
ROUNDED = {
    "NumPy's loops compute the whole, torch's a part": "arcsinh asinh cbrt cosh expm1 hypot log1p logaddexp sinh sqrt",
    "so they do with AVX-512": "acos acosh arccos arccosh arcsin arctan arctan2 arctanh asin atan atan2 atanh exp exp2 "
    "log log10 log2 logaddexp2 tan tanh",
    "torch rounds otherwise at a vector's end than within": "float_power pow power",
}
"""Reason -> the ufuncs whose results on a part may have other bits than on the whole, on some processors."""
BY_NUMPY = "corrcoef cov einsum fft.hfft fft.irfft fft.irfft2 fft.irfftn linalg.multi_dot linalg.tensordot tensordot"
"""The functions that NumPy computes for small whole arrays, and torch for a part, in another order of sums."""
ROUNDING = {"yes": "rounds", "sends": "sends, rounds"}
ADVICE = re.compile(r"tnp\.distributed\.gather|gather\(|replicate\(|shard ")


def ask(codes: dict[str, str], processes: int = PROCESSES) -> dict[str, str]:
    """Return name -> the `outcome` of its sample, or - if the sample has no array."""
    codes = {name: code for name, code in codes.items() if _arrays(code)}
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        question, answers = Path(folder, "question.json"), Path(folder, "answers.json")
        question.write_text(json.dumps(codes))
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        process = subprocess.run(
            [*command, "-m", __name__, str(question), str(answers)],
            capture_output=True,
            text=True,
            check=False,
            cwd=root,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        if process.returncode:
            raise RuntimeError(process.stderr)
        found: dict[str, str] = json.loads(answers.read_text())
    rounded = {name for names in (*ROUNDED.values(), BY_NUMPY) for name in names.split()} & found.keys()
    return found | {name: ROUNDING.get(found[name], found[name]) for name in rounded}


def _arrays(code: str) -> set[str]:
    """Return the sample's arrays that a call uses."""
    return samples.values(numpy).keys() & {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def outcome(code: str, mesh: Any) -> str:
    """Run a sample on sharded arrays; return what happened.

    "yes": the same bits as in one process. "rounds": the same up to rounding. "sends" before either: processes sent
    parts, and `tnp.transfers` listed them. "raises": an error that says what to do. "layout": a text with shape and
    sharding, without values. "no": anything else.
    """

    sample = trials.sample_function(code, tnp)
    near = samples.values(tnp)
    far = {name: tnp.distributed.shard(value, mesh) for name, value in near.items()}
    tnp.random.seed(0)
    wanted = sample(**near)
    tnp.random.seed(0)
    try:
        with tnp.transfers() as log:
            given = sample(**far)
        exact = _compared(given, wanted, "random" not in code)
    except (ValueError, TypeError, BufferError) as error:
        return "raises" if ADVICE.search(str(error)) else "no"
    except Exception:
        return "no"
    if isinstance(given, str) and "sharding=" in given and not log:
        return "layout"
    if exact is None:
        return "no"
    return "yes" if exact and not log else "sends" * bool(log) + ", " * bool(log and not exact) + "rounds" * (not exact)


def _compared(given: Any, wanted: Any, values: bool) -> bool | None:
    """Whether two results have the same bits; None if they differ by more than rounding."""

    ours = [tnp.asnumpy(tnp.distributed.gather(tnp.asarray(tensor))) for tensor in trials.leaves(given)]
    theirs = [tnp.asnumpy(tnp.asarray(tensor)) for tensor in trials.leaves(wanted)]
    if len(ours) != len(theirs) or (_is_plain(wanted) and given != wanted):
        return None
    exact = True
    for one, other in zip(ours, theirs, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return None
        if not values or one.tobytes() == other.tobytes():
            continue
        if one.dtype.kind not in "fc" or not numpy.allclose(one, other, rtol=1e-12, atol=1e-14, equal_nan=True):
            return None
        exact = False
    return exact


def _is_plain(value: Any) -> bool:
    return type(value) in PLAIN or (isinstance(value, tuple) and all(map(_is_plain, value)))


def main(question: str, answers: str) -> None:
    """Run the samples of a JSON file and write the answers to another; all processes must agree."""

    tnp.distributed.init("cpu", timeout=TIMEOUT)
    mesh = tnp.distributed.mesh(tnp.distributed.size(), "rows")
    found: dict[str, str] = {}
    with trials.quiet():
        for name, code in json.loads(Path(question).read_text()).items():
            mine = outcome(code, mesh)
            every: list[Any] = [None] * tnp.distributed.size()
            torch.distributed.all_gather_object(every, mine)
            found[name] = mine if len(set(every)) == 1 else "no"
    if tnp.distributed.rank() == 0:
        Path(answers).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
