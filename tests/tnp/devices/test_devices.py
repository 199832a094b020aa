"""Devices: scopes, defaults, moves, and the whole namespace on ``meta`` and on a fake accelerator."""

from __future__ import annotations

import inspect
import operator
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from backend_torch.tensors import devices
from tests import fake_device
from tests.expressions import CREATION, OF_ARRAYS, OF_VALUES, arrays, split

META = torch.device("meta")
CPU = torch.device("cpu")

AS_DEVICE = """
x.device; x.to_device("cpu"); h.to_device("fake"); np.asnumpy(x); np.devices(); repr(x); np.copy(x, device="cpu")
np.copy(h, device="fake"); np.asarray(h, device="fake"); np.asarray(h); np.zeros(2, device="fake:0"); np.copy(h)
x + h; x @ np.ones((4, 2)); np.where(b, x, np.zeros((3, 4))); np.concatenate([x, np.zeros((3, 4))]); numpy.asarray(x)
np.stack([x[0], np.zeros(4)]); np.zeros(1, device="fake:1"); np.zeros(2, device=np.devices()[1]); x * h[0]; h[1] * x
np.full_like(h, 1.0, device="fake"); x.to_device(x.device) is x; np.linalg.solve(s, np.ones(3)); np.pin_memory(x)
"""

# Numbers stay the host's beside slices of an accelerator's array.
BATCHED = """
np.all(np.vectorized_map(lambda r: np.remainder(r, 0.3), x) == np.remainder(x, 0.3))
np.all(np.vectorized_map(lambda r: np.divmod(r, -0.3)[1], x) == np.divmod(x, -0.3)[1])
np.all(np.vectorized_map(lambda r: (r + 1j) ** (0.5 - 1j), x) == (x + 1j) ** (0.5 - 1j))
np.all(np.vectorized_map(lambda r: np.arctan2(r, 0.3), x) == np.arctan2(x, 0.3))
"""

ON_TWO_DEVICES = """
x + h; x @ np.ones((4, 2)); np.where(b, x, np.zeros((3, 4))); np.concatenate([x, np.zeros((3, 4))])
np.stack([x[0], np.zeros(4)]); np.linalg.solve(s, np.ones(3))
np.dot(x, np.ones((4, 2))); np.dot(x[0], np.ones(4)); np.inner(x, np.ones((3, 4))); np.vdot(x, np.ones((3, 4)))
np.outer(v, h); np.kron(v, h); np.tensordot(x, np.ones((4, 2)), 1); np.einsum("ij,jk", x, np.ones((4, 2)))
np.matmul(np.ones((2, 3)), x); np.vecdot(x, np.ones(4)); np.matvec(x, np.ones(4)); np.vecmat(h, x)
np.linalg.multi_dot([x, np.ones((4, 2)), np.ones((2, 2))]); np.linalg.lstsq(s, h); np.linalg.tensorsolve(s, h)
v[np.asarray([0, 1])]; h[i]; x[:, np.asarray([0])]; x[np.ones((3, 4), bool)]; np.take(h, i); np.take(x, np.asarray([0]))
h.__setitem__(i, 1.0); v.__setitem__(np.asarray([0]), 1.0); h.__setitem__(i > 0, 1.0); np.put(h, i, 1.0)
np.dot(x, v, out=np.zeros(3)); np.interp(v, h, h); np.convolve(v, h); np.correlate(h, v)
np.take_along_axis(x, np.zeros((3, 1), int), 1); np.put_along_axis(np.copy(x), np.zeros((3, 1), int), 1.0, 1)
np.put_along_axis(np.copy(x), i[:, None], h[:, None], 1); np.searchsorted(v, h); np.digitize(x, h); np.isin(x, h)
np.sum(x, where=np.ones(4, bool)); np.max(x, where=np.ones(4, bool), initial=0); np.mean(x, where=np.ones(4, bool))
np.std(x, where=np.ones(4, bool)); np.all(b, where=np.ones(4, bool)); np.add(x, x, where=np.ones(4, bool))
np.add(x, x, out=np.ones((3, 4))); np.sin(x, out=np.ones((3, 4))); np.sum(x, 0, out=np.ones(4))
np.cumsum(x, 0, out=np.ones((3, 4))); np.argmax(x, 0, out=np.ones(4, int)); np.concatenate([v, v], out=np.ones(8))
np.copy(x).__setitem__(..., np.ones((3, 4))); np.copy(x).__setitem__(0, np.ones(4)); np.ones(4).__setitem__(..., v)
np.copy(x).__setitem__(b, np.ones(1)); np.copy(x).__setitem__(i, np.ones(4)); np.copy(x).__setitem__(0, numpy.ones(4))
np.copyto(np.copy(x), np.ones((3, 4))); np.copyto(np.copy(x), x, where=np.ones((3, 4), bool))
np.fill_diagonal(s * 1, h); np.put(np.copy(x), [0, 1], np.ones(2)); np.place(np.copy(x), np.ones((3, 4), bool), [1.0])
np.place(np.copy(x), b, h); np.putmask(np.copy(x), np.ones((3, 4), bool), x)
np.putmask(np.copy(x), b, h); np.add.at(np.copy(v), [0, 1, 2], h)
np.choose(i, [i, np.ones(3), i]); np.choose(np.zeros(3, int), [i, i]); np.select([b], [np.ones((3, 4))])
np.select([np.ones((3, 4), bool)], [x]); np.histogram(x, h); np.histogram(x, weights=np.ones((3, 4)))
np.bincount(i, weights=h); np.isclose(i, h); np.setdiff1d(x, h); np.lexsort([i, h])
np.add.reduceat(v, np.zeros(1, int)); np.nan_to_num(x, posinf=np.ones(4)); np.insert(x, 0, np.ones(4), 0)
np.ravel_multi_index((i, np.ones(3, int)), (3, 4)); np.asarray([i, h])
np.add.outer(v, h); np.special.logsumexp(x, b=np.ones(4)); np.polyfit(i, h, 1); np.cov(i, h)
"""


