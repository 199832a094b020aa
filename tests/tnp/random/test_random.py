"""``tnp.random`` draws NumPy's numbers, bit for bit; torch's where NumPy can't draw."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from backend_torch.random.generators import Stream
from tests.oracle import ALL, sample

pytestmark = pytest.mark.host  # NumPy's own numbers are the CPU's

COV = [[2.0, 0.3], [0.3, 1.0]]

# Each distribution with parameters, which have one more of the same shape to broadcast with.
DISTRIBUTIONS: dict[str, tuple[Any, ...]] = {
    "beta": (0.5, 2.0),
    "binomial": (10, 0.3),
    "chisquare": (3.0,),
    "exponential": (2.0,),
    "f": (3.0, 4.0),
    "gamma": (0.7, 2.0),
    "geometric": (0.3,),
    "gumbel": (1.0, 2.0),
    "hypergeometric": (10, 5, 4),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (1.0, 0.5),
    "logseries": (0.6,),
    "negative_binomial": (4, 0.4),
    "noncentral_chisquare": (3.0, 2.0),
    "noncentral_f": (3.0, 4.0, 2.0),
    "normal": (1.0, 2.0),
    "pareto": (3.0,),
    "poisson": (4.0,),
    "power": (2.0,),
    "rayleigh": (2.0,),
    "standard_gamma": (1.5,),
    "standard_t": (4.0,),
    "triangular": (-1.0, 0.5, 2.0),
    "uniform": (-1.0, 3.0),
    "vonmises": (1.0, 2.0),
    "wald": (2.0, 3.0),
    "weibull": (1.7,),
    "zipf": (2.5,),
}
PLAIN = ["random", "standard_normal", "standard_exponential", "standard_cauchy"]
SIZES = [None, 5, (2, 3), (), 0, (2, 0)]


def same(actual: Any, expected: Any) -> None:
    """The same bits: a tnp array for a NumPy array, and NumPy's and Python's own scalars."""
    if isinstance(expected, np.ndarray):
        assert type(actual) is tnp.ndarray, type(actual)
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        assert tnp.asnumpy(actual).tobytes() == expected.tobytes()
    else:
        assert type(actual) is type(expected) and actual == expected


def generators(seed: int = 5) -> list[tuple[Any, Any]]:
    """A tnp generator and NumPy's, modern and legacy, from one seed."""
    return [
        (tnp.random.default_rng(seed), np.random.default_rng(seed)),
        (tnp.random.RandomState(seed), np.random.RandomState(seed)),
    ]


def both(draw: Callable[[Any, Any], Any], seed: int = 5) -> None:
    """``draw(xp, rng)`` gives the same from tnp's generators and NumPy's, and leaves them in the same state."""
    for ours, numpys in generators(seed):
        same(draw(tnp, ours), draw(np, numpys))
        assert ours.random() == numpys.random()


class OnTorch(tnp.random.Generator):
    """A generator that always has torch draw, as on an accelerator."""

    def _stream(self) -> Stream:
        return self._stream_on(None)


class LegacyOnTorch(tnp.random.RandomState):
    def _stream(self) -> Stream:
        return self._stream_on(None)


ON_TORCH: list[Callable[[], Any]] = [
    lambda: OnTorch(tnp.random.PCG64(3)),
    lambda: LegacyOnTorch(3),
]


@pytest.fixture
def numpys_state() -> Iterator[None]:
    """The process's hidden state as it was."""
    state = np.random.get_state()
    yield
    np.random.set_state(state)


# Names.


def test_every_name_is_there() -> None:
    assert set(np.random.__all__) <= set(tnp.random.__all__)
    for name in tnp.random.__all__:
        assert hasattr(tnp.random, name)


@pytest.mark.parametrize("cls", ["Generator", "RandomState"])
def test_every_method_has_numpys_signature(cls: str) -> None:
    for name in dir(getattr(np.random, cls)):
        if name.startswith("_") or name == "bit_generator":
            continue
        ours, numpys = getattr(getattr(tnp.random, cls), name), getattr(getattr(np.random, cls), name)
        assert ours.__doc__
        wanted = inspect.signature(numpys).parameters
        found = inspect.signature(ours).parameters
        assert [(p.name, p.kind, p.default) for p in found.values()] == [
            (p.name, p.kind, p.default) for p in wanted.values()
        ], name


def test_numpys_own_classes() -> None:
    for name in ("BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence"):
        assert getattr(tnp.random, name) is getattr(np.random, name)


# NumPy's numbers.


@pytest.mark.parametrize("name", PLAIN + list(DISTRIBUTIONS))
@pytest.mark.parametrize("size", SIZES)
def test_distributions(name: str, size: Any) -> None:
    both(lambda xp, rng: getattr(rng, name)(*DISTRIBUTIONS.get(name, ()), size=size))


