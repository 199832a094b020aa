"""tnp.fft does what numpy.fft does: values, dtypes, shapes and exceptions; and it can be differentiated."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, Raised, agrees, assert_same, compare, ours, outcome, sample

COMPLEX_LINES = ["fft", "ifft"]
REAL_LINES = ["rfft", "ihfft"]
HALF_LINES = ["irfft", "hfft"]
LINES = COMPLEX_LINES + REAL_LINES + HALF_LINES
GRIDS = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
NORMS = [None, "backward", "ortho", "forward"]
SINGLE = {"float16", "float32", "complex64"}


def tolerance(dtype: str) -> float:
    return 2e-2 if dtype == "float16" else 1e-4 if dtype in SINGLE else 1e-11


def is_real(name: str) -> bool:
    return name.startswith("rfft") or name == "ihfft"


def test_names_and_signatures() -> None:
    assert set(tnp.fft.__all__) == set(np.fft.__all__)
    for name in np.fft.__all__:
        signature = inspect.signature(getattr(tnp.fft, name))
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "dtype"]
        theirs = inspect.signature(getattr(np.fft, name))
        assert str(signature.replace(parameters=bare, return_annotation=signature.empty)) == str(theirs), name


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", LINES)
def test_along_one_axis(name: str, dtype: str) -> None:
    for n in (None, 1, 4, 7, 12):
        for axis in (-1, 0, 1, 5):
            for norm in NORMS:
                compare(
                    lambda xp, options=(n, axis, norm): getattr(xp.fft, name)(sample(xp, (5, 6), dtype), *options),
                    rtol=tolerance(dtype),
                    atol=tolerance(dtype) * 100 if dtype == "float16" else 100 * tolerance(dtype),
                    may_raise=(IndexError, TypeError),
                )


@pytest.mark.parametrize("name", LINES)
def test_every_length(name: str) -> None:
    for n in [*range(1, 33), 97, 128, 210, 243, 509, 1000, 1009, 2310, 4099]:
        for dtype in ("float32", "float64", "complex128"):
            if dtype == "complex128" and is_real(name):
                continue
            compare(
                lambda xp, n=n, dtype=dtype: getattr(xp.fft, name)(sample(xp, (n,), dtype)),
                atol=(1e-4 if dtype == "float32" else 1e-12) * n,
                may_raise=ValueError,
            )


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", GRIDS)
def test_over_several_axes(name: str, dtype: str) -> None:
    cases: list[tuple[Any, Any]] = [
        (None, None),
        (None, (0, 1)),
        (None, (1,)),
        (None, (2, 0)),
        (None, (1, 1)),
        ((3, 5), (0, 2)),
        ((6, -1), (1, 0)),
        ((2, 2, 3), (0, 1, 2)),
        ((4, 5), (1, 1)),
        ((3, 4), None),
        ((3, None), (0, 1)),
        ((3,), (0, 1)),
        ((3, 0), (0, 1)),
        (None, (0, 3)),
        (None, ()),
    ]
    for s, axes in cases:
        for norm in NORMS if s == (3, 5) else (None,):
            compare(
                lambda xp, options=(s, axes, norm): getattr(xp.fft, name)(sample(xp, (3, 4, 5), dtype), *options),
                rtol=tolerance(dtype),
                atol=tolerance(dtype) * 100,
                may_raise=(IndexError, TypeError, ValueError),
            )


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_drawn_grids(shape: tuple[int, ...], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["fftn", "ifftn", "rfftn", "irfftn"]))
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=4))
    s = data.draw(st.none() | st.lists(st.integers(-1, 7), min_size=len(axes), max_size=len(axes)))
    dtype = "float64" if is_real(name) else "complex128"
    compare(lambda xp: getattr(xp.fft, name)(sample(xp, shape, dtype), s, axes), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LINES + GRIDS)
def test_empty_stacks(name: str) -> None:
    """Zeros: NumPy's irfft reads the first element of an axis without any, and gives what it finds there."""
    for shape in [(0, 4), (4, 0), (0,), (2, 0, 3), (0, 0)]:
        options: list[Any] = [(None, None)] if name.endswith("n") else [(None,)]
        options += [(4, 0), (4, -1)] if name in LINES else [((4, 3), (0, -1))]
        for each in options:
            expected = outcome(lambda xp, o=each, s=shape: getattr(xp.fft, name)(xp.zeros(s), *o), np)
            if isinstance(expected, np.ndarray):
                expected = np.zeros_like(expected)
            assert_same(expected, outcome(lambda xp, o=each, s=shape: getattr(xp.fft, name)(xp.zeros(s), *o), tnp))