@pytest.fixture(autouse=True)
def default() -> Iterator[None]:
    """These tests say themselves where arrays go, wherever the suite runs; no default outlasts them."""
    before = devices._initial, devices.state.default
    tnp.set_default_device(None)
    yield
    devices._initial, devices.state.default = before


@pytest.fixture(scope="module")
def mixed() -> dict[str, dict[str, Any]]:
    """What became of operands on the fake device and on the host."""
    return fake_device.ask(split(ON_TWO_DEVICES))


@pytest.fixture(scope="module")
def fake() -> dict[str, dict[str, Any]]:
    """What became of the expressions on the fake device."""
    return fake_device.ask(split(OF_ARRAYS) + split(OF_VALUES) + split(AS_DEVICE) + split(BATCHED))


DEFAULT = (
    "np.__array_namespace_info__().default_device() == np.zeros(1).device in np.__array_namespace_info__().devices()"
)


@pytest.fixture(scope="module")
def in_fake_scope() -> dict[str, dict[str, Any]]:
    copies = ["np.copy(h)", "np.copy(x)", "np.array(h)", "h.copy()", "h + 1"]
    return fake_device.ask([*split(CREATION), *copies, DEFAULT], True)


@pytest.fixture(scope="module")
def on_meta() -> dict[str, Any]:
    return arrays(tnp, device="meta")


# The whole namespace elsewhere.


def spec(value: Any) -> Any:
    """Shapes and dtypes of a result."""
    if isinstance(value, (tuple, list)):
        return [spec(each) for each in value]
    return (tuple(value.shape), value.dtype) if hasattr(value, "dtype") else type(value)


def assert_all_on(device: torch.device, value: Any) -> None:
    if isinstance(value, (tuple, list)):
        for each in value:
            assert_all_on(device, each)
    elif isinstance(value, tnp.ndarray):
        assert value.device == device


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", split(OF_ARRAYS))
def test_meta_has_shapes_and_dtypes(expression: str, on_meta: dict[str, Any]) -> None:
    expected = eval(expression, {"np": np, **arrays(np)})
    result = eval(expression, {"np": tnp, **on_meta})
    assert spec(result) == spec(expected)
    assert_all_on(META, result)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", split(CREATION))
