"""Machine code of elementwise graphs: each operation gives what torch's gives, and one code serves all sizes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from backend_torch.graphs import code_cache, compiling, elementwise_code
from backend_torch.kernels import host
from backend_torch.torch_private import vector_library

pytestmark = pytest.mark.skipif(vector_library.register() is None, reason="torch has no vector functions here")
aten = torch.ops.aten
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.5, 1e-3, 1e-40, -1e-40, 1e-310, 88.7, -88.7, 90.0, -104.0, 710.0, -746.0,
    1e10, -1e10, 3e38, -3e38, float("inf"), -float("inf"), float("nan"), 1.0 + 2**-20, 0.99999, 7.0, 1e5,
]  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    name: getattr(aten, name).default
    for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "clone", "cos", "cosh", "deg2rad",
        "erfc", "exp", "exp2", "expm1", "floor", "isinf", "isnan", "log", "log10", "log1p", "log2", "neg", "rad2deg",
        "reciprocal", "round", "rsqrt", "sigmoid", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh",
        "trunc",
    )
} | {
    "powers": lambda x: aten.add.Tensor(aten.pow.Tensor_Scalar(x, 2), aten.pow.Tensor_Scalar(x, 3.0)),
    "clamp": lambda x: aten.clamp.default(aten.clamp.default(x, None, 3.0), -2),
    "filled": lambda x: x * torch.full_like(x, 0.1) + torch.ones_like(x) - torch.full((), 1 / 3, dtype=x.dtype),
    "rsub": lambda x: aten.rsub.Scalar(x, 2.5),
    "questions": lambda x: ((x > 0.5) | (x != x)) & ~(x <= 2) ^ (x == 1),
    "infinite": lambda x: aten.where.self(x < 0, torch.full_like(x, -float("inf")), torch.full_like(x, float("nan"))),
}  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {
    name: getattr(getattr(aten, name), overload)
    for name, overload in (
        *[(name, "Tensor") for name in ("add", "sub", "mul", "div", "copysign", "eq", "ne", "lt", "le", "gt", "ge")],
        *[(name, "default") for name in ("atan2", "fmax", "fmin", "hypot", "maximum", "minimum")],
        ("pow", "Tensor_Tensor"),
    )
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TNP_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def program(function: Callable[..., Any], *tensors: torch.Tensor) -> Any:
    """The program of a function whose result is one tensor or several."""

    def run(given: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        results = function(*given)
        return results if isinstance(results, tuple) else (results,)

    return elementwise_code.program(compiling.trace(run, list(tensors)))


def expected_of(function: Callable[..., Any], *tensors: torch.Tensor) -> Any:
    """What the function gives: cosh and sinh one by one, as vectors of torch overflow too early with AVX2."""
    if function in (UNARY["cosh"], UNARY["sinh"]):
        (tensor,) = tensors
        return torch.cat([function(each) for each in tensor.flatten().split(1)]).view(tensor.shape)
    return function(*tensors)


def check(function: Callable[..., Any], *tensors: torch.Tensor) -> None:
    """A function's program gives what the function gives, up to rounding."""
    made = program(function, *tensors)
    assert made is not None
    found, expected = made(list(tensors)), expected_of(function, *tensors)
    for one, other in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert one.dtype == other.dtype and one.stride() == other.stride()
        eps = torch.finfo(other.dtype).eps if other.is_floating_point() else 0.0
        tiny = torch.finfo(other.dtype).smallest_normal * eps if eps else 0.0
        torch.testing.assert_close(one, other, rtol=4 * eps, atol=tiny, equal_nan=True)
        if other.is_floating_point() and function not in (BINARY["fmax"], BINARY["fmin"]):  # of zeros either will do
            zeros = (one == 0) & (other == 0)
            assert torch.equal(one[zeros].signbit(), other[zeros].signbit())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name: str, dtype: torch.dtype) -> None:
    check(UNARY[name], torch.tensor(SPECIAL, dtype=torch.float64).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name: str, dtype: torch.dtype) -> None:
    values = torch.tensor(SPECIAL, dtype=torch.float64).to(dtype)
    pairs = torch.cartesian_prod(values, values)
    check(BINARY[name], pairs[:, 0].contiguous(), pairs[:, 1].contiguous())


def test_bools_go_in_and_out() -> None:
    x, mask = torch.linspace(-1, 1, 37), torch.arange(37) % 3 == 0
    check(lambda x, mask: (torch.where(mask, x, -x), mask & (x > 0), ~mask), x, mask)