@pytest.mark.parametrize("name", LINES + GRIDS)
def test_errors(name: str) -> None:
    wrong: list[Callable[[Any], Any]] = [
        lambda xp: getattr(xp.fft, name)(xp.ones((2, 3)), norm="wrong"),
        lambda xp: getattr(xp.fft, name)(xp.ones(())),
        lambda xp: getattr(xp.fft, name)(xp.ones((2, 3), "complex64")),
        lambda xp: getattr(xp.fft, name)(xp.ones((2, 2)), out=xp.empty(7, complex)),
        lambda xp: getattr(xp.fft, name)(
            xp.ones((2, 2)), 0 if name in LINES else (0, 0), -1 if name in LINES else (0, 1)
        ),
    ]
    for function in wrong:
        if name in ("hfft", "ifft2", "irfft2") and function is wrong[3]:
            continue  # NumPy forgets their out
        compare(function, atol=1e-6, may_raise=(IndexError, TypeError, ValueError))
    with pytest.raises(ValueError, match=r"Invalid number of FFT data points \(0\) specified\."):
        wrong[4](tnp)


@pytest.mark.parametrize("name", LINES + GRIDS)
def test_out(name: str) -> None:
    x = sample(np, (4, 6), "float32")
    expected = getattr(np.fft, name)(x)
    for dtype in {expected.dtype, np.dtype(np.complex128)}:
        out = tnp.zeros(expected.shape, dtype)
        assert getattr(tnp.fft, name)(tnp.asarray(x), out=out) is out
        np.testing.assert_allclose(tnp.asnumpy(out), expected, atol=1e-4)
    if expected.dtype.kind == "c":
        with pytest.raises(TypeError, match="same_kind"):
            getattr(tnp.fft, name)(tnp.asarray(x), out=tnp.zeros(expected.shape))
    with pytest.raises(TypeError):
        getattr(tnp.fft, name)(tnp.asarray(x), out="x")


def test_out_may_be_the_input() -> None:
    x = sample(np, (5, 8), "complex128")
    y = tnp.asarray(x.copy())
    assert tnp.fft.fft(y, axis=0, out=y) is y
    np.testing.assert_allclose(tnp.asnumpy(y), np.fft.fft(x, axis=0), atol=1e-12)


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("name", LINES + GRIDS)
def test_other_layouts(name: str) -> None:
    layouts: list[Callable[[Any], Any]] = [lambda x: x.T, lambda x: x[::2, 1:], lambda x: x[:, ::-1], lambda x: x[:1]]
    for layout in layouts:
        compare(
            lambda xp, layout=layout: getattr(xp.fft, name)(layout(sample(xp, (6, 8), "float64"))),
            rtol=1e-10,
            atol=1e-12,
        )
    for dtype in ("float64", "int32"):
        compare(
            lambda xp, dtype=dtype: getattr(xp.fft, name)(xp.broadcast_to(sample(xp, (8,), dtype), (5, 8))),
            rtol=1e-10,
            atol=1e-12,
        )
    compare(
        lambda xp: getattr(xp.fft, name)(xp.conj(sample(xp, (4, 4), "complex128"))),
        rtol=1e-10,
        atol=1e-12,
        may_raise=TypeError,
    )


@agrees(rtol=1e-10, atol=1e-12)
def test_imaginary_parts_that_no_real_signal_has(xp: Any) -> Any:
    x = sample(xp, (4, 5), "complex128")
    return xp.fft.irfft(x), xp.fft.irfft(x, 7), xp.fft.hfft(x, axis=0), xp.fft.irfftn(x), xp.fft.irfft2(x, (5, 6))


def test_results_have_no_lazy_conjugate() -> None:
    for x in (tnp.fft.ihfft([1.0, 2.0]), tnp.fft.fft([1.0, 2.0])):
        assert not x.tensor.is_conj()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, np.int64(5)])
def test_frequencies(n: int) -> None:
    for d in (1.0, 0.1, 2, -3.0):
        compare(lambda xp, d=d: (xp.fft.fftfreq(n, d), xp.fft.rfftfreq(n, d)))
    assert tnp.fft.fftfreq(4, dtype="float32").dtype == np.float32
    assert tnp.fft.rfftfreq(4, device="cpu", dtype="float64").dtype == np.float64


def test_frequencies_of_no_number() -> None:
    for name in ("fftfreq", "rfftfreq"):
        compare(lambda xp, name=name: getattr(xp.fft, name)(2.0), raises=ValueError)
        compare(lambda xp, name=name: getattr(xp.fft, name)(0), raises=ZeroDivisionError)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shift(name: str, dtype: str) -> None:
    for axes in (None, 0, -1, (0, 1), [1, 2], (0, 0), 3, np.int64(1)):
        compare(lambda xp, axes=axes: getattr(xp.fft, name)(sample(xp, (3, 4, 5), dtype), axes), may_raise=IndexError)
    compare(lambda xp: getattr(xp.fft, name)([1, 2, 3]))