@pytest.mark.parametrize("name", list(DISTRIBUTIONS))
def test_parameters_are_arrays(name: str) -> None:
    first, *rest = DISTRIBUTIONS[name]
    both(lambda xp, rng: getattr(rng, name)(xp.full((2, 1), first), *[xp.full(3, each) for each in rest]))
    both(lambda xp, rng: getattr(rng, name)(xp.full((2, 1), first), *rest, size=(4, 2, 3)))
    both(lambda xp, rng: getattr(rng, name)(xp.asarray(first), *rest))
    both(lambda xp, rng: getattr(rng, name)(xp.sum(xp.asarray([first])), *rest))
    both(lambda xp, rng: getattr(rng, name)([first, first], *rest))


@pytest.mark.parametrize("name", list(DISTRIBUTIONS))
def test_defaults(name: str) -> None:
    signature = inspect.signature(getattr(tnp.random.Generator, name))
    if all(p.default is not p.empty for p in list(signature.parameters.values())[1:]):
        both(lambda xp, rng: getattr(rng, name)())


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential", "standard_gamma"])
def test_dtype_and_out(name: str) -> None:
    given = (1.5,) if name == "standard_gamma" else ()

    def method(xp: Any) -> Any:
        return getattr(xp.random.default_rng(2), name)

    for dtype in ("float32", np.float64, None):
        same(method(tnp)(*given, size=(3, 2), dtype=dtype), method(np)(*given, size=(3, 2), dtype=dtype))
    same(method(tnp)(*given, dtype="f4"), method(np)(*given, dtype="f4"))
    for dtype in ("float32", "float64"):
        for options in ({}, {"size": 4}, {"size": (4,)}):
            out, expected = tnp.zeros(4, dtype), np.zeros(4, dtype)
            assert method(tnp)(*given, dtype=dtype, out=out, **options) is out
            same(out, method(np)(*given, dtype=dtype, out=expected, **options))
    window = tnp.zeros(6)
    method(tnp)(*given, out=window[2:5])
    same(window[2:5], method(np)(*given, size=3))
    assert not window[:2].any() and not window[5]
    numpys = np.zeros(3)
    assert method(tnp)(*given, out=numpys) is numpys and numpys.all()
    for options, error in (
        ({"out": np.zeros(3, "f4")}, TypeError),
        ({"out": np.zeros(3), "size": 4}, ValueError),
        ({"out": np.zeros((3, 3))[:, 0]}, ValueError),
        ({"dtype": "f2"}, TypeError),
        ({"dtype": int, "size": 2}, TypeError),
    ):
        for xp in (tnp, np):
            converted = {key: xp.asarray(value) if key == "out" else value for key, value in options.items()}
            with pytest.raises(error):
                method(xp)(*given, **converted)


def test_out_is_not_written_unseen() -> None:
    rng = tnp.random.default_rng(0)
    with pytest.raises(RuntimeError, match="gradient"):
        rng.random(out=tnp.asarray(torch.ones(3, dtype=torch.float64, requires_grad=True)))
    with pytest.raises(ValueError, match="read-only"):
        rng.random(out=tnp.broadcast_to(tnp.asarray([1.0]), (3,)))


def test_exponential_methods() -> None:
    for method in ("zig", "inv"):
        ours, numpys = generators()[0]
        same(ours.standard_exponential(4, method=method), numpys.standard_exponential(4, method=method))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers(dtype: str) -> None:
    high = 2 if dtype == "bool" else 100
    for size in SIZES:
        ours, numpys = generators()[0]
        same(ours.integers(high, size=size, dtype=dtype), numpys.integers(high, size=size, dtype=dtype))
        same(ours.integers(0, high - 1, size, dtype, True), numpys.integers(0, high - 1, size, dtype, True))
        ours, numpys = generators()[1]
        same(ours.randint(high, size=size, dtype=dtype), numpys.randint(high, size=size, dtype=dtype))
    bounds = [1, high]
    ours, numpys = generators()[0]
    same(
        ours.integers(0, tnp.asarray(bounds), (3, 2), dtype),
        numpys.integers(0, np.asarray(bounds), (3, 2), dtype),
    )
    limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    same(ours.integers(*limits, 5, dtype, endpoint=True), numpys.integers(*limits, 5, dtype, endpoint=True))