def test_a_scope_is_where_arrays_are_made(expression: str) -> None:
    expected = eval(expression, {"np": np})
    with tnp.device("meta"):
        result = eval(expression, {"np": tnp})
    assert spec(result) == spec(expected)
    assert_all_on(META, result)
    assert_all_on(CPU, eval(expression, {"np": tnp}))


@pytest.mark.parametrize("expression", split(OF_ARRAYS) + split(OF_VALUES))
def test_an_accelerator_computes_what_numpy_does(expression: str, fake: dict[str, Any]) -> None:
    answer = fake[expression]
    assert answer["error"] is None and answer["difference"] is None
    assert answer["devices"] in (["fake:0"], [])


@pytest.mark.parametrize("expression", split(BATCHED))
def test_numbers_beside_slices(expression: str, fake: dict[str, Any]) -> None:
    assert fake[expression]["error"] is None and fake[expression]["text"] == "True"


def test_an_accelerator_that_is_the_default_is_one_of_the_devices(in_fake_scope: dict[str, Any]) -> None:
    assert in_fake_scope[DEFAULT]["text"] == "True"


@pytest.mark.parametrize("expression", split(CREATION))
def test_an_accelerators_scope(expression: str, in_fake_scope: dict[str, Any]) -> None:
    answer = in_fake_scope[expression]
    assert answer["error"] is None and answer["difference"] is None
    assert answer["devices"] == ["fake:0"]


@pytest.mark.parametrize(
    "function",
    ["array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "arange", "copy", "empty", "empty_like",
     "eye", "frombuffer", "from_dlpack", "fromiter", "fromstring", "full", "full_like", "geomspace", "identity",
     "indices", "linspace", "logspace", "ones", "ones_like", "tri", "zeros", "zeros_like"],
)  # fmt: skip
def test_creation_takes_a_device(function: str) -> None:
    assert inspect.signature(getattr(tnp, function)).parameters["device"].default is None


