"""torch's streams draw from the same distributions as NumPy's: two samples of each are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from backend_torch.random import generators
from backend_torch.random.generators import Stream

COUNT = 20_000
# Kolmogorov and Smirnov's distance of two samples of COUNT that comes by chance once in 10,000 times.
DISTANCE = 2.23 * (2 / COUNT) ** 0.5

CONTINUOUS: list[tuple[str, tuple[float, ...]]] = [
    ("uniform", (-1.0, 3.0)),
    ("normal", (1.0, 2.0)),
    ("lognormal", (0.5, 0.7)),
    ("exponential", (2.0,)),
    ("gamma", (0.3, 2.0)),
    ("gamma", (4.0, 0.5)),
    ("standard_gamma", (1.5,)),
    ("chisquare", (3.0,)),
    ("noncentral_chisquare", (0.5, 2.0)),
    ("noncentral_chisquare", (4.0, 3.0)),
    ("f", (5.0, 7.0)),
    ("noncentral_f", (5.0, 7.0, 2.0)),
    ("beta", (0.5, 0.6)),
    ("beta", (3.0, 2.0)),
    ("standard_cauchy", ()),
    ("standard_normal", ()),
    ("standard_exponential", ()),
    ("standard_t", (4.0,)),
    ("pareto", (3.0,)),
    ("weibull", (1.7,)),
    ("power", (2.5,)),
    ("laplace", (1.0, 2.0)),
    ("gumbel", (1.0, 2.0)),
    ("logistic", (1.0, 2.0)),
    ("rayleigh", (2.0,)),
    ("triangular", (-1.0, 0.5, 4.0)),
    ("triangular", (0.0, 0.0, 1.0)),
    ("wald", (2.0, 3.0)),
    ("vonmises", (1.0, 2.0)),
    ("vonmises", (-3.0, 0.0)),
    ("random", ()),
]
DISCRETE: list[tuple[str, tuple[float, ...]]] = [
    ("poisson", (3.5,)),
    ("binomial", (20, 0.3)),
    ("negative_binomial", (4, 0.4)),
    ("geometric", (0.3,)),
    ("geometric", (1.0,)),
    ("logseries", (0.7,)),
]


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference of two samples' distribution functions."""
    points = np.concatenate((one, other))
    below = [np.searchsorted(np.sort(sample), points, side="right") / len(sample) for sample in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


@pytest.fixture
def stream() -> Stream:
    return Stream(None, 2024)


@pytest.mark.parametrize(("name", "parameters"), CONTINUOUS + DISCRETE)
@pytest.mark.parametrize("as_tensors", [False, True])
def test_samples_are_of_numpys_distribution(stream: Stream, name: str, parameters: tuple, as_tensors: bool) -> None:
    given = [torch.tensor(float(each), dtype=torch.float64) if as_tensors else each for each in parameters]
    drawn = getattr(stream, name)((COUNT,), *given)
    expected = getattr(np.random.default_rng(1), name)(*parameters, size=COUNT)
    assert drawn.shape == (COUNT,)
    assert drawn.dtype is (torch.int64 if (name, parameters) in DISCRETE else torch.float64)
    assert distance(drawn.numpy(), expected) < DISTANCE


@pytest.mark.parametrize(("name", "parameters"), CONTINUOUS + DISCRETE)
def test_shapes_follow_the_parameters(stream: Stream, name: str, parameters: tuple) -> None:
    assert getattr(stream, name)(None, *parameters).shape == ()
    assert getattr(stream, name)((0, 2), *parameters).shape == (0, 2)
    if parameters:
        given = [torch.full((2, 1), float(parameters[0])), *parameters[1:]]
        if len(given) > 1:
            given[1] = torch.full((3,), float(parameters[1]))
        assert getattr(stream, name)(None, *given).shape == ((2, 3) if len(given) > 1 else (2, 1))
        with pytest.raises(ValueError, match="Output size"):
            getattr(stream, name)((5,), *given)


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_standard_distributions_have_a_dtype(stream: Stream, name: str) -> None:
    drawn = getattr(stream, name)((COUNT,), torch.float32)
    assert drawn.dtype is torch.float32
    assert distance(drawn.numpy(), getattr(np.random.default_rng(1), name)(COUNT)) < DISTANCE
    assert stream.standard_gamma((3,), 2.0, torch.float32).dtype is torch.float32


def test_tails_are_finite(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(size: Any, dtype: Any = torch.float64) -> Any:
        return torch.zeros(size or (), dtype=dtype)

    monkeypatch.setattr(stream, "random", zeros)
    for name, parameters in CONTINUOUS:
        if name in ("laplace", "gumbel", "logistic", "exponential", "rayleigh", "weibull", "pareto"):
            assert torch.isfinite(getattr(stream, name)((2,), *parameters)).all(), name


def test_the_same_seed_gives_the_same_numbers() -> None:
    one, other = Stream(None, 7), Stream(None, 7)
    first = one.normal((3,), 0.0, 1.0)
    assert torch.equal(first, other.normal((3,), 0.0, 1.0))
    assert not torch.equal(first, one.normal((3,), 0.0, 1.0))
    one.seed(7)
    assert torch.equal(first, one.normal((3,), 0.0, 1.0))
    state = one.state
    second = one.poisson((5,), 4.0)
    one.state = state
    assert torch.equal(second, one.poisson((5,), 4.0))


@pytest.mark.parametrize(
    ("low", "high", "endpoint", "dtype"),
    [
        (0, 10, False, torch.int64),
        (-5, 5, True, torch.int8),
        (0, 256, False, torch.uint8),
        (2**63 - 3, 2**63 + 3, True, torch.uint64),
        (-(2**63), 2**63 - 1, True, torch.int64),
        (0, 2**64, False, torch.uint64),
        (0, 2, False, torch.bool),
        (3, 4, False, torch.uint32),
    ],
)
def test_integers_keep_to_their_bounds(stream: Stream, low: int, high: int, endpoint: bool, dtype: torch.dtype) -> None:
    drawn = stream.integers((COUNT,), low, high, dtype, endpoint)
    assert drawn.dtype is dtype
    values = drawn.numpy()
    last = high if endpoint else high - 1
    assert int(values.min()) >= low and int(values.max()) <= last
    if last - low < 300:
        found, counts = np.unique(values, return_counts=True)
        assert len(found) == last - low + 1
        expected = COUNT / len(found)
        assert np.abs(counts - expected).max() < 5 * expected**0.5 or len(found) == 1
    else:  # the top bit is set half of the time
        assert abs(np.mean(values.astype(float) > (low + high) / 2) - 0.5) < 0.02


def test_integers_between_tensors(stream: Stream) -> None:
    low, high = torch.tensor([0, 10, -5]), torch.tensor([1, 20, -3])
    drawn = stream.integers((2000, 3), low, high, torch.int32, False)
    assert drawn.dtype is torch.int32
    assert drawn.amin(0).tolist() == [0, 10, -5] and drawn.amax(0).tolist() == [0, 19, -4]
    assert stream.integers(None, low, 30, torch.int64, True).shape == (3,)
    with pytest.raises(ValueError, match="low >= high"):
        stream.integers(None, low, low, torch.int64, False)


@pytest.mark.parametrize(
    ("low", "high", "dtype", "message"),
    [
        (3, 3, torch.int64, "low >= high"),
        (-1, 3, torch.uint8, "low is out of bounds for uint8"),
        (0, 257, torch.uint8, "high is out of bounds for uint8"),
    ],
)
def test_integers_refuse(stream: Stream, low: int, high: int, dtype: torch.dtype, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stream.integers(None, low, high, dtype, False)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("normal", (0.0, -1.0)),
        ("gamma", (-1.0, 1.0)),
        ("beta", (0.0, 1.0)),
        ("poisson", (-1.0,)),
        ("poisson", (float("nan"),)),
        ("binomial", (3, 1.5)),
        ("geometric", (0.0,)),
        ("logseries", (1.0,)),
        ("triangular", (3.0, 2.0, 4.0)),
        ("triangular", (1.0, 1.0, 1.0)),
        ("pareto", (0.0,)),
    ],
)
def test_parameters_are_refused_as_by_numpy(stream: Stream, name: str, parameters: tuple[float, ...]) -> None:
    with pytest.raises(ValueError) as expected:
        getattr(np.random.default_rng(), name)(*parameters)
    for given in (parameters, [torch.tensor([float(each)]) for each in parameters]):
        with pytest.raises(ValueError) as refused:
            getattr(stream, name)(None, *given)
        assert str(refused.value).split(",")[0].split(" or ")[0] in str(expected.value)


def test_multinomial(stream: Stream) -> None:
    pvals = torch.tensor([0.2, 0.5, 0.0, 0.3])
    drawn = stream.multinomial((COUNT,), 10, pvals)
    assert drawn.dtype is torch.int64 and drawn.shape == (COUNT, 4)
    assert (drawn.sum(-1) == 10).all() and not drawn[:, 2].any()
    for column, p in enumerate(pvals.tolist()):
        expected = np.random.default_rng(1).binomial(10, p, COUNT)
        assert distance(drawn[:, column].numpy(), expected) < DISTANCE
    assert stream.multinomial(None, torch.tensor([[3], [4]]), pvals).shape == (2, 1, 4)
    assert stream.multinomial(None, 3, torch.tensor([1.0, 0.0])).tolist() == [3, 0]
    with pytest.raises(ValueError, match="sum"):
        stream.multinomial(None, 3, torch.tensor([0.9, 0.9, 0.1]))


def test_dirichlet(stream: Stream) -> None:
    drawn = stream.dirichlet((COUNT,), torch.tensor([0.5, 1.0, 3.0]))
    np.testing.assert_allclose(drawn.sum(-1), 1)
    expected = np.random.default_rng(1).dirichlet([0.5, 1.0, 3.0], COUNT)
    for column in range(3):
        assert distance(drawn[:, column].numpy(), expected[:, column]) < DISTANCE
    with pytest.raises(ValueError, match="alpha <= 0"):
        stream.dirichlet(None, torch.tensor([0.0, 1.0]))


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(stream: Stream, method: str) -> None:
    mean, cov = torch.tensor([1.0, -2.0]), torch.tensor([[2.0, 0.6], [0.6, 1.0]])
    drawn = stream.multivariate_normal((COUNT,), mean, cov, "warn", 1e-8, method)
    assert drawn is not None
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.numpy().T), cov, atol=0.08)
    assert stream.multivariate_normal(None, mean, -cov, "raise", 1e-8, method) is None