def test_integers_by_default() -> None:
    ours, numpys = generators()[0]
    same(ours.integers(10), numpys.integers(10))
    same(ours.integers(10, dtype=int), numpys.integers(10, dtype=int))
    assert tnp.arange(3.0)[tnp.random.default_rng(0).integers(3)] in (0.0, 1.0, 2.0)
    ours, numpys = generators()[1]
    same(ours.randint(3, 10, (2,)), numpys.randint(3, 10, (2,)))
    same(ours.tomaxint(3), numpys.tomaxint(3))
    with pytest.warns(DeprecationWarning) as caught:
        same(ours.random_integers(3, 10, 4), numpys.random_integers(3, 10, 4))
    assert {warning.filename for warning in caught} == {__file__}


def test_legacy_forms() -> None:
    ours, numpys = generators()[1]
    same(ours.rand(), numpys.rand())
    same(ours.rand(2, 3), numpys.rand(2, 3))
    same(ours.randn(), numpys.randn())
    same(ours.randn(3), numpys.randn(3))
    same(ours.random_sample((2,)), numpys.random_sample((2,)))


def test_size_is_an_array_or_a_scalar_of_ours() -> None:
    both(lambda xp, rng: rng.normal(size=xp.sum(xp.asarray([1, 2]))))
    both(lambda xp, rng: rng.normal(size=(xp.asarray(3)[()], 2)))


def test_vectors() -> None:
    both(lambda xp, rng: rng.dirichlet(xp.asarray([1.0, 2.0, 0.5])))
    both(lambda xp, rng: rng.dirichlet((1, 2), size=(3, 2)))
    both(lambda xp, rng: rng.multinomial(10, xp.asarray([0.2, 0.3, 0.5]), size=4))
    both(lambda xp, rng: rng.multinomial(10, [0.2, 0.8]))
    both(lambda xp, rng: rng.multivariate_normal(xp.asarray([1.0, 2.0]), xp.asarray(COV), (3, 2)))
    both(lambda xp, rng: rng.multivariate_normal([1.0, 2.0], COV))
    ours, numpys = generators()[0]
    same(ours.multinomial(tnp.asarray([[3], [4]]), [0.5, 0.5]), numpys.multinomial([[3], [4]], [0.5, 0.5]))
    for method in ("svd", "eigh", "cholesky"):
        same(
            ours.multivariate_normal([0, 0], COV, 2, method=method),
            numpys.multivariate_normal([0, 0], COV, 2, method=method),
        )
    for options in ({}, {"method": "count"}, {"size": (2, 2)}):
        same(
            ours.multivariate_hypergeometric(tnp.asarray([3, 4, 5]), 6, **options),
            numpys.multivariate_hypergeometric([3, 4, 5], 6, **options),
        )


def test_covariances_are_checked() -> None:
    wrong = [[1.0, 2.0], [2.0, 1.0]]
    for rng in [*[ours for ours, _ in generators()], *[make() for make in ON_TORCH]]:
        with pytest.warns(RuntimeWarning, match="positive-semidefinite") as caught:
            rng.multivariate_normal([0, 0], wrong)
        if not isinstance(rng, (OnTorch, LegacyOnTorch)):
            assert [warning.filename for warning in caught] == [__file__]
        with pytest.raises(ValueError, match="positive-semidefinite"):
            rng.multivariate_normal([0, 0], wrong, check_valid="raise")
        with pytest.raises(ValueError, match="check_valid"):
            rng.multivariate_normal([0, 0], COV, check_valid="other")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rng.multivariate_normal([0, 0], wrong, check_valid="ignore")
        for mean, cov in (([[0]], [[1]]), ([0, 0], [1, 1]), ([0], COV)):
            with pytest.raises(ValueError):
                rng.multivariate_normal(mean, cov)
    for rng in (tnp.random.default_rng(0), ON_TORCH[0]()):
        with pytest.raises(np.linalg.LinAlgError):
            rng.multivariate_normal([0, 0], wrong, method="cholesky")
        with pytest.raises(ValueError, match="method"):
            rng.multivariate_normal([0, 0], COV, method="other")


def test_bytes() -> None:
    for ours, numpys in generators():
        assert ours.bytes(7) == numpys.bytes(7)


# Orders and samples.


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(7,), (5, 3), (4, 2, 2), (0,), (0, 3), (1,)])
def test_shuffle_and_permutation(dtype: str, shape: tuple[int, ...]) -> None:
    def shuffled(xp: Any, rng: Any) -> Any:
        x = sample(xp, shape, dtype)
        assert rng.shuffle(x) is None
        return x

    both(shuffled)
    both(lambda xp, rng: rng.permutation(sample(xp, shape, dtype)))
    ours, numpys = generators()[0]
    for axis in range(-len(shape), len(shape)):
        x, y = sample(tnp, shape, dtype), sample(np, shape, dtype)
        same(ours.permutation(x, axis), numpys.permutation(y, axis))
        same(x, y)
        ours.shuffle(x, axis)
        numpys.shuffle(y, axis=axis)
        same(x, y)