def test_lone_numbers_are_cast_as_torch_casts_them() -> None:
    x, rate, step = torch.linspace(-1, 1, 37), torch.tensor(0.1, dtype=torch.float64), torch.tensor([0.3])
    check(lambda x, rate, step: (x * rate - step, x > rate), x, rate, step)
    check(lambda x: x.sqrt() + 1, torch.tensor(2.0, dtype=torch.float64))
    assert program(lambda x, rate: x * (rate * 0.3), x, rate) is None  # a product in double precision


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (8,), (16, 1), (17,), (3, 5), (200, 100)])
def test_one_code_serves_all_sizes(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return 2.5 / (1 + torch.exp(-x))

    program(function, torch.ones(4))

    def fail(*arguments: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(elementwise_code, "_built", fail)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    x = torch.linspace(-1, 1, 20000)[: torch.Size(shape).numel()].reshape(shape)
    check(function, x)
    elementwise_code.compiled.cache_clear()  # as in another process
    check(function, x.mT if x.dim() > 1 else x)


OTHERS: dict[str, Callable[..., Any]] = {
    "another shape inside": lambda x: x + x[:1],
    "a reduction": lambda x: x - x.sum(),
    "another dtype": lambda x: x.to(torch.float64),
    "an integer": lambda x: (x * 2).to(torch.int32),
    "alpha": lambda x: torch.add(x, x, alpha=2),
    "a view's base": lambda x: (x + 1)[::2],
    "a power": lambda x: x**2.5,
    "an int that is no float": lambda x: x * (2**53 + 1),
    "a write": lambda x: x.add_(1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_graphs_are_left_to_inductor(name: str) -> None:
    made = program(OTHERS[name], torch.linspace(-1, 1, 6, dtype=torch.float32))
    if made is not None:  # what is computed is elementwise, though the result is a view of it
        assert name == "a view's base"


@pytest.mark.parametrize("count", [3, 512, 1300])
def test_numpys_loops_between_ours(count: int) -> None:
    """Values and truths of one loop are read after NumPy's, whose operands may be numbers."""
    values = torch.tensor(SPECIAL, dtype=torch.float64).repeat(1 + count // len(SPECIAL))[:count]
    half = torch.tensor(0.5)

    def function(x: torch.Tensor, y: torch.Tensor, number: torch.Tensor) -> tuple[torch.Tensor, ...]:
        positive, whole = x > 0, host.WHOLE["cosh cosh"][1](y)
        far = torch.where(positive, torch.atan(torch.atan(x) * 2) + x, torch.tan(y))
        return far, torch.log1p(torch.abs(x)) * number, torch.atan2(x, torch.full_like(x, 2.0)), whole, positive

    check(function, values, values.flip(0).contiguous(), half)


@pytest.mark.parametrize("name", sorted(name for name in host.WHOLE if "integer" in name))
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_whole_ufuncs_of_integers(name: str, dtype: torch.dtype) -> None:
    ufunc, steps = host.WHOLE[name]
    least = torch.iinfo(dtype).min
    values = torch.tensor([0, 1, -1, 2, -7, 12, 100, least, least + 1, -1 - least], dtype=dtype)
    pairs = torch.cartesian_prod(values, values)
    operands = [pairs[:, place].contiguous() for place in range(ufunc.nin)]

    operation = host._one_result if ufunc.nout == 1 else host._two_results

    def function(*given: torch.Tensor) -> Any:
        return host.hosted(ufunc, lambda *tensors: operation(*[*tensors, None][:2], name))(*given)

    made = program(function, *operands)
    if ufunc.nout > 1 or name.startswith("bitwise_count"):
        return  # Inductor calls it
    (found,) = made(operands)
    assert torch.equal(found, steps(*operands))


INTEGERS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, y: (x + y * 3 - x * x, -x, 7 - x, torch.abs(x), torch.sign(x), torch.square(y)),
    "bits": lambda x, y: (x & y, x | y, x ^ 5, ~x, x.view(x.dtype) & 6),
    "shifts": lambda x, y: (torch.bitwise_left_shift(x, y), torch.bitwise_right_shift(x, y), x << 3, x >> 2),
    "order": lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), torch.clamp(x, -2, 9), torch.where(x < y, x, y)),
    "questions": lambda x, y: (x == y, x != 0, x < y, x >= -1, torch.logical_and(x, y), torch.logical_not(x)),
}


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("name", INTEGERS)
def test_functions_of_integers(name: str, dtype: torch.dtype) -> None:
    limits = torch.iinfo(dtype)
    values = torch.tensor([0, 1, -1, 2, -3, 31, 32, 63, 64, limits.min, limits.max], dtype=dtype)
    pairs = torch.cartesian_prod(values, values)
    check(INTEGERS[name], pairs[:, 0].contiguous(), pairs[:, 1].contiguous())


def test_unsigned_integers_are_bits() -> None:
    x = torch.tensor([0, 1, 2**32 - 1, 2**31, 7], dtype=torch.uint32)
    check(lambda x: (x.view(torch.int32) * 3).view(torch.uint32), x)
    assert (
        program(lambda x: x == x.view(torch.int32).view(torch.uint32), x) is None
    )  # Inductor knows whether it has a sign
    assert program(lambda x: x * 0.5, torch.arange(5)) is None  # floats of integers


@pytest.mark.parametrize("compiler", ["/no/such/compiler", "false"])
def test_without_a_compiler_there_is_no_program(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", compiler)
    assert program(lambda x: x * 1.23456, torch.ones(3)) is None


def test_a_damaged_library_is_made_anew(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * 7.25

    def libraries() -> set[Path]:
        return set(code_cache.folder().glob("*/kernel_0.so"))

    before = libraries()
    check(function, torch.ones(3))
    (library,) = libraries() - before
    library.unlink()  # it is loaded: what is written over it would be run
    library.write_bytes(b"")
    elementwise_code.compiled.cache_clear()
    check(function, torch.ones(3))
    assert library.stat().st_size > 0
    assert "is made anew" in capfd.readouterr().err

    assert json.loads((library.parent / "facts.json").read_text())["operations"] == 1
    load, tried = vector_library.load, []

    def load_the_second(path: str, functions: Any) -> Any:
        tried.append(path)
        if len(tried) == 1:
            raise OSError("of another machine")
        return load(path, functions)

    monkeypatch.setattr(vector_library, "load", load_the_second)
    elementwise_code.compiled.cache_clear()
    check(function, torch.ones(3))
    assert len(tried) == 2 and "of another machine" in capfd.readouterr().err