DIFFERENTIABLE: list[Callable[[Any], Any]] = [
    lambda x: tnp.abs(tnp.fft.fft(x)),
    lambda x: tnp.fft.ifft(x, 7).real,
    lambda x: tnp.abs(tnp.fft.rfft(x, axis=0)),
    lambda x: tnp.fft.irfft(tnp.fft.rfft(x) * 2, 5),
    lambda x: tnp.fft.hfft(x),
    lambda x: tnp.fft.ihfft(x, 5).imag,
    lambda x: tnp.fft.fftn(x, axes=(0, 1)).real,
    lambda x: tnp.fft.irfft2(x),
    lambda x: tnp.fft.rfftn(x).real,
    lambda x: tnp.fft.fftshift(x),
]


@pytest.mark.parametrize("number", range(len(DIFFERENTIABLE)))
def test_gradients_vmap_and_tracing(number: int) -> None:
    def function(tensor: torch.Tensor) -> torch.Tensor:
        return DIFFERENTIABLE[number](tnp.asarray(tensor)).tensor

    stack = torch.from_numpy(sample(np, (2, 3, 4), "float64"))
    assert torch.autograd.gradcheck(function, stack[0].clone().requires_grad_())
    torch.testing.assert_close(torch.vmap(function)(stack), torch.stack([function(each) for each in stack]))
    traced = tnp.compile(DIFFERENTIABLE[number], backend="eager")
    torch.testing.assert_close(traced(tnp.asarray(stack[0])).tensor, function(stack[0]))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("arguments", [(True,), (False,), (True, 0), (True, 0.5), (np.True_,)])
def test_truth_as_a_number_of_points(name: str, arguments: Any) -> None:
    compare(lambda xp: getattr(xp.fft, name)(*arguments), may_raise=(TypeError, ValueError, ZeroDivisionError))


@pytest.mark.parametrize("name", ["rfft2", "rfftn"])
@pytest.mark.parametrize("shape", [(0, 1), (0, 3), (1, 1), (2, 0)])
def test_the_last_axis_of_a_real_transform_is_looked_at_first(name: str, shape: tuple[int, ...]) -> None:
    """Its error is the one of a complex array without elements."""
    for xp in (np, tnp):
        with pytest.raises(ValueError if shape == (2, 0) else TypeError):
            getattr(xp.fft, name)(xp.zeros(shape, complex))


@pytest.mark.parametrize("norm", [None, "unknown", [], [1.0, 2.0]], ids=str)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"])
def test_arguments_of_many_axes_are_checked_in_numpys_order(name: str, norm: Any) -> None:
    lengths = [None, (4, 4), (0, 4), (4, 0), (4,), (None, 2), (2, None), (-1, 3), (3, -1), (-2, 2), (2, -2)]
    every_axes = [None, (0, 1), (1, 0), (-1,), (2, 0), (0, 2), ()]
    for shape, s, axes in itertools.product([(), (3,), (2, 3), (0, 3), (2, 1)], lengths, every_axes):
        found = [outcome(lambda xp: getattr(xp.fft, name)(xp.ones(shape), s, axes, norm), xp) for xp in (np, ours())]  # noqa: B023
        errors = [(type(each.error), str(each.error)) if isinstance(each, Raised) else None for each in found]
        assert errors[0] == errors[1]


@pytest.mark.parametrize("axes", [(), [[True, False]], [[0, 1], [1, 0]]])
@pytest.mark.parametrize("name", GRIDS)
def test_axes_that_are_none_of_numpys(name: str, axes: Any) -> None:
    errors = [outcome(lambda xp: getattr(xp.fft, name)(xp.ones((2, 3)), axes=axes), xp) for xp in (np, ours())]
    assert isinstance(errors[1], Raised) is isinstance(errors[0], Raised)
    assert type(getattr(errors[1], "error", None)) is type(getattr(errors[0], "error", None))


@pytest.mark.parametrize("norm", [None, "unknown", [], [1.0, 2.0]], ids=str)
@pytest.mark.parametrize("name", LINES)
def test_arguments_of_one_axis_are_checked_in_numpys_order(name: str, norm: Any) -> None:
    for shape, n, axis in itertools.product([(), (3,), (0,), (1,)], [None, 0, -1, 2], [-1, 0, 1]):
        found = [outcome(lambda xp: getattr(xp.fft, name)(xp.ones(shape), n, axis, norm), xp) for xp in (np, ours())]  # noqa: B023
        errors = [(type(each.error), str(each.error)) if isinstance(each, Raised) else None for each in found]
        assert errors[0] == errors[1]
