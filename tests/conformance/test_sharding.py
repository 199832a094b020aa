"""Each function of the coverage table on sharded arrays: right, with what is sent recorded, or refused."""

from __future__ import annotations

import numpy
import pytest
import torch

from conformance import coverage, samples, sharding

PLANTED = {
    "yes": "np.exp(x)",
    "rounds": "np.sum(m * 1.1)",
    "sends": "x[::2]",
    "raises": "np.sort(x, axis=0)",
    "layout": "repr(x)",
    "no": "np.asarray(np.distributed.local(x))",
    "-": "np.zeros(3)",
}
"""Answer -> code of which it is the answer."""


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    page = coverage.read()
    codes = {name: code for name, code in samples.samples().items() if code and page[name][0] in coverage.COMPUTED}
    return sharding.ask(codes | PLANTED)  # at once: to ask takes processes of its own


@pytest.fixture(scope="module")
def found(answers: dict[str, str]) -> dict[str, str]:
    return {name: answer for name, answer in answers.items() if name not in PLANTED}


def test_no_answer_is_wrong_in_silence(found: dict[str, str]) -> None:
    assert not {name for name, answer in found.items() if answer == "no"}


def test_the_page_says_so(found: dict[str, str]) -> None:
    page = {name: cells[-1] for name, cells in coverage.read().items()}
    # Whether a product of parts has the bits of the whole one's goes by the processor: the page may say that it rounds.
    rounding = sharding.ROUNDING
    wrong = {name: answer for name, answer in found.items() if page[name] not in (answer, rounding.get(answer))}
    if torch.__version__ < "2.12":  # without rules for the transforms and pinv
        wrong = {name: answer for name, answer in wrong.items() if (name.split(".")[0], answer) != ("fft", "raises")}
        assert {wrong.pop(name) for name in ("linalg.pinv", "polyfit")} == {"raises"}
    assert wrong == {}, "write it: python -m conformance coverage"


def test_elementwise_functions_have_the_bits_of_one_process(found: dict[str, str]) -> None:
    rounding = {name for name, answer in found.items() if "rounds" in answer}
    ufuncs = {
        name for name, value in coverage.names().items() if isinstance(value, numpy.ufunc) and value.signature is None
    }
    assert rounding & ufuncs == {name for names in sharding.ROUNDED.values() for name in names.split()}
    assert {name for name in ufuncs & found.keys() if found[name] == "raises"} == set()


def test_answers_are_found_by_trying(answers: dict[str, str]) -> None:
    assert {name: answers.get(name, "-") for name in PLANTED} == {name: name for name in PLANTED}