def test_shuffle_writes_through_views() -> None:
    def shuffled(xp: Any, rng: Any) -> Any:
        x = xp.arange(12)
        rng.shuffle(x[2:9:2])
        rng.shuffle(x.reshape(3, 4).T)
        return x

    both(shuffled)
    tensor = torch.arange(6)
    tnp.random.default_rng(0).shuffle(tensor)
    expected = np.arange(6)
    np.random.default_rng(0).shuffle(expected)
    assert tensor.tolist() == expected.tolist()


def test_python_and_numpy_data_are_shuffled_by_numpy() -> None:
    for kind in (list, np.array):
        for ours, numpys in generators():
            x, y = kind([1, 2, 3, 4, 5]), kind([1, 2, 3, 4, 5])
            ours.shuffle(x)
            numpys.shuffle(y)
            assert list(x) == list(y)
            same(ours.permutation([3, 4, 5]), numpys.permutation([3, 4, 5]))
            same(ours.permutation(6), numpys.permutation(6))
            same(ours.permutation(tnp.sum(tnp.asarray([3, 3]))), numpys.permutation(6))
    words, expected = ["a", "b", "c"], ["a", "b", "c"]
    tnp.random.default_rng(0).shuffle(words)
    np.random.default_rng(0).shuffle(expected)
    assert words == expected
    mixed = tnp.random.default_rng(0).permutation(words)
    assert type(mixed) is np.ndarray and mixed.tolist() == np.random.default_rng(0).permutation(words).tolist()


@pytest.mark.parametrize("dtype", ALL)
def test_permuted(dtype: str) -> None:
    for axis in (None, 0, 1, -1):
        ours, numpys = generators()[0]
        x, y = sample(tnp, (4, 3), dtype), sample(np, (4, 3), dtype)
        same(ours.permuted(x, axis=axis), numpys.permuted(y, axis=axis))
        out, expected = tnp.empty_like(x), np.empty_like(y)
        assert ours.permuted(x, axis=axis, out=out) is out
        same(out, numpys.permuted(y, axis=axis, out=expected))
        ours.permuted(x, axis=axis, out=x)
        numpys.permuted(y, axis=axis, out=y)
        same(x, y)
        same(ours.permuted([[1, 2], [3, 4]], axis=axis), numpys.permuted([[1, 2], [3, 4]], axis=axis))


@pytest.mark.parametrize("size", [None, 3, (2, 2), (), 0])
def test_choice(size: Any) -> None:
    p = [0.1, 0.0, 0.4, 0.2, 0.3]
    for options in ({}, {"replace": False}, {"p": p}, {"p": p, "replace": False}):
        both(lambda xp, rng, o=options: rng.choice(5, size, **o))
        for ours, numpys in generators():
            ours_p = {key: tnp.asarray(value) if key == "p" else value for key, value in options.items()}
            chosen, expected = (
                ours.choice(tnp.arange(5.0), size, **ours_p),
                numpys.choice(np.arange(5.0), size, **options),
            )
            assert isinstance(chosen, tnp.ndarray) and chosen.dtype == expected.dtype
            assert tnp.asnumpy(chosen).tobytes() == expected.tobytes() and chosen.shape == expected.shape
            same(ours.choice([5, 6, 7, 8, 9], size, **ours_p), numpys.choice([5, 6, 7, 8, 9], size, **options))
    for axis in (0, 1):
        for shuffle in (True, False):
            ours, numpys = generators()[0]
            options = {"size": size, "replace": False, "axis": axis, "shuffle": shuffle}
            same(
                ours.choice(tnp.arange(20).reshape(4, 5), **options),
                numpys.choice(np.arange(20).reshape(4, 5), **options),
            )


