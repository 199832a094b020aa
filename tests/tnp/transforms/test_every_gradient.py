"""The coverage table, row by row: the gradient of every function that torch computes, or why there is none."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import numpy
import pytest
import torch

import tnp
from conformance import coverage, samples, trials

pytestmark = pytest.mark.filterwarnings("ignore")

CODES = samples.samples()
ARRAYS = ("x", "y", "v")
"""The samples' arrays of floats."""

NO_GRADIENT = {
    "the result has the shape of the argument, not its values": "full_like ones_like zeros_like",
    "counts of points": "histogram2d histogramdd",
    "the function sees Python's numbers, one by one: vectorized_map has gradients": "vectorize",
    "a file holds no gradient": "fromfile load loadtxt genfromtxt",
    "an exported array would lose its gradient, so this raises": "from_dlpack",
}
"""Reason -> names to which no gradient flows."""

STEPS = ["ceil", "fix", "floor", "floor_divide", "nextafter", "rint", "round", "spacing", "trunc"]
"""The gradient is zero wherever there is one; checked like any other, and that it is not None."""

NO_COMPLEX = {
    "in place: what the gradient keeps is overwritten, GradientTape(overwrites=True) records it": (
        "ndarray.partition ndarray.sort"
    ),
}
"""Reason -> names that differentiate real numbers alone, though they take complex ones."""


GONE = {"row_stack"} - set(dir(numpy))
"""What NumPy 2.5 has no more, to be asked about it."""


def refused_by_torch() -> set[str]:
    """Steps that torch 2.11 raises at, as it has no derivative of ``nextafter``."""
    x = torch.ones(1, requires_grad=True)
    try:
        torch.autograd.grad(torch.nextafter(x, 2 * x).sum(), x)
    except NotImplementedError:
        return {"nextafter", "spacing"}
    return set()


def listed(reasons: dict[str, str]) -> set[str]:
    return {name for names in reasons.values() for name in names.split()}


def floats_in(code: str) -> list[str]:
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return [name for name in ARRAYS if name in used]


OF_THE_HOST = {"from_dlpack", "nditer", "ndarray.data"}
"""What reads or shares the host's memory."""


def rows(names: Iterable[str]) -> list[Any]:
    """Names as a test's parameters; what is of the host stays there, whatever the suite runs on."""
    return [pytest.param(name, marks=pytest.mark.host) if name in OF_THE_HOST else name for name in names]


def computed() -> list[str]:
    """The rows that are computed of arrays of floats, by torch or on the host."""
    table = coverage.read()
    return [name for name, code in CODES.items() if code and table[name][0] in coverage.COMPUTED and floats_in(code)]