def test_permutations(stream: Stream) -> None:
    orders = np.array([stream.permutation(3).tolist() for _ in range(3000)])
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6 and np.abs(counts - 500).max() < 110
    positions = stream.permuted((3000, 3), 1)
    assert torch.equal(positions.sort(1).values, torch.arange(9000).reshape(3000, 3))
    _, counts = np.unique((positions % 3).numpy(), axis=0, return_counts=True)
    assert len(counts) == 6 and np.abs(counts - 500).max() < 110


def test_choice(stream: Stream) -> None:
    p = torch.tensor([0.1, 0.0, 0.6, 0.3])
    drawn = stream.choice((COUNT,), 4, True, p)
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / COUNT, p, atol=0.02)
    first = np.array([stream.choice((2,), 4, False, p).tolist() for _ in range(2000)])
    assert (first[:, 0] != first[:, 1]).all() and not (first == 1).any()
    np.testing.assert_allclose(np.bincount(first[:, 0], minlength=4) / 2000, p, atol=0.05)
    assert sorted(stream.choice((4,), 4, False, None).tolist()) == [0, 1, 2, 3]
    assert stream.choice((5, 2), 4, True, None).shape == (5, 2) and stream.choice(None, 4, False, p).shape == ()
    for arguments in (((5,), 4, False, None), ((3,), 0, True, None), ((4,), 4, False, p), ((1,), 3, True, p)):
        with pytest.raises(ValueError):
            stream.choice(*arguments)
    with pytest.raises(ValueError, match="sum to 1"):
        stream.choice((1,), 4, True, p * 2)


