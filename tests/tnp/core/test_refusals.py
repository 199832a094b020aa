"""Calls that NumPy refuses are refused with its class of exception: of two errors in one call, with that of the first.

The fuzzer (``python -m conformance fuzz --refusals``) found these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle import Raised, compare, ours, outcome

ARRAYS = {
    "x": np.arange(6).reshape(2, 3),
    "f": np.arange(4.0),
    "z": np.arange(3) + 1j,
    "b": np.array([True, False]),
    "e": np.zeros((3, 0)),
    "n": np.array(5),
}

REFUSED = """
np.exp(f, casting=f); np.exp(f, order=f); np.exp(f, order=b"x"); np.add(f, f, casting=1)
np.bitwise_and([], -6, dtype=np.uint8); np.matmul(n, -7, dtype=np.uint64); np.divmod(n, n, out=n); np.modf(f, out=f)
np.poly(7); np.poly("abc"); np.roots(2.0); np.polyder(4); np.polyint(3); np.polyval(3.0, 2); np.polyder(x)
np.linalg.tensorinv(6); np.linalg.inv({}); np.linalg.eig(None); np.linalg.qr(b"x"); np.linalg.vecdot(x, x, axis=(0,))
np.tril_indices_from(5); np.triu_indices_from([[1]]); np.diag_indices_from(9); np.rollaxis([1], 0); np.unstack([1, 2])
np.isfortran(3); np.split([1, 2], 2); np.array_split(7, 3); np.hsplit([1, 2], 2); np.split(f, 3)
np.insert(f, [True, False, False, False], 1.0)
np.take_along_axis([1, 2], np.asarray([0])); np.take_along_axis(f, 1j); np.put_along_axis(7, np.asarray([0]), 1, 0)
np.compress([[True]], x, (0, 1)); np.take(e, -1, out=e); np.take(f, [9], out=x); np.put(e, [0], e)
np.take(x, 0, True); np.repeat(x, 2, True); np.argpartition(x, 0, True); np.argsort(x, True); np.squeeze(e, True)
np.packbits(x, True); np.vecdot(x, x, axis=True); np.sum(x, (True,)); np.mean(x, True); np.argmax(x, True)
np.cumprod(1, True); np.cumsum(n, False); np.nancumsum(x, True); np.compress(b, x, True)
np.select([b, [1]], [f, f]); np.fill_diagonal(99, f); np.append(1, 1, (0,)); np.append(f, f, True)
np.fft.fftn(5, axes=0); np.fft.fft2(x, axes=1); np.fft.fftshift(9); np.fft.fft("abc"); np.fft.fftfreq(True)
np.indices(b); np.indices((True,)); np.unravel_index(0, b); np.unravel_index(0, [True]); np.unravel_index(0, (1.5,))
np.ravel_multi_index((0, 0), b); np.unravel_index(0, np.asarray(True)); np.pad(x, 1, x); np.pad(x, 1, ["edge"])
np.add.reduceat(f, [0], axis=[0]); n[()].byteswap(True); np.correlate(f, f, np.int8(-3))
np.cov([], aweights=[], dtype=int); np.histogram2d(f, [1.0, 2.0, -1.7e308, 1.7e308])
np.interp(f, [0.0, 1.0], [1.0, 2.0], left=f); np.cov(x, dtype=int); np.corrcoef(x, dtype=bool)
np.add.reduceat(f, 1); np.add.reduceat(f, [[0]]); np.add.reduceat(f, 1j); np.add.reduceat(f, 2**70)
np.add.accumulate(n, axis=(0,)); np.add.reduce({}, axis=3); np.add.reduce(f, keepdims=1.0)
np.maximum.reduce(f, where=f); np.sum(f, where=z); np.sum(f, keepdims=None); np.add.reduce(f, axis=3, dtype=-7)
np.percentile(z, 101); np.nanquantile(z, 2.0); np.argmin(f, out=z); np.argsort(f, (0,), "heapsort", "K")
np.sort(f, (0,), "heapsort", stable=True); np.partition(f, 1, kind=3); np.argpartition(f, f[None])
x.__imatmul__([]); n.__imatmul__(2**70); np.geomspace(1, 8, axis=(3,)); np.diff({}); np.tensordot("a", x)
np.cross("a", x); np.linalg.cross("a", x); np.bincount("a"); np.swapaxes(7, 2, (0,)); np.array_repr([1])
np.bincount([0], minlength=True); np.array(f, ndmax=-7); np.array(f, ndmin=f); np.cumulative_sum(f, axis=[])
np.quantile(n, 0.5, out=n); np.percentile(x, 50, method="lower", axis=0, out=f); np.linalg.svd(np.float32)
np.array_str(8); np.array2string(2.0); np.var(x, []); np.busday_offset("2024-01-05", 1, out=x)
np.transpose(f, {}); np.transpose(x, {0, 1}); np.transpose(x, iter([0, 1])); np.zeros({1, 2}); np.reshape(f, {4})
np.median("a", 1); np.quantile([None], 0.5, axis=3); np.fft.fftshift(1, (0,)); np.gradient(x > 3, edge_order=2)
np.gradient(b, 1); np.gradient([True], 1); np.matrix_transpose("a")
np.multiply(1.5, 2**70, dtype=bool); np.add(2**70, [1], dtype=bool)
np.multiply(1, -(2**63) - 1, dtype="?", casting="no")
np.add(f, 1, subok=3); np.exp(f, subok=None); np.matmul(f, f, subok=np.True_); np.linalg.norm(b, -(2**70))
np.linalg.vector_norm(x, ord=-(2**70)); np.linalg.vector_norm(f, ord=2**64)
np.fft.fft(1, True); np.fft.irfft(1, 2.5); np.fft.fft(1); np.fft.rfft(f, axis=3); np.fft.fft(f, True, norm="x")
np.fft.fft(f, axis="a"); np.fft.hfft(1); np.fft.rfft2(z, (2, 3))
np.fft.ihfft(1, 1.5, axis="a"); np.fft.irfft(f, axis=None)
np.nan_to_num(f, nan=None); np.nan_to_num(e, nan=None); np.nan_to_num(f, nan={}); np.trapezoid(n)
np.select([b], [n], 2**70); np.linalg.vector_norm(x, axis=1.0, keepdims=True); np.array(x, float, ndmax=True)
np.array(x, "int8", copy=False, ndmax=1)
np.trapezoid(f, 3, axis=(0,)); np.trapezoid(f, axis=(0,)); np.trapezoid(f, dx=None); np.trapezoid(f, axis=1)
np.unique(x, axis=(0,)); np.unique(f, axis=(3,)); np.transpose(f, True); np.transpose(x, False)
np.hamming(np.nan); np.kaiser(np.nan, 1)
np.geomspace(1, 8, axis=None); np.linspace(1, 8, axis=None); np.gcd.at(x, 9, ["a"])
np.maximum.reduce(f, where="abc"); np.nonzero(None); np.where("a"); np.rot90(None)
np.mask_indices(1.5, np.triu); np.convolve(f, f, True)
np.correlate(f, f, 1.0); np.pad(f, np.uint8(1)); np.pad(f, True); np.unstack(x, axis=(0, 1)); np.unique(x, axis=(0, 1))
np.unique(x, axis=()); np.linspace(0, 1, 3, axis=(0, 0)); np.searchsorted(f, f, sorter=[0, 1, 2, 9])
np.choose([0], [f], mode=True); np.put(f, 0, 0, mode=1.0); np.busday_offset("2024-01-05", 1, holidays=x)
np.busday_offset("2024-01-05", 1, weekmask=x); np.modf(f, out=None); np.frexp(f, casting="unsafe", out=None)
np.divmod(f, f, out=None); np.add.at(n, -1, {}); f.view(bool, None); f.view(type=None)
np.zeros(3, np.uint8).view(None); np.trace(x, 2**70); np.diagonal(x, -(2**70)); np.zeros(3, f); np.full(3, 1, dtype=n)
np.sum(f, dtype=f); np.linalg.eig(np.asarray([[np.nan]], "float16")); np.linalg.eig(np.asarray([[0]], "float16"))
np.linalg.pinv([[1.0]], [None]); np.linalg.pinv([[1.0]], "a"); np.copyto(f, 4, "equiv"); np.copyto(x, 4.0, "equiv")
np.hypot(2**31, f, dtype="int8"); np.greater(2**31, f, dtype="int8"); np.add(2**31, f, dtype="int8")
np.invert.at(f, 9); np.gcd.at(f, 9, f); np.isnat.at(f, 9); np.reshape(f, 2**70); np.reshape(f, (-(2**70), 1))
np.var(b, dtype=bool); np.std(x, 1, dtype=bool); np.std(x, 1, dtype=int); np.nanstd(x, 1, int); np.add.at(x, 0, None)
f.diagonal(axis1=1.0); np.trace(7, axis1=None); np.stack([f], casting=(1, 2)); np.ravel_multi_index(b, b, order=2**70)
np.add.reduceat(f, 1, dtype="abc"); np.add.accumulate(n, axis=3, dtype="abc"); np.add.accumulate(None, axis=3)
np.heaviside.reduceat({}, [0], axis=3); np.fmin.at(x, 0); np.isin(f, f, kind=[]); np.bincount(f[None])
np.bincount(f[0]); np.stack([x, x], out=f); np.concatenate([f, z], out=x)
np.fft.fft(f, True); np.fft.irfft(f, True); np.fft.hfft(f, True); np.fft.fftn(f, (True,), (0,)); np.fft.fftn(f, axes={})
np.fft.rfftn(x, (True, 2), (0, 1)); np.fft.rfftn(f, axes={}); np.kaiser(5, None); np.kaiser(5, "a"); np.kaiser(5, f)
np.histogramdd([[1, 2]] * 17); np.fft.ifft(n, 0, (0,)); np.fft.irfft(n, 0, (0,)); np.fft.rfft(n, 0.5)
np.linalg.vector_norm(f, axis=[]); np.linalg.vector_norm(f, axis=e); np.linalg.vector_norm(4, keepdims=f)
np.linalg.norm(f, keepdims=f)
np.gcd.reduce(n, axis=(0,), where=x); np.broadcast_arrays(n, subok=f); np.broadcast_arrays(n, subok=e)
np.subtract.reduce(np.uint8(1), initial=-1, where=[True]); np.min(np.uint64(7), initial=-1, where=b)
np.quantile(f, 0.5, method=f); np.geomspace(1, 8, 0, dtype=n); np.fromiter([1], dtype=n)
np.ravel_multi_index((0, 0), (2, 2), order="A"); np.unravel_index(0, (2, 2), "K"); np.unravel_index(0, (2, 2), 3)
f.var(True); np.mean(f, True); np.fft.rfftfreq(-(2**70)); np.fft.fftfreq(2**70); x.diagonal(["a"], axis2=4)
np.sort(f, kind=3, stable=False); np.argsort(f, kind=99, stable=False); np.concatenate([f], axis=4, dtype=1)
np.hstack([x, f], dtype=1); np.fft.irfftn(1, (4, 4), ["a"]); np.add.reduceat(f, [-24], dtype=[]); np.sum(f, 4, dtype=[])
np.reshape(f, -1, f); np.zeros(2, order=f); np.unique(-1, f, axis=(-2,)); np.searchsorted(f, 1, f)
np.searchsorted(f, 1, {}); f.astype(int, "C", f); np.repeat(f, 2**70); np.linspace(0, 1, 2**70)
np.unravel_index(3, (2, -3)); np.vecdot(f, f, axis=None); np.add.reduce(f, initial={}); np.arange(1j, dtype=np.float32)
np.var(1, {}); np.var(n, f)
np.mean(n, np.zeros(0, int))
f.sort(-1, f, "F")
np.dot(f, x, 1); f.dot(np.ones(3), []); np.choose(b, [f, f], out=f); np.choose(b[0], [x, x], out=n); np.round(x, 2**70)
np.unwrap(f[:2], discont=f); np.unwrap(f[:2], period=f); np.bincount([1], None, 2**70)
np.roll(x, [1, 2], {}); np.vander(f, True); "abc" * n; n * "abc"
n * b"x"; np.unique(1, axis=[]); np.unique(1, axis={}); np.round(f, 2, ...)
np.asarray(f, copy="abc"); np.array(f, copy="abc"); np.reshape(x, 6, copy="abc"); np.nan_to_num(f, "abc")
np.asarray(f, int, copy={}); np.array(f, int, copy=0); np.nan_to_num(f[:1], nan=np.zeros((0, 2)))
np.nan_to_num(n * 1.0, nan=[]); f.item(True); x.item(True, 0); x.item((True, 0)); np.mean(f, where=np.asarray([[1]]))
np.var(f, where=np.asarray([[1.5]])); np.add.accumulate(f, out=(...,)); np.add.reduceat(f, [0], out=(...,))
np.unique(x, axis=np.asarray([0, 1])); np.unique(x, axis=[0]); np.unique(e, axis=np.asarray([5]))
np.unique(f, axis=[0]); np.choose(["a"], [1, 2]); np.choose("a", [1, 2]); np.choose([1.5], [1, 2])
np.choose(1.5, [1, 2])
np.choose([None], [1]); np.fft.fft([[-8]], f); np.fft.hfft(f, e); np.fft.ihfft(n, 0, (0, 1))
np.fft.ihfft(n, 2, (0, 1), "abc")
np.broadcast_to(1, (2,), subok=f); np.ptp(2.0, -2, 1); np.add.accumulate(f, 7, out=3); np.cumsum(f, 7, out=3)
np.trace(f, dtype=n); np.cumulative_sum(f, axis=True, include_initial=True); np.fft.ifft2(["a"], (0,))
np.fft.fftfreq(np.int8(-3)); np.fft.fftfreq(-3); np.std(e.T, mean=[1, 2]); np.linalg.cond(x[:, :2], f);
np.isposinf(f, ...); np.isneginf(f, ...); np.hsplit(e[0], 2**70); np.array_split(f, 2**70); np.flip(n, f)
np.kaiser(1, "a"); np.sum(f, {})
np.sum(f, np.asarray([0])); np.add.accumulate(x, {0}); np.add.reduceat(x, [0], axis=np.asarray([0])); np.cumsum(x, {0})
np.histogramdd(-7, range=(0, 5)); np.trace(f, offset=[]); np.diagonal(f, 1.5); np.linalg.trace(f, offset=[])
np.take(e, [0], axis=1); np.take(f, [0], mode=3); np.take(f, [0], mode=-1); np.choose([0], []); np.choose([0], e.T)
np.take_along_axis(x, np.asarray([[0, 1], [1, 0], [0, 0]]), 1); np.digitize(f, z); np.histogram([1.0, 1.0 + 2**-52])
np.histogramdd(x, weights=f); np.histogramdd([[1.0], [2.0]], [[1, 3, 2], 2]); np.histogramdd(5)
np.geomspace([1, 2], [1, 2, 3]); np.einsum(); np.einsum("i"); np.einsum("i->i"); np.einsum([0]); np.einsum(f)
np.einsum("i,i", f, f, optimize=["einsum_path", (0, 5)]); np.einsum("i,i", f, f, optimize=["x", (0, 1)])
np.vectorize(abs, signature="(n)->(n)")(f, f); np.vectorize(divmod, signature="(n),(n)->(n)")(f, f)
np.vectorize(max, signature="(n),(n)->()")(f, z)
np.vectorize(max, signature="(n),(n)->(n)")(np.ones((2, 3)), x.T[:, :, None])
np.vectorize(max, signature="(n),(n)->(k)", otypes="d")(np.ones((0, 3)), z)
np.array([f], copy=False); np.array([f, z]); np.array(x.tolist(), ndmax=1); np.array([f], ndmax=1); n.view("int16")
np.quantile(f, 0.5, weights=-f, method="inverted_cdf"); np.quantile(f, f[None, None]); np.quantile(e[0], 0.5)
np.quantile(x, 0.5, axis=1, out=f); np.concatenate([f, f], dtype="(2,)i4"); np.repeat(f, [1, 2])
np.poly1d(f).__setattr__("coeffs", f); np.poly1d(f).__setitem__(-1, 3); np.add.accumulate(5); pow(f, 2, 5); pow(2, f, 5)
np.fft.fftn(x, axes=(0, 5)); np.fft.fftn([["a"]], axes=(0, 5)); np.fft.fftn([["a"]], (1,), (0, 1))
np.full((2, 3), [1, 2])
f.view(np.ndarray, type=np.ndarray); f.__imatmul__(f); f.__imatmul__(2.0); f.__imatmul__("a")
np.zeros((2**20, 2**45)); np.repeat(n, 2**45); np.repeat(n, 2**61); np.tile(n, 2**61); np.tile(n, 2**45)
np.arange(2**61)
np.arange(2**45); np.linspace(0, 1, 2**61); np.linspace(0, 1, 2**45); np.geomspace(1, 2, 2**45)
np.broadcast_to(n, 2**60) + 1; np.exp(np.broadcast_to(1.0, 2**60)); -np.broadcast_to(n, 2**60)
np.kron(*[np.broadcast_to(n, 2**31)] * 2)
np.concatenate([np.broadcast_to(n, 2**59)] * 2); np.stack([np.broadcast_to(n, 2**59)] * 2)
np.broadcast_to(n, 2**60).copy()
np.exp(np.broadcast_to(1.0, 2**45)); -np.broadcast_to(n, 2**45); np.array([np.broadcast_to(n, 2**45)] * 2)
np.poly(["a"]); np.gradient(f, 1, 2); np.matrix(x).ptp(axis=-1); np.matrix(x).argmax(axis=-1); np.lexsort([f[:2], "ab"])
np.copyto(f, 1.0, where=f); np.copyto(f, 1.0, where=np.ones((2, 4), bool)); np.unravel_index([0, 0], ())
np.roll(f, [[1, 2]]); np.cov(x[None]); np.kaiser(4, f); np.clip(np.broadcast_to(1.0, 2**60), 0, 2)
np.sort(np.broadcast_to(1.0, 2**45)); np.testing.assert_approx_equal(1.0, 2.0)
f.sum().flags.__setattr__("writeable", False); f.sum().flags.__setattr__("writeable", True)
np.broadcast_to(n, (2**60, 1)).repeat(4, 1); np.bincount([2**60]); np.bincount([], minlength=2**60); np.pad(f, 2**60)
np.tile(f, 2**70); np.repeat(e.T, 2**62, 1); np.interp(1, z[0], f); np.interp(z, z[:0, None], f)
np.fill_diagonal(x, ["a"], f); np.fill_diagonal(x, [2**70], x)
np.fft.fft("abc", 3); np.fft.ihfft(b"x", 3); np.fft.ifft("abc", 0); np.fft.fft([None], 3); np.fft.fft(f, axis=2**70)
np.fft.irfft(f, axis=-(2**70)); np.fft.fft(f, 3, 2**70); np.linalg.norm(f, ord=[]); np.linalg.norm(f, [1, 2])
np.linalg.vector_norm(x, ord=[1, 2, 3]); np.linalg.norm(f, ord={}); np.tri(3, 3, f[:1]); np.tri(3, 3, "a")
np.put_along_axis(x, np.full((1, 3), 7), [1, 2], 0); np.put_along_axis(x, np.full((2, 2), 7), "abc", 0)
np.put_along_axis(x, np.full((3, 2), 0), 1, 0); np.put_along_axis(x, np.full((1, 3), 7), 1, 0)
np.array_equal(f, ["a"] * 4, equal_nan=True); np.quantile(x, 0.5, f, weights=x); np.nanpercentile(x, 5, 7, weights=x)
np.maximum.reduce(f, dtype=f); np.minimum.reduce(f, dtype=f); np.linalg.vecdot(f, f, axis=f); np.quantile(f[:0] > 0, [])
f[np.array(2**64 - 2, "uint64")]; x[[0], np.array(2**64 - 2, "uint64")]; f.__setitem__(np.array(2**64 - 2, "uint64"), 1)
np.equal.at(f, np.array(2**64 - 2, "uint64"), n[None][:0]); np.linspace(2**70, 1, dtype=int); np.linspace(1, 2**70, 3)
np.linspace(-(2**63) - 1, 1, 3); np.linspace(2**64, 1, 3); np.logspace(2**70, 1, 3)
np.mean(n, 5, where=[True, False]); np.std(n, [1], where=[True, False]); np.kaiser(4, None); np.kaiser(1, "a")
np.average(np.zeros((0, 1, 0)), -3, []); np.average(np.zeros((2, 0)), 0, [1, -1]); np.copy(f, subok=f)
np.array(f, subok=f); np.roots(n); np.poly(n)
np.is_busday("2011-07-01", holidays=["2011-07-01"], busdaycal=np.busdaycalendar())
np.arange(0j, dtype=int); np.arange(-1 + 0j, dtype="f4"); np.arange(2 + 1j, dtype=bool)
np.arange(np.asarray(2j), 3, dtype="f4")
np.gradient(np.zeros((3, 1)), 0, edge_order=2); np.resize(f, n)
np.minimum(1, -(2**70), dtype=bool, casting="unsafe"); np.busday_count([], (), out=np.zeros(0, "f2"))
np.is_busday("2011-07-01", busdaycal=())
np.is_busday("2011-07-01", None)
"""


OF_THE_HOST = """
np.histogram2d(f, [1.0, 2.0, -1.7e308, 1.7e308]); np.histogram(f, [np.nan, np.nan, 3.0], weights=z[[0, 1, 2, 0]])
np.argpartition(f, f[None]); np.array([f], ndmax=1); np.ndarray((2,), float, np.arange(4.0), 8); np.frombuffer(f)
np.frombuffer(f, "i1", 4, 8)
"""
"""What searches among edges without an order, and what is read as memory: on another device that is not NumPy's."""