def test_choice_of_nothing() -> None:
    ours, numpys = generators()[0]
    same(ours.choice(tnp.zeros((0, 2)), (0, 3)), numpys.choice(np.zeros((0, 2)), (0, 3)))
    same(ours.choice(tnp.asarray(5), 3), numpys.choice(np.asarray(5), 3))
    assert ours.choice(["a"]) == "a"


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, rng: rng.choice(xp.zeros(0), 3),
        lambda xp, rng: rng.choice(xp.zeros(3), 4, replace=False),
        lambda xp, rng: rng.choice(xp.zeros(3), 4, p=[0.5, 0.5]),
        lambda xp, rng: rng.choice(3, 4, p=[0.5, 0.6, 0.7]),
        lambda xp, rng: rng.choice(3.5),
        lambda xp, rng: rng.shuffle(xp.asarray(5)),
        lambda xp, rng: rng.normal(0, -1),
        lambda xp, rng: rng.normal(xp.zeros(2), xp.zeros(3)),
        lambda xp, rng: rng.normal(xp.zeros(2), size=(3,)),
        lambda xp, rng: rng.normal(size=-1),
        lambda xp, rng: rng.normal(size="a"),
        lambda xp, rng: rng.poisson(-1.0),
        lambda xp, rng: rng.binomial(3, 1.5),
        lambda xp, rng: rng.dirichlet([0.0, -1.0]),
        lambda xp, rng: rng.multinomial(3, [0.9, 0.9, 0.1]),
        lambda xp, rng: rng.triangular(3, 2, 1),
        lambda xp, rng: rng.permutation(5.5),
        lambda xp, rng: rng.bytes("a"),
    ],
)
def test_errors_are_numpys(call: Callable[[Any, Any], Any]) -> None:
    for ours, numpys in generators():
        with pytest.raises(Exception) as expected:
            call(np, numpys)
        with pytest.raises(type(expected.value)) as refused:
            call(tnp, ours)
        if "shapes" not in str(expected.value):
            assert str(refused.value).replace("'", "") == str(expected.value).replace("'", "")


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, rng: rng.integers(3, 3),
        lambda xp, rng: rng.integers(3, 2, endpoint=True),
        lambda xp, rng: rng.integers(0, 300, dtype="uint8"),
        lambda xp, rng: rng.integers(-1, 3, dtype="uint8"),
        lambda xp, rng: rng.integers(5, dtype="float64"),
        lambda xp, rng: rng.permutation(xp.zeros((2, 3)), axis=2),
        lambda xp, rng: rng.permuted(xp.zeros((2, 3)), axis=2),
        lambda xp, rng: rng.permuted(xp.asarray(3)),
        lambda xp, rng: rng.permuted(xp.zeros(3), out=xp.zeros(4)),
        lambda xp, rng: rng.permuted(xp.zeros(3), out=[1, 2, 3]),
        lambda xp, rng: rng.permuted(xp.zeros(3), out=xp.zeros(3, "int64")),
        lambda xp, rng: rng.shuffle(xp.zeros((2, 3)), axis=2),
        lambda xp, rng: rng.shuffle([1, 2, 3], axis=1),
        lambda xp, rng: rng.choice(xp.zeros((2, 3)), 4, axis=2),
        lambda xp, rng: rng.choice(xp.zeros((2, 3)), 4, axis=1, replace=False),
    ],
)
def test_errors_of_generators_are_numpys(call: Callable[[Any, Any], Any]) -> None:
    ours, numpys = generators()[0]
    with pytest.raises(Exception) as expected:
        call(np, numpys)
    with pytest.raises(Exception) as refused:
        call(tnp, ours)
    assert isinstance(
        refused.value, type(expected.value).__mro__[0 if type(expected.value).__module__ == "builtins" else 1]
    )


def test_legacy_choice_wants_one_dimension() -> None:
    with pytest.raises(ValueError, match="1-dimensional"):
        tnp.random.RandomState(0).choice(tnp.zeros((2, 2)))


# Seeds and states.