def test_what_torch_can_not_draw_names_numpys_generator(stream: Stream) -> None:
    with pytest.raises(NotImplementedError, match="generator on the CPU"):
        stream.hypergeometric(None, 3, 4, 2)
    with pytest.raises(NotImplementedError, match="generator on the CPU"):
        stream.zipf(None, 2.0)
    with pytest.raises(NotImplementedError, match="generator on the CPU"):
        stream.integers(None, 0, 2**63 + 5, torch.uint64, False)


def test_gradients_flow_to_the_parameters(stream: Stream) -> None:
    loc, scale = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    drawn = stream.normal((5,), loc, scale)
    by_loc, by_scale = torch.autograd.grad(drawn.sum(), (loc, scale))
    assert by_loc.item() == 5.0 and by_scale.item() == pytest.approx((drawn - 1).sum().item() / 2)
    shape = torch.tensor(3.0, requires_grad=True)
    assert torch.autograd.grad(stream.gamma((5,), shape, 1.0).sum(), shape)[0].isfinite()


def test_bytes(stream: Stream) -> None:
    drawn = stream.bytes(1000)
    assert type(drawn) is bytes and len(drawn) == 1000 and len(set(drawn)) > 200


def test_numpy_fills_a_tensor_in_autograds_sight() -> None:
    tensor, weight = torch.ones(3), torch.ones(3, requires_grad=True)
    product = (tensor * weight).sum()
    generators.fill_on_host(tensor, lambda values: values.fill(2))
    assert tensor.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    with pytest.raises(RuntimeError, match="requires a gradient"):
        generators.fill_on_host(weight, lambda values: values.fill(2))
