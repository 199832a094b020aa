"""The coverage table, row by row: every function that torch computes is part of a full graph, or why it is none."""

from __future__ import annotations

import numpy
import pytest
import torch

from conformance import coverage, samples

pytestmark = pytest.mark.host  # conformance.accelerator tries the samples elsewhere

NO_FULL_GRAPH = {
    "the shape of its result, or the way to it, depends on values": (
        "asarray_chkfinite bincount compress extract intersect1d linalg.eig linalg.eigvals "
        "ndarray.compress polydiv roots setdiff1d setxor1d unique_all unique_counts unique_inverse"
    ),
    "its result is a Python value that depends on values": (
        "allclose array_equal array_equiv may_share_memory ndenumerate shares_memory"
    ),
    "exported memory is not there while it is traced": "from_dlpack",
    "settings, in a context variable that Dynamo does not read": "errstate geterr geterrcall seterr seterrcall",
    "Dynamo gives no dtype out of a graph": "min_scalar_type result_type",
    "makes an array of a class derived from ndarray, which Dynamo does not know": "asmatrix bmat matrix",
    "calls the class, whose __new__ is Python's": "ndarray",
    "makes a polynomial, which trims zeros": "poly1d polymul trim_zeros",
}
"""Reason -> names of functions that torch.compile(fullgraph=True) refuses."""

TRACED_BEFORE = {"ndarray", "unique_all", "unique_counts", "unique_inverse"}
"""What torch 2.11 traces and 2.13 refuses."""

TRACED_SINCE = {"geterr", "geterrcall"}
"""What torch 2.13 refuses and 2.15 traces."""

COMPLEX = {"linalg.eig", "linalg.eigvals"}
"""What is real or complex as its values are, before NumPy 2.5."""

REFUSED = {name for names in NO_FULL_GRAPH.values() for name in names.split()}
if torch.__version__ < (2, 12):  # torch compares it as a version
    REFUSED -= TRACED_BEFORE
if torch.__version__ >= (2, 15):
    REFUSED -= TRACED_SINCE
if numpy.lib.NumpyVersion(numpy.__version__) >= "2.5.0":
    REFUSED -= COMPLEX
CODES = samples.samples()
NATIVE = [
    name
    for name, cells in coverage.read().items()
    if cells[0].startswith("torch") and CODES.get(name) and not name.startswith("random.")  # their state is Python's
]


@pytest.mark.walk
@pytest.mark.parametrize("name", NATIVE)
def test_full_graph(name: str) -> None:
    assert coverage.tried(coverage.can_be_traced, CODES[name]) == ("no" if name in REFUSED else "yes")


def test_every_refusal_is_of_a_native_function() -> None:
    assert set(NATIVE) >= REFUSED