def codes(text: str) -> list[str]:
    return [code.strip() for line in text.splitlines() for code in line.split(";") if code]


def calls(text: str) -> list[Any]:
    """The calls of a text, those of the host with its mark."""
    of_the_host = set(codes(OF_THE_HOST))
    return [pytest.param(code, marks=pytest.mark.host) if code in of_the_host else code for code in codes(text)]


@pytest.mark.parametrize("code", calls(REFUSED))
@pytest.mark.host  # elsewhere NumPy is given no array
def test_refused_as_by_numpy(code: str) -> None:
    def call(xp: Any) -> Any:
        arrays = {name: xp.asarray(array.copy()) for name, array in ARRAYS.items()}
        return eval(code, {"np": xp, **arrays})

    compare(call, raises=Exception)


CASTS = [
    "np.take([1, 2, 3], c)", "np.put(np.zeros(3), c, 3)", "np.argmax(np.ones((*c.shape, 2)), -1, out=c)",
    "np.choose(c, [1, 2])",
    "np.add(1, [1, 2], where=c)", "np.sum([1, 2], where=c)", "np.place(np.zeros((), int), [True], c)",
    "np.putmask(np.zeros((), int), True, c)", "np.nan_to_num(np.zeros(2), nan=z)",
    "np.interp(z, [0, 1], [0, 1])", "np.repeat([1], c)", "np.copyto(np.zeros((), int), c)",
]  # fmt: skip


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("code", CASTS)
def test_a_cast_that_is_refused_is_of_a_scalar_or_of_array_data(code: str, shape: tuple[int, ...]) -> None:
    def call(xp: Any) -> Any:
        return eval(code, {"np": xp, "c": xp.zeros(shape), "z": xp.zeros(shape, complex)})

    found = [outcome(call, xp) for xp in (np, ours())]
    errors = [(type(each.error), str(each.error)) if isinstance(each, Raised) else None for each in found]
    assert errors[0] == errors[1]