class Call:
    """A sample as a function of tensors; it returns those of its results that gradients flow to."""

    def __init__(self, name: str, dtype: torch.dtype = torch.float64) -> None:
        self.names = floats_in(CODES[name])
        self.sample = trials.sample_function(CODES[name], tnp)
        self.arrays = samples.values(tnp)
        self.tensors = []
        for key in self.names:
            values = self.arrays[key].tensor.to(dtype)
            if dtype.is_complex:
                values = values + 0.7j * values.flip(-1)
            self.tensors.append(values.clone().requires_grad_())

    def results(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        tnp.random.seed(0)  # random.shuffle has one order each time
        given = {key: tnp.asarray(tensor) for key, tensor in zip(self.names, tensors, strict=True)}
        return trials.leaves(self.sample(**{**self.arrays, **given}))

    def differentiable(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(result for result in self.results(*tensors) if result.requires_grad)


def has_floats(results: list[torch.Tensor]) -> bool:
    return any(result.is_floating_point() or result.is_complex() for result in results)


@pytest.mark.parametrize("name", rows(computed()))
def test_gradient_and_second_derivative(name: str) -> None:
    call = Call(name)
    if name == "from_dlpack":
        with pytest.raises(BufferError, match="lose its gradient"):
            call.results(*call.tensors)
        return
    results = call.results(*call.tensors)
    if not has_floats(results):
        assert name not in listed(NO_GRADIENT)  # integers, booleans, Python's values: there is nothing to say
        return
    if name in listed(NO_GRADIENT):
        assert not any(result.requires_grad for result in results)
        return
    assert any(result.requires_grad for result in results), "no gradient flows, and no reason is given"
    if name in refused_by_torch():
        return  # test_steps_have_a_gradient_of_zero has the error
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert torch.autograd.gradcheck(call.differentiable, call.tensors, atol=1e-5, rtol=1e-3, fast_mode=True)
        second = torch.autograd.gradgradcheck(call.differentiable, call.tensors, atol=1e-4, rtol=1e-2, fast_mode=True)
        assert second


@pytest.mark.parametrize("name", rows(name for name in computed() if name not in listed(NO_GRADIENT)))
def test_gradient_of_complex_numbers(name: str) -> None:
    """The convention is torch's: the gradient of a real number is the conjugate of JAX's, the steepest ascent."""
    if name in GONE:
        pytest.skip("NumPy 2.5 has no such function to ask")
    call = Call(name, torch.complex128)
    given = {key: tensor.detach().cpu().numpy() for key, tensor in zip(call.names, call.tensors, strict=True)}
    try:
        with numpy.errstate(all="ignore"):
            trials.sample_function(CODES[name], numpy)(**{**samples.values(numpy), **given})
    except TypeError:
        return  # NumPy takes no complex numbers here
    if name in listed(NO_COMPLEX):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.gradcheck(call.differentiable, call.tensors, fast_mode=True)
        return
    results = call.results(*call.tensors)
    if not has_floats(results):
        return
    assert any(result.requires_grad for result in results)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert torch.autograd.gradcheck(call.differentiable, call.tensors, atol=1e-5, rtol=1e-3, fast_mode=True)


def weighted(results: list[torch.Tensor]) -> Any:
    """One number that depends on all elements of the floating results."""
    total: Any = 0.0
    for result in results:
        if result.is_floating_point() or result.is_complex():
            array = tnp.asarray(result)
            weights = numpy.cos(numpy.arange(result.numel())).reshape(array.shape)
            weights = tnp.asarray(weights, device=array.device)
            total = total + (array.real * weights + array.imag * weights**2).sum()
    return total


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["float64", "complex128"])
@pytest.mark.parametrize(
    "name", rows(name for name in computed() if name not in listed(NO_GRADIENT) | refused_by_torch())
)
def test_forward_mode_is_the_other_mode(name: str, dtype: torch.dtype) -> None:
    """Derivatives along a direction, of first and second order, by gradients and by forward mode alone."""
    call = Call(name, dtype)
    arrays = [tnp.asarray(tensor.detach()) for tensor in call.tensors]
    directions = [tnp.cos(array * 3) for array in arrays]
    try:
        if not has_floats(call.results(*[array.tensor.clone() for array in arrays])):
            return
    except TypeError:
        assert dtype.is_complex  # which this function takes not
        return

    def function(*arrays: Any) -> Any:
        return weighted(call.results(*[array.tensor for array in arrays]))

    def slope(*arrays: Any) -> Any:
        gradients = tnp.grad(function, tuple(range(len(arrays))))(*arrays)
        return sum(tnp.vdot(direction, g).real for direction, g in zip(directions, gradients, strict=True))

    def pushed(function: Any) -> Any:
        return lambda *arrays: tnp.jvp(function, arrays, tuple(directions))[1]

    numpy.testing.assert_allclose(float(pushed(function)(*arrays)), float(slope(*arrays)), rtol=1e-6, atol=1e-9)
    gradients = tnp.grad(slope, tuple(range(len(arrays))))(*arrays)
    second = sum(float(tnp.vdot(d, g).real) for d, g in zip(directions, gradients, strict=True))
    for found in (pushed(slope), pushed(pushed(function))):
        numpy.testing.assert_allclose(float(found(*arrays)), second, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", STEPS)
def test_steps_have_a_gradient_of_zero(name: str) -> None:
    call = Call(name)
    (result,) = call.differentiable(*call.tensors)
    if name in refused_by_torch():
        with pytest.raises(NotImplementedError, match="nextafter"):
            torch.autograd.grad(result.sum(), call.tensors[:1])
        return
    (gradient,) = torch.autograd.grad(result.sum(), call.tensors[:1], allow_unused=True)
    expected = 1.0 if name == "nextafter" else 0.0  # a neighbour goes along
    assert gradient is None or (gradient == expected).all()


def test_every_reason_is_of_a_row() -> None:
    assert listed(NO_GRADIENT) | listed(NO_COMPLEX) <= set(CODES)


def test_the_gradient_of_complex_numbers_is_the_conjugate_of_the_derivative() -> None:
    z = tnp.asarray(1.0 + 2.0j)
    assert complex(tnp.grad(lambda z: (z**2).real)(z)) == (2 * (1.0 + 2.0j)).conjugate()
    assert complex(tnp.grad(lambda z: abs(z) ** 2)(z)) == pytest.approx(2 * (1.0 + 2.0j))
    with tnp.GradientTape() as tape:
        tape.watch(z)
        y = (z**3).real
    assert complex(tape.gradient(y, z)) == pytest.approx((3 * (1.0 + 2.0j) ** 2).conjugate())


def values(function: Any, *x: float) -> list[float]:
    return tnp.grad(function)(tnp.asarray(x)).tolist()


def test_norms_of_zero_have_a_gradient_of_zero() -> None:
    matrix = tnp.zeros((2, 2))
    for function in (
        tnp.linalg.norm,
        tnp.linalg.vector_norm,
        lambda x: tnp.linalg.norm(x, 3),
        lambda x: tnp.linalg.norm(x, 1),
        lambda x: tnp.linalg.norm(x, numpy.inf),
        lambda x: tnp.linalg.norm(x, axis=0, keepdims=True)[0],
        tnp.std,
        tnp.nanstd,
    ):
        assert values(function, 0.0, 0.0) == [0.0, 0.0]
        assert tnp.hessian(function)(tnp.zeros(2)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert tnp.jacobian(function, mode="forward")(tnp.zeros(2)).tolist() == [0.0, 0.0]
    assert tnp.grad(tnp.linalg.norm)(matrix).tolist() == matrix.tolist()
    assert values(tnp.linalg.norm, 3.0, 4.0) == pytest.approx([0.6, 0.8])
    compiled = tnp.grad(tnp.compile(tnp.linalg.norm, backend="eager"))
    assert compiled(tnp.zeros(2)).tolist() == [0.0, 0.0]