@pytest.mark.parametrize("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_bit_generators(name: str) -> None:
    ours = tnp.random.Generator(getattr(tnp.random, name)(3))
    numpys = np.random.Generator(getattr(np.random, name)(3))
    same(ours.normal(size=3), numpys.normal(size=3))
    assert repr(ours).startswith(f"Generator({name}) at 0x") and str(ours) == str(numpys)
    state = ours.bit_generator.state
    first = ours.random(3)
    ours.bit_generator.state = state
    assert (ours.random(3) == first).all()
    for restored in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert type(restored) is tnp.random.Generator
        assert restored.random() == copy.deepcopy(ours).random()
    for one, other in zip(ours.spawn(2), numpys.spawn(2), strict=True):
        assert type(one) is tnp.random.Generator and one.random() == other.random()


def test_seeds() -> None:
    sequence = np.random.SeedSequence(4)
    expected = np.random.default_rng(4).random()
    for seed in (4, sequence, np.random.PCG64(4), np.random.default_rng(4), tnp.random.default_rng(4)):
        assert tnp.random.default_rng(seed).random() == expected
    rng = tnp.random.default_rng(4)
    assert tnp.random.default_rng(rng) is rng
    assert tnp.random.default_rng(tnp.asarray([1, 2])).random() == np.random.default_rng([1, 2]).random()
    assert tnp.random.default_rng().random() != tnp.random.default_rng().random()
    assert tnp.random.RandomState(tnp.asarray([1, 2])).rand() == np.random.RandomState([1, 2]).rand()
    assert tnp.random.RandomState(np.random.PCG64(1)).rand() == np.random.RandomState(np.random.PCG64(1)).rand()
    with pytest.raises(TypeError):
        tnp.random.default_rng("four")
    with pytest.raises(ValueError):
        tnp.random.default_rng(-1)
    with pytest.raises(ValueError, match="not a device"):
        tnp.random.default_rng(4, device="nowhere")


def test_the_cpu_can_be_named() -> None:
    rng = tnp.random.default_rng(4, device="cpu")
    assert rng.random() == np.random.default_rng(4).random()
    assert str(rng) == "Generator(PCG64, device='cpu')"
    assert str(pickle.loads(pickle.dumps(rng))) == str(rng) and str(rng.spawn(1)[0]) == str(rng)


def test_legacy_states() -> None:
    ours, numpys = generators()[1]
    ours.randn(), numpys.randn()
    state = ours.get_state()
    assert state[0] == "MT19937" and state[2:] == numpys.get_state()[2:]
    assert ours.get_state(legacy=False)["bit_generator"] == "MT19937"
    first = ours.randn(3)
    ours.set_state(state)
    assert (ours.randn(3) == first).all()
    numpys.set_state(state)
    same(first, numpys.randn(3))
    ours.seed(9)
    assert ours.rand() == np.random.RandomState(9).rand()
    assert str(ours) == "RandomState(MT19937)" and repr(ours).startswith("RandomState(MT19937) at 0x")
    for restored in (pickle.loads(pickle.dumps(ours)), copy.copy(ours)):
        assert type(restored) is tnp.random.RandomState
    assert pickle.loads(pickle.dumps(ours)).rand() == copy.deepcopy(ours).rand()


@pytest.mark.parametrize("name", [n for n in np.random.__all__ if n in np.random.RandomState.__dict__])
def test_functions_share_numpys_hidden_state(name: str, numpys_state: None) -> None:
    arguments = {
        "bytes": (3,),
        "choice": (5, 3),
        "dirichlet": ([1.0, 2.0],),
        "get_state": None,
        "multinomial": (3, [0.5, 0.5]),
        "multivariate_normal": ([0, 0], COV),
        "permutation": (5,),
        "randint": (5,),
        "random_integers": (5,),
        "seed": None,
        "set_state": None,
        "shuffle": ([1, 2, 3],),
    }.get(name, DISTRIBUTIONS.get(name, ()))
    if arguments is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tnp.random.seed(6)
        drawn = getattr(tnp.random, name)(*arguments)
        after = np.random.random()  # the same stream, which went on
        np.random.seed(6)
        same(drawn, getattr(np.random, name)(*arguments))
        assert np.random.random() == after


def test_functions_of_the_hidden_state(numpys_state: None) -> None:
    tnp.random.seed(tnp.asarray([3, 4]))
    state = tnp.random.get_state()
    drawn = [tnp.random.sample(2), tnp.random.ranf(), tnp.random.random(), tnp.random.rand(2)]
    tnp.random.set_state(state)
    for one, other in zip(
        drawn, [np.random.sample(2), np.random.ranf(), np.random.random(), np.random.rand(2)], strict=True
    ):
        same(one, other)
    assert type(tnp.random.get_bit_generator()).__name__ == "MT19937"


# torch's numbers.


class Recorder:
    """Stands in for a stream on a device that this machine may lack."""

    def __init__(self, device: Any, seed: int) -> None:
        self.device, self.seed = device, seed


def test_the_device_decides_who_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tnp.random._distributions.Stream", Recorder)
    monkeypatch.setattr("backend_torch.tensors.devices._present", {})
    monkeypatch.setattr("backend_torch.tensors.devices.is_present", lambda device: True)
    named = tnp.random.default_rng(4, device="cuda")
    stream = named._stream()
    assert isinstance(stream, Recorder) and stream.device == torch.device("cuda")
    assert stream.seed == np.random.SeedSequence(4).generate_state(1, np.uint64)[0]
    assert named._stream() is stream
    assert all(child._device == torch.device("cuda") for child in named.spawn(2))
    anywhere, legacy = tnp.random.default_rng(4), tnp.random.RandomState(4)
    assert anywhere._stream() is None and legacy._stream() is None
    monkeypatch.setattr("backend_torch.tensors.devices.moved", True)
    monkeypatch.setattr("backend_torch.tensors.devices.state.default", torch.device("cuda:1"))
    for rng in (anywhere, legacy):
        stream = rng._stream()
        assert isinstance(stream, Recorder) and stream.device == torch.device("cuda:1")
    assert tnp.random.default_rng(4, device="cpu")._stream() is None


@pytest.mark.parametrize("make", ON_TORCH)
@pytest.mark.parametrize("name", PLAIN + list(DISTRIBUTIONS))
def test_torch_draws_the_same_kinds_of_arrays(name: str, make: Callable[[], Any]) -> None:
    parameters = DISTRIBUTIONS.get(name, ())
    rng, numpys = make(), np.random.default_rng(0)
    if name in ("hypergeometric", "zipf"):
        with pytest.raises(NotImplementedError, match="generator on the CPU"):
            getattr(rng, name)(*parameters)
        return
    for size in SIZES:
        drawn, expected = getattr(rng, name)(*parameters, size=size), getattr(numpys, name)(*parameters, size=size)
        assert isinstance(drawn, tnp.ndarray)
        assert drawn.dtype == np.asarray(expected).dtype and drawn.shape == np.shape(expected)
        assert (type(drawn) is tnp.ndarray) == (size is not None)
    if parameters:
        first, *rest = parameters
        assert getattr(rng, name)(tnp.full((2, 1), first), *[[each] * 3 for each in rest]).shape[0] == 2
        with pytest.raises(ValueError, match="Output size"):
            getattr(rng, name)(tnp.full((2, 1), first), *rest, size=(3,))
    assert (getattr(make(), name)(*parameters, size=4) == getattr(make(), name)(*parameters, size=4)).all()


@pytest.mark.parametrize("make", ON_TORCH)
def test_torch_draws_orders_and_samples(make: Callable[[], Any]) -> None:
    rng = make()
    x = tnp.arange(12).reshape(4, 3)
    assert sorted(rng.permutation(5).tolist()) == [0, 1, 2, 3, 4]
    permuted = rng.permutation(x)
    assert permuted.shape == x.shape and sorted(permuted[:, 0].tolist()) == [0, 3, 6, 9]
    for data in (tnp.arange(9), np.arange(9), list(range(9)), torch.arange(9)):
        rng.shuffle(data)
        values = [int(value) for value in data]
        assert values != list(range(9)) and sorted(values) == list(range(9))
    assert rng.choice(5, 3).shape == (3,) and int(rng.choice(5)) in range(5)
    assert sorted(rng.choice([5, 6, 7], 3, replace=False).tolist()) == [5, 6, 7]
    assert rng.choice(tnp.arange(3.0), (2, 2), p=[0.0, 1.0, 0.0]).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert rng.dirichlet([1.0, 2.0], 3).shape == (3, 2)
    assert rng.multinomial(5, [0.5, 0.5], 3).sum(1).tolist() == [5, 5, 5]
    assert rng.multivariate_normal([0.0, 1.0], COV, 3).shape == (3, 2)
    assert len(rng.bytes(4)) == 4


def test_torch_draws_for_a_generator() -> None:
    rng = ON_TORCH[0]()
    assert rng.random(3, dtype="f4").dtype == np.float32
    out = tnp.zeros((2, 3), "f4")
    assert rng.standard_normal(out=out, dtype="f4") is out and out.all()
    assert rng.standard_gamma(2.0, out=tnp.zeros(3)).all()
    for options, error in (
        ({"out": out}, TypeError),
        ({"out": out, "dtype": "f4", "size": 2}, ValueError),
        ({"dtype": "f2"}, TypeError),
    ):
        with pytest.raises(error):
            rng.random(**options)
    assert rng.integers(3, 9, (50,), dtype="uint8").dtype == np.uint8
    assert set(rng.integers(tnp.asarray([2, 3]), size=(50, 2), endpoint=True)[:, 0].tolist()) == {0, 1, 2}
    x = tnp.arange(12).reshape(4, 3)
    assert (tnp.sort(rng.permuted(x, axis=1), 1) == x).all()
    assert (tnp.sort(rng.permuted(x), None) == x.ravel()).all()
    rng.shuffle(x, axis=1)
    assert sorted(x[0].tolist()) == [0, 1, 2]
    with pytest.raises(NotImplementedError):
        rng.multivariate_hypergeometric([3, 4], 2)
    with pytest.raises(NotImplementedError):
        rng.shuffle([1, 2, 3], axis=1)


def test_torch_draws_for_a_legacy_state() -> None:
    rng = ON_TORCH[1]()
    assert rng.rand(2, 3).shape == (2, 3) and rng.randn(2).shape == (2,)
    assert rng.randint(5, size=3).dtype == np.int64
    assert set(rng.random_integers(2, size=50).tolist()) == {1, 2}
    assert (rng.tomaxint(5) >= 0).all()


def test_torch_goes_on_from_where_it_was() -> None:
    rng = OnTorch(tnp.random.PCG64(3))
    rng.normal(size=3)
    restored = pickle.loads(pickle.dumps(rng))
    assert type(restored) is OnTorch and (restored.normal(size=3) == rng.normal(size=3)).all()
    state = LegacyOnTorch(3)
    first = state.normal(size=3)
    restored = copy.deepcopy(state)
    assert (restored.normal(size=3) == state.normal(size=3)).all()
    state.seed(3)
    assert (state.normal(size=3) == first).all()
    numpys = np.random.RandomState(8).get_state()
    state.set_state(numpys)
    first = state.normal(size=3)
    state.set_state(numpys)
    assert (state.normal(size=3) == first).all()
    one, other = OnTorch(tnp.random.PCG64(3)).spawn(2)
    assert (one.normal(size=3) != other.normal(size=3)).all()


# Gradients and compiled functions.


def test_gradients_flow_through_orders() -> None:
    x = tnp.asarray(torch.arange(4.0, dtype=torch.float64, requires_grad=True))
    rng = tnp.random.default_rng(0)
    for drawn in (rng.permutation(x), rng.permuted(x), rng.choice(x, 3), ON_TORCH[0]().choice(x, 3)):
        (gradient,) = torch.autograd.grad((drawn * drawn).sum().tensor, x.tensor)
        assert gradient.sum() == 2 * drawn.sum()
    y = x * 1
    rng.shuffle(y)
    (gradient,) = torch.autograd.grad((y * tnp.arange(4.0)).sum().tensor, x.tensor)
    assert [gradient[int(value)].item() for value in y.tolist()] == [0, 1, 2, 3]


def test_compiled_functions_draw_anew_and_by_seed(numpys_state: None) -> None:
    rng = tnp.random.default_rng(3)

    @tnp.compile(backend="eager")
    def f(x: Any) -> Any:
        y = tnp.arange(5.0)
        rng.shuffle(y)
        return (
            x + rng.normal(x, 2.0),
            tnp.random.rand(3),
            rng.integers(100, size=3),
            rng.permutation(x),
            rng.choice(x, 2),
            y,
            rng.poisson(3.0, 3) + rng.binomial(3, 0.5, 3) + rng.gamma(2.0, size=3) + rng.beta(1.0, 2.0, 3),
            rng.random(),
        )

    x = tnp.arange(3.0)
    tnp.random.seed(1)
    first = f(x)
    assert (first[1] != f(x)[1]).any()
    tnp.random.seed(1)
    assert (first[1] == f(x)[1]).all()
    for one, other in zip(f(x), f(x), strict=True):
        assert one.shape == other.shape
    assert (first[0] != f(x)[0]).any() and sorted(first[5].tolist()) == [0, 1, 2, 3, 4]
    rng = tnp.random.default_rng(3)
    again = tnp.compile(lambda x: x + rng.normal(x, 2.0), backend="eager")
    other = tnp.random.default_rng(3)
    expected = tnp.compile(lambda x: x + other.normal(x, 2.0), backend="eager")
    assert (again(x) == expected(x)).all()
    for draw in (lambda x: rng.vonmises(x, 1.0), lambda x: rng.bytes(3), lambda x: rng.zipf(2.0, 3)):
        with pytest.raises(NotImplementedError, match="outside compiled functions"):
            tnp.compile(draw, backend="eager", fullgraph=True)(x)


@pytest.mark.parametrize("run", ["compiled", "perhaps from the cache on disk"])
def test_machine_code_draws_anew_and_by_seed(numpys_state: None, run: str) -> None:
    f = tnp.compile(lambda x: x + tnp.random.normal(size=3) * tnp.random.standard_gamma(2.0, size=3))
    x = tnp.zeros(3)
    tnp.random.seed(1)
    first, second = f(x), f(x)
    assert (first != second).all()
    tnp.random.seed(1)
    assert (f(x) == first).all() and (f(x) == second).all()


def test_libraries_take_the_streams_for_numpys() -> None:
    """SciPy and scikit-learn ask isinstance of NumPy's classes, and NumPy's default_rng reads the bit generator."""
    rng, state = tnp.random.default_rng(3), tnp.random.RandomState(3)
    assert isinstance(rng, np.random.Generator) and not isinstance(rng, np.random.RandomState)
    assert isinstance(state, np.random.RandomState) and not isinstance(state, np.random.Generator)
    assert type(rng) is tnp.random.Generator and type(state) is tnp.random.RandomState
    theirs, shared = np.random.default_rng(3), np.random.default_rng(rng)
    assert type(shared) is np.random.Generator and not isinstance(tnp.random, np.random.RandomState)
    assert [shared.random(), rng.random(), shared.random()] == theirs.random(3).tolist()
    assert [child.random() for child in shared.spawn(2)] == [child.random() for child in theirs.spawn(2)]
    assert np.random.default_rng(state).random() == np.random.default_rng(np.random.RandomState(3)).random()


def test_the_hidden_stream_is_a_random_state() -> None:
    hidden = tnp.random.mtrand._rand
    assert isinstance(hidden, tnp.random.RandomState) and isinstance(hidden, tnp.random.mtrand.RandomState)
    tnp.random.seed(5)
    assert hidden.rand() == np.random.RandomState(5).rand()