ACCEPTED = """
np.linalg.vector_norm(x, axis=1.0); np.array(x, int, ndmax=1); np.array(x, float, ndmax=2)
np.insert(2.0, np.zeros(0, int), np.zeros((3, 0))); np.insert(x, np.zeros(0, int), np.zeros((2, 0, 1)), 0)
np.select([b[:0]], [n], -(2**70)); np.select([b], [np.zeros((0, 1), int)], 2**64)
np.fmin.reduce(x, axis=1, dtype=float); np.fmax.reduce(x, dtype=np.float32)
np.interp(z[:2], [0.0, 1.0], [1j, 2.0], period=1); np.interp(x.T, [0.0, 1.0], [1j, 2.0], period=7)
np.std(3, -1, where=b[:1][0]); np.nanvar(np.asarray(1.0), 0); np.nanmean(2.0, -1)
np.nanquantile(e, 0); np.nanpercentile(e, [10, 20], axis=1); np.nanquantile(x, 0.5, out=f)
np.quantile(2.5, 0.25, out=f); np.add.reduce(f, where=np.float16(2.5)); np.split([[1, 2]], [0], 1)
np.trapezoid([], np.zeros((0, 1, 1)))
np.fft.rfftfreq(-3); np.bincount([], 1, 3); np.bincount([], [1j, 2]); np.tile(f, b); np.tile(f, [True, False])
np.histogram(f, [np.nan, np.nan, 3.0], weights=z[[0, 1, 2, 0]]); np.tile(n, True)
np.fft.fftn(n, norm=[[1], [1, 2]]); np.linalg.matrix_rank(1)
np.fft.rfft(f, True); np.fft.ihfft(f, True); np.fft.rfftn(x, (2, True), (0, 1)); np.lexsort("float32"); np.lexsort("ab")
np.flip(x, {0}); np.flip(x, np.asarray([0, 1])); np.flip(f, {}); np.median(x, np.asarray([0, 1])); np.average(1, {})
np.quantile(x, 0.5, {0, 1}); np.nanquantile(n, [0.1, 0.9], np.zeros((0, 3), int)); np.median(n, np.zeros(0, int))
np.add.accumulate(f, out=...); np.heaviside.accumulate(b, out=...); np.add.reduceat(f, [], out=...)
f.take(np.float16(2.5)); f.put(np.float16(2.5), 1); np.tril_indices(2, True); np.triu_indices_from(x, True)
np.nanquantile(e, 0, method=-7); np.var(b[:1], ddof=np.asarray(8, "uint16")); np.std(x, ddof=np.asarray(1, "uint8"))
np.std(e, ddof=-7); np.var(e, 1, ddof=-7); np.gcd.reduce(x, 1, initial=-1, where=[[True, False, True], [False] * 3])
np.hypot.reduce(f, initial=-3.0, where=[False] * 4); np.gcd.reduce(x, (0, 1), initial=-4, where=x > 9)
np.logical_or.reduce(f, initial={}); np.vecdot(f, f, axis=-1); np.roll(x, 1, {0, 1}); np.tri(np.asarray(1, "uint8"))
np.tri(2, np.asarray(3, "uint8"))
np.correlate(f, f, np.asarray(1, "uint64")); np.asarray(f, copy=[]); np.reshape(f, 4, copy=2)
np.cumulative_sum(f, axis=0, include_initial=True)
np.ravel_multi_index(([0, 1], [1, 0]), (2, 2), order=None); np.unravel_index(3, (2, 3), "f")
np.take(f, [], out=f[:0]); np.take(e, [], axis=1, out=e); np.take(e.T, [7], 1, np.zeros((0, 1)))
np.histogram(f[[1, 1, 1]], "doane"); np.histogram_bin_edges(f[[1, 1, 1]], "scott"); np.histogramdd(f, 2)
np.einsum("i,i", f, f, optimize=["einsum_path", (0, 1)]); np.einsum("ij,jk", x, x.T, optimize=("greedy", 10))
np.add.reduce(f, out=...); np.add.reduce(x, (0, 1), out=...); np.add.reduce(n, out=...)
np.multiply.reduce(x, 1, out=...)
np.vectorize(np.add, signature="(n),(n)->(n)", otypes="f")(np.ones((0, 3)), z.real)
np.vectorize(divmod, signature="(n),(n)->(n),(n)", otypes="fd")(np.ones((0, 3)), z.real)
np.apply_over_axes(lambda a, axis: a.sum(axis, keepdims=True), x, [0, 1]); np.array([1, 2], ndmax=2)
np.array(x, ndmax=1)
np.quantile(x, 0.5, axis=1, out=np.zeros((3, 2))); np.median(f, out=np.zeros(()))
np.quantile(x, 0.5, method="lower", out=n)
np.hypot.reduce(np.zeros((0, 3)), initial=2.0, where=[True, False, True]); np.hypot.reduce(np.zeros((0, 3)))
np.ndarray((2,), float, np.arange(4.0), 8); f.__pow__(2, 5); f.__rpow__(2, 5); f.view(np.float32, np.ndarray)
np.full(0, b"x", complex); np.full((0, 2), None, int); np.full_like(e, "x"); np.full((2, 0), "7", int)
np.full_like(e, {}, shape=(0, 1)); np.full_like(x, None, int, shape=0)
np.linalg.norm(x, [1, 2.5, 3], 0); np.linalg.norm(f, (2,), keepdims=True); np.linalg.vector_norm(f, ord=[1, 2, 3, 4])
np.gradient(f, np.asarray(2.0)); np.gradient(x, 2.0, np.asarray(3.0)); np.polyfit(f, f**2, 1, rcond=1e-9)
np.polyfit([1.0, 1.0, 1.0], f[:3], 1); np.copyto(f, 1.0, where=[1.0, 0, 0, 1]); np.frombuffer(f)
np.frombuffer(f, "i1", 4, 8)
np.linalg.qr(x, "full")[1].shape; np.linalg.qr(x, "f")[0].shape; np.einsum("i,i", f, f, optimize=("greedy", 3))
np.mean(e); np.mean(e, 1); np.mean(e.astype(np.int8), 1); f[:0][np.asarray([], bool)]; e[np.asarray([], int)]
np.kaiser(4, np.asarray(2.0)); np.testing.assert_approx_equal(1.0, 1.0000001)
np.array_equal("a", f); np.array_equal(["a"], ["a"]); np.array_equal([None, 1], [None, 2]); np.array_equal(["a"], f[:1])
np.array_equal([np.datetime64("NaT", "D")], [np.datetime64("NaT", "D")], equal_nan=True)
np.array_equal([[1], [1, 2]], 1)
np.array_equiv(["a"], [["a"], ["a"]]); np.array_equiv("a", ["b"]); np.array_equiv([[1], [1, 2]], 1)
np.poly1d([1, 2]).__pos__().coeffs; np.poly1d(np.poly1d([1, 2], variable="z"), variable="w").variable
f.sum().setflags(write=True, uic=True); f.sum().setflags(5); f.setflags(align=True, uic=False)
np.kaiser(1, {}).shape; np.kaiser(0, None); np.average(np.zeros((2, 0)), 0, [[], []]); np.copy(f, subok=1)
np.linalg.vector_norm(np.zeros((0, 1)), ord=[]); np.linalg.vector_norm(x, ord=[2.5] * 6)
np.linalg.vector_norm(np.ones((2, 1, 3)), ord=[3], axis=(0, 2), keepdims=True)
np.linalg.vector_norm(np.ones((2, 3, 2)), ord=[1, 2], axis=(0, 1)); np.var([0], mean=()); np.var(f[:1], 0, mean=f)
np.var(x, 1, mean=x[None], ddof=1)
np.arange(z[0], dtype=np.float16); np.arange(z[2] * 2, dtype="f4"); np.arange(0, 2, z[1] + 0.1, dtype="f4")
np.arange(z[1], 3, dtype=int)
np.nan_to_num(np.array(-np.inf), neginf=np.array([[-4]])); np.nan_to_num(f, nan=np.ones((1, 4)))
np.put_along_axis(np.array(0), np.zeros(33, int), np.ones((1, 1, 1)), None)
np.roots([n]); np.resize(f, b.sum()); np.resize(f, np.array([2, 3])); np.equal(1, 2**70, dtype=bool)
np.average(np.ones((2, 2, 3)), (0, 2), np.ones((2, 3)), returned=True); x[[0], np.array(1, "uint64")]
np.may_share_memory(f[0], f[0]); np.shares_memory(b[0], b[:1][0]); f[np.array([2**64 - 2], "uint64")]
np.linspace(2**63, -(2**63), 3); np.linspace(1e30, 1, 3); np.linspace(x, 2**70, 3)
np.is_busday("2011-07-01", holidays=["2011-07-01"])
"""


@pytest.mark.parametrize("code", calls(ACCEPTED))
@pytest.mark.host  # elsewhere NumPy is given no array
def test_accepted_as_by_numpy(code: str) -> None:
    def call(xp: Any) -> Any:
        arrays = {name: xp.asarray(array.copy()) for name, array in ARRAYS.items()}
        return eval(code, {"np": xp, **arrays})

    assert not isinstance(compare(call, rtol=1e-12), Raised), "NumPy refuses it"