@pytest.mark.parametrize("value", [[1, 2], np.arange(2.0), torch.ones(2), 3.0], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("make", ["array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "copy"])
def test_conversions_take_a_device(make: str, value: Any) -> None:
    assert getattr(tnp, make)(value, device="meta").device == META


def test_more_creation_on_a_device() -> None:
    assert tnp.frombuffer(bytearray(8), np.int32, device="meta").device == META
    assert tnp.fromiter([1], int, device="meta").device == tnp.fromstring("1", sep=" ", device="meta").device == META
    assert tnp.from_dlpack(np.arange(3), device="meta").device == META
    assert tnp.identity(2, device="meta").device == META
    with tnp.device("meta"):
        buffer = bytearray(8)
        shared = tnp.frombuffer(buffer, np.int32)
        shared[0] = 7
        assert buffer[0] == 7  # what is over memory that is there stays there


@pytest.mark.parametrize(
    "draw",
    ["rand(2, 3)", "randn(2)", "default_rng(0).random((2, 3))", "default_rng(0).normal(size=3)",
     "default_rng(0).integers(0, 5, 4)", "default_rng(0).permutation(4)", "default_rng(0, device='meta').random(2)"],
)  # fmt: skip
def test_random_numbers_of_a_scope(draw: str) -> None:
    with tnp.device("meta"):
        assert eval(f"random.{draw}", {"random": tnp.random}).device == META


@pytest.mark.parametrize("ask", ["float(x[0, 0])", "bool(x[0, 0])", "x[b]", "np.nonzero(x)", "np.unique(x)",
                                 "np.bincount(i)", "x.tolist()", "np.asnumpy(x)", "numpy.asarray(x)"])  # fmt: skip
def test_meta_has_no_values(ask: str, on_meta: dict[str, Any]) -> None:
    with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as refused:
        eval(ask, {"np": tnp, "numpy": np, **on_meta})
    assert "meta" in str(refused.value)


def test_memory_is_planned_on_meta() -> None:
    x = tnp.zeros((100_000, 100_000), np.float32, device="meta")
    assert (x @ x).nbytes == x.nbytes == 40_000_000_000
    assert repr(x) == "array(shape=(100000, 100000), dtype=float32, device='meta')"


# Scopes and defaults.


def test_scopes_nest_and_end() -> None:
    scope = tnp.device("meta")
    assert scope.where == META and repr(scope) == "tnp.device('meta')"
    with scope as where:
        assert where == META
        with tnp.device("cpu"), scope, scope:
            assert tnp.zeros(1).device == META
        with tnp.device("cpu"):
            assert tnp.zeros(1).device == CPU
        assert tnp.zeros(1, device="cpu").device == CPU
        with pytest.raises(ZeroDivisionError), tnp.device("cpu"):
            raise ZeroDivisionError
        assert tnp.zeros(1).device == META
    assert tnp.zeros(1).device == CPU


def test_threads_have_their_own_scopes() -> None:
    shared = tnp.device("meta")
    inside, done = threading.Barrier(2, timeout=30), threading.Barrier(2, timeout=30)
    seen: dict[str, list[str]] = {"first": [], "second": []}

    def work(name: str) -> None:
        here = seen[name]
        here.append(str(tnp.zeros(1).device))
        with shared:
            inside.wait()
            here.append(str(tnp.zeros(1).device))
            if name == "second":
                done.wait()
        if name == "first":  # out of the scope while the other is still in it
            here.append(str(tnp.zeros(1).device))
            done.wait()
        here.append(str(tnp.zeros(1).device))

    with shared:
        threads = [threading.Thread(target=work, args=(name,)) for name in seen]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert tnp.zeros(1).device == META
    assert seen == {"first": ["cpu", "meta", "cpu", "cpu"], "second": ["cpu", "meta", "cpu"]}


def test_an_absent_device_raises_unless_a_fallback_is_named() -> None:
    for ask in (
        lambda: tnp.device("cuda:77"),
        lambda: tnp.set_default_device("cuda:77"),
        lambda: tnp.zeros(1, device="cuda:77"),
        lambda: tnp.arange(3, device="cuda:77"),
        lambda: tnp.asarray([1], device=torch.device("cuda:77")),
        lambda: tnp.ones(1).to_device("cuda:77"),
        lambda: tnp.synchronize("cuda:77"),
    ):
        with pytest.raises(ValueError, match="device 'cuda:77' is not available here: this machine has 'cpu'"):
            ask()
    for absent in ("cpu:1", torch.device("meta", 1)):  # torch takes them for the one that there is
        with pytest.raises(ValueError, match=f"device '{absent}' is not available here"):
            tnp.zeros(1, device=absent)
    assert tnp.zeros(1, device="cpu:0").device == CPU
    with tnp.device("cuda:77", fallback="meta"):
        assert tnp.zeros(1).device == META
    with pytest.raises(ValueError, match="a device is needed"):
        tnp.device(None)


def test_the_namespaces_devices_are_listed_as_numpys() -> None:
    found, expected = (type(xp.__array_namespace_info__().devices()) for xp in (tnp, np))
    assert found is expected  # a tuple since NumPy 2.5


def test_the_default_device() -> None:
    tnp.set_default_device("meta")
    assert tnp.zeros(1).device == META and tnp.__array_namespace_info__().default_device() == META
    with tnp.device("cpu"):
        assert tnp.zeros(1).device == CPU
    x = tnp.ones(2, device="cpu")
    assert tnp.copy(x).device == CPU  # a default is no scope
    tnp.set_default_device("cuda:77", fallback="meta")
    assert tnp.zeros(1).device == META
    tnp.set_default_device(None)
    assert tnp.zeros(1).device == CPU


def test_compiled_functions_follow_the_scope() -> None:
    @tnp.compile
    def made(x: Any) -> Any:
        with tnp.device("meta"):
            y = tnp.zeros(3)
        return tnp.zeros(y.shape) + x

    assert made(tnp.ones(3)).device == CPU
    with tnp.device("meta"):
        assert tnp.compile(lambda x: tnp.zeros(3) + x)(tnp.ones(3)).device == META


def test_dynamo_follows_the_scope() -> None:
    def made(x: torch.Tensor) -> torch.Tensor:
        return tnp.zeros(3).tensor + x

    compiled = torch.compile(made, backend="eager", fullgraph=True)
    assert compiled(torch.ones(3)).device == CPU
    with tnp.device("meta"):
        assert compiled(torch.ones(3, device="meta")).device == META

    @torch.compile(backend="eager", fullgraph=True)
    def scoped(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with tnp.device("meta"):
            y = tnp.zeros(3).tensor
        return y, tnp.zeros(3).tensor + x

    assert [y.device for y in scoped(torch.ones(3))] == [META, CPU]


# Copies and moves.


def test_copy_in_a_scope() -> None:
    x = tnp.arange(3.0)
    with tnp.device("meta"):
        assert tnp.copy(x).device == META and tnp.copy(x, device="cpu").device == CPU
        assert tnp.copy([1, 2]).device == META and tnp.copy(np.arange(2)).device == META
        assert x.copy().device == tnp.array(x).device == tnp.asarray(x).device == CPU  # an array stays where it is
    with tnp.device("cpu"):
        y = tnp.copy(x)
        y[0] = 5.0
        assert x[0] == 0.0  # a copy is new memory, wherever it is
    assert tnp.copy(x).device == CPU and tnp.copy(x, device="meta").device == META


def test_a_copy_goes_between_devices_once_and_only_if_the_data_is_elsewhere(
    fake: dict[str, Any], in_fake_scope: dict[str, Any]
) -> None:
    assert in_fake_scope["np.copy(h)"]["transfers"] == [["_to_copy", "cpu", "fake:0", 24, True]]
    assert in_fake_scope["np.copy(x)"]["transfers"] == []
    for stays in ("np.array(h)", "h.copy()", "h + 1"):
        assert in_fake_scope[stays]["devices"] == ["cpu"] and in_fake_scope[stays]["transfers"] == []
    assert fake["np.copy(h)"]["devices"] == ["cpu"]
    for moves in ('np.copy(h, device="fake")', 'h.to_device("fake")', 'np.asarray(h, device="fake")'):
        assert fake[moves]["devices"] == ["fake:0"] and fake[moves]["difference"] is None
        assert fake[moves]["transfers"] == [["_to_copy", "cpu", "fake:0", 24, True]]
    assert fake["x.to_device(x.device) is x"]["text"] == "True"
    assert fake['x.to_device("cpu")']["devices"] == ["cpu"]
    assert fake["np.asnumpy(x)"]["difference"] is None


@pytest.mark.parametrize("expression", split(ON_TWO_DEVICES))
def test_operands_on_two_devices(expression: str, mixed: dict[str, Any]) -> None:
    error = mixed[expression]["error"]
    assert error is not None and error.startswith("ValueError")
    assert "different devices" in error and "fake:0" in error and "cpu" in error and "to_device" in error


def test_operands_on_meta_and_the_cpu() -> None:
    x, y = tnp.ones(3, device="meta"), tnp.ones(3)
    for mix in (tnp.add, tnp.maximum, tnp.arctan2, lambda x, y: x * y):
        with pytest.raises(ValueError, match="different devices: meta and cpu; move one"):
            mix(x, y)
    for mix in (tnp.subtract, tnp.vecdot, tnp.dot, tnp.inner, tnp.vdot, tnp.copyto, tnp.searchsorted):
        with pytest.raises(ValueError, match="different devices: cpu and meta"):
            mix(y, x)
    with pytest.raises(ValueError, match="different devices: cpu and meta"):
        y[:] = x
    i = tnp.empty(2, int, device="meta")
    for refused in ("y @ m", "y[i]", "x[np.asarray([0])]", "y[x > 0]", "y.take(i)", "y.put(i, 0.0)",
                    "y.__setitem__(i, 0.0)", "y.__setitem__(x > 0, 0.0)"):  # fmt: skip
        with pytest.raises(ValueError, match="different devices"):
            eval(refused, {"np": tnp, "x": x, "y": y, "i": i, "m": tnp.ones((3, 2), device="meta")})
    for write in (
        "iadd",
        "isub",
        "imul",
        "itruediv",
        "ifloordiv",
        "ipow",
        "imod",
    ):
        for other in (x, x[0]):
            with pytest.raises(ValueError, match="different devices: cpu and meta"):
                getattr(operator, write)(y, other)
    assert (y == 1).all()
    for follows in (x + 1, 2.0 * x, x + tnp.asarray(1.0), x + np.float64(1), y[0] * x, tnp.where(x > 0, x, 0.0)):
        assert follows.device == META


def test_samples_between_numbers_of_two_devices() -> None:
    asked = {"np.linspace(v[0], 7, 3, device='cpu')": "cpu", "np.linspace(h[0], v[1], 3, device='fake')": "fake:0"}
    for expression, answer in fake_device.ask(list(asked)).items():
        assert answer["error"] is None and answer["devices"] == [asked[expression]]


def test_pythons_data_goes_where_outputs_masks_and_arrays_without_axes_are() -> None:
    asked = ["np.minimum(v[0, ...], [1, 2])", "np.less.outer((1, 2), v[0, ...])", "np.sin([1.0, 2.0], out=v[:2])"]
    asked += ["np.sum([[1.0, 2.0, 3.0, 4.0]], where=v > 0)", "np.add.accumulate([1.0, 2.0], out=v[:2])"]
    asked += ["np.round(v, 1)"]
    for expression, answer in fake_device.ask(asked).items():
        assert answer["error"] is None and answer["devices"] == ["fake:0"], (expression, answer)


def test_a_copy_of_numpys_array_goes_where_new_arrays_go() -> None:
    for expression, device in (("np.array(numpy.ones(2))", "fake:0"), ("np.asarray(numpy.ones(2))", "cpu")):
        (answer,) = fake_device.ask([expression], True).values()
        assert answer["error"] is None and answer["devices"] == [device], (expression, answer)


def test_draws_that_a_batch_seeds() -> None:
    """Each element has to get the same numbers, as in a loop."""
    drawn = "np.vectorized_map(lambda r: np.random.default_rng(0).permutation(r), x)"
    assert "device='cpu'" in fake_device.ask([drawn], True)[drawn]["error"]


def test_derivatives_by_the_exponent_of_a_number() -> None:
    """torch's derivatives take no number of the host there, as its powers do."""
    for answer in fake_device.ask(["np.grad(lambda z: np.sum(2.0**z))(v)"], forbid=True).values():
        assert answer["error"] is None and answer["devices"] == ["fake:0"]


def test_scalars_follow_the_array(fake: dict[str, Any]) -> None:
    for follows in ("x * h[0]", "h[1] * x"):
        assert fake[follows]["devices"] == ["fake:0"] and fake[follows]["difference"] is None
        assert fake[follows]["transfers"] == []


def test_devices(fake: dict[str, Any]) -> None:
    host = tnp.devices()[0]
    assert host.kind == "cpu" and tnp.zeros(1, device=host).device == CPU
    listed = fake["np.devices()"]["text"]
    assert "Device(kind='fake', index=0, name='CPU memory in disguise', memory_total=2000, memory_free=1000)" in listed
    assert fake["np.zeros(2, device=np.devices()[1])"]["devices"] == ["fake:0"]
    assert "device 'fake:1' is not available here: this machine has 'cpu', 'fake:0'" in str(
        fake['np.zeros(1, device="fake:1")']["error"]
    )


def test_pin_memory(fake: dict[str, Any]) -> None:
    assert "only the host's memory" in fake["np.pin_memory(x)"]["error"]
    if len(tnp.devices()) == 1:
        with pytest.raises(ValueError, match="accelerator: this machine has 'cpu'"):
            tnp.pin_memory([1.0])
    with pytest.raises(ValueError, match="only the host's memory"):
        tnp.pin_memory(tnp.ones(1, device="meta"))


def test_to_device() -> None:
    x = tnp.ones(2)
    assert x.to_device("cpu", non_blocking=True) is x
    assert x.to_device("meta", non_blocking=True).device == META
    tnp.synchronize()
    tnp.synchronize("cpu")
    tnp.synchronize("meta")
