"""Expressions of the whole namespace, for tests with arrays on another device than the CPU.

In them ``np`` is the namespace, and the other names are those of ``arrays``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays(xp: Any, **options: Any) -> dict[str, Any]:
    """Return the arrays that the expressions name, for NumPy or for tnp on a device."""
    values = np.arange(1.0, 13.0).reshape(3, 4)
    made = {
        "x": values,
        "s": np.eye(3) * [2.0, 3.0, 4.0],
        "v": np.arange(1.0, 5.0),
        "i": np.array([2, 0, 1]),
        "b": values > 3,
        "c": values + 1j,
    }
    return {name: xp.asarray(value, **options) for name, value in made.items()}


OF_ARRAYS = """
np.gcd(i, 12); np.lcm(12, i); np.logaddexp(x, 2.0); np.logaddexp2(2.0, x); np.nextafter(x, 9.0); np.logical_and(1.0, x)
np.logical_or(x, 0); np.logical_xor(0, x); np.divmod(i.astype(np.uint64), 3); np.roll(i.astype(np.uint16), 1)
np.place(i.astype(np.uint16), i > 1, i[:2].astype(np.uint16))
np.any(i.astype(np.uint16)); np.all(i.astype(np.uint64), axis=0, keepdims=True); i > i.astype(np.uint64)
np.gcd(6, i.astype(np.uint64)); np.roll(b, (1, 1), (0, 1))
x + x; x - v; x * 2; x / v; x // v; x % v; x**2; 2**x; -x; abs(x); x < v; x == x; x @ x.T; v @ v
x[0]; x[1, 2]; x[:, 1]; x[..., None]; x[::2]; x[::-1]; x[i]; x[:, i]; x[i[:, None], i]; ~b; b & b; i << 1; i ^ i
x + np.float64(3); x + np.asarray(2.0, device="cpu") if np.__name__ == "tnp" else x + 2.0
np.exp(x); np.log(x); np.sin(x); np.arctan2(x, v); np.maximum(x, v); np.hypot(x, v); np.sqrt(x); np.square(x)
np.reciprocal(x); np.floor(x); np.isnan(x); np.sign(x); np.logaddexp(x, v); np.modf(x); np.frexp(x); np.divmod(x, v)
np.gcd(i, i); np.bitwise_count(i); np.ldexp(v, 2); np.nextafter(x, v); np.copysign(x, v); np.heaviside(x, v)
np.float_power(x, 2); np.cbrt(x); np.spacing(x); np.fmod(x, v); np.clip(x, 2, 5); np.round(x, 1); np.nan_to_num(x)
np.sinc(x); np.i0(x); np.angle(c); np.real(c); np.imag(c); np.conj(c); np.fix(x); np.isclose(x, x); np.iscomplex(c)
x.sum(); x.sum(0); np.sum(x, axis=1, keepdims=True); x.mean(); np.mean(x, 0); x.std(1); x.var(); np.median(x)
np.median(x, axis=0); np.prod(x, 0); x.max(); x.min(1); np.argmax(x, 1); np.argmin(x); np.all(b, 0); np.any(b)
np.count_nonzero(b); np.ptp(x, 0); np.average(x, axis=0); np.average(x, weights=v, axis=1); np.nansum(x, 0)
np.nanmean(x, 1); np.nanmax(x, 0); np.nanmedian(x, 0); np.nanstd(x); np.nanvar(x); np.nanprod(x); np.nanargmax(x, 0)
np.quantile(x, 0.3); np.quantile(x, 0.3, axis=0); np.percentile(x, [10, 50], axis=1); np.nanpercentile(x, 10, axis=0)
np.cumsum(x); np.cumsum(x, 0); np.cumprod(x, 1); np.diff(x); np.diff(x, n=2, axis=1); np.nancumsum(x, 0); np.gradient(x)
np.cumulative_sum(v, include_initial=True); np.ediff1d(v); np.trapezoid(x); np.unwrap(x); np.interp(v, v, v)
np.cross(x[:, :3], x[:, :3]); np.concatenate([x, x]); np.stack([x, x], 1); np.vstack([x, x]); np.hstack([x, x])
np.dstack([x, x]); np.column_stack([v, v]); np.block([[x, x], [x, x]]); np.tile(x, (2, 1)); np.repeat(x, 2)
np.repeat(x, 2, axis=0); np.append(x, v); np.append(x, x, axis=0); np.insert(x, 1, 0.0, axis=0)
np.delete(x, 1, axis=1); np.split(x, 3); np.array_split(x, 2); np.hsplit(x, 2); np.unstack(x); np.pad(x, 1)
np.pad(x, 2, mode="reflect"); np.pad(x, 1, mode="mean"); x.reshape(4, 3); x.ravel(); x.flatten(); x.T; np.transpose(x)
np.swapaxes(x, 0, 1); np.moveaxis(x, 0, 1); np.expand_dims(x, 0); np.squeeze(x[None]); np.broadcast_to(v, (2, 4))
np.broadcast_arrays(x, v); np.atleast_3d(x); np.flip(x, 0); np.fliplr(x); np.rot90(x); np.roll(x, 1); np.roll(x, 1, 0)
np.resize(x, (2, 3)); np.copy(x); x.copy(); x.astype("f4"); x.astype(int); x.view("i8"); np.matrix_transpose(x)
np.sort(x); np.sort(x, 0); np.argsort(x, 1); np.partition(x, 2); np.lexsort((v, v)); np.searchsorted(v, x)
np.sort(np.sqrt(5.5 - x)); np.sort(-np.sqrt(5.5 - x)); np.argsort(-np.sqrt(5.5 - x), stable=True); np.r_[v, 2.5]
np.add(v, 1, where=[True, False, True, True], out=v * 2)
np.sum(x.astype("u2"), where=b); np.max(x.astype("u8"), axis=0, initial=0, where=b); np.mean(x.astype("u4"), where=b)
np.linalg.pinv(x, rcond=np.asarray(0.1)); np.linalg.matrix_rank(x, rtol=np.asarray(0.1))
np.sort_complex(c); np.take(x, i, axis=1); np.take_along_axis(x, i[:, None], 1); np.where(b, x, 0.0)
np.choose(i, [i, i, i]); np.select([b], [x], 0.0); np.digitize(x, v); np.isin(x, v); np.dot(x, x.T); np.inner(x, x)
np.outer(v, v); np.vdot(v, v); np.vecdot(x, x); np.tensordot(x, x, 2); np.einsum("ij,kj->ik", x, x); np.kron(x, x)
np.trace(s); np.matvec(x, v); np.vecmat(v, x.T); np.linalg.inv(s); np.linalg.solve(s, v[:3]); np.linalg.det(s)
np.linalg.slogdet(s); np.linalg.svd(x, compute_uv=False); np.linalg.eigvalsh(s); np.linalg.cholesky(s)
np.linalg.norm(x); np.linalg.norm(x, axis=0); np.linalg.norm(s, 2); np.linalg.matrix_power(s, 3); np.linalg.pinv(x)
np.linalg.matrix_rank(x); np.linalg.cond(s); np.linalg.multi_dot([x, x.T, x]); np.fft.fft(x); np.fft.ifft(x)
np.fft.rfft(x); np.fft.irfft(x); np.fft.fft2(x); np.fft.fftn(x); np.fft.fftshift(x); np.fft.hfft(v); np.tril(x)
np.triu(x); np.diag(v); np.diag(x); np.diagonal(x); np.diagflat(v); np.vander(v); np.meshgrid(v, v); np.ix_(i, i)
np.tril_indices_from(s); np.ravel_multi_index((i, i), (3, 3)); np.unravel_index(i, (3, 3)); np.corrcoef(x); np.cov(x)
np.convolve(v, v); np.correlate(v, v); np.packbits(b); np.unpackbits(i.astype("u1")); np.polyval(v, x)
np.add.reduce(x); np.add.accumulate(x); np.multiply.outer(v, v); np.zeros_like(x); np.ones_like(c); np.full_like(x, 1)
np.asarray(x, "f4"); np.ascontiguousarray(x); np.asfortranarray(x); np.apply_along_axis(np.sum, 0, x)
"""

CREATION = """
np.zeros((2, 3)); np.ones(3, "i4"); np.full((2,), 7); np.full(2, [1.0, 2.0]); np.eye(3); np.identity(3); np.arange(5)
np.arange(2.0, 9.0, 0.5); np.arange(2); np.linspace(0, 1, 5); np.logspace(0, 1, 5); np.geomspace(1, 8, 4); np.tri(3)
np.array([[1, 2], [3, 4]]); np.asarray([1.0, 2]); np.asanyarray(5.0)
np.ascontiguousarray([1.0, 2.0]); np.asfortranarray([[1.0, 2.0]]); np.fromiter(range(3), int)
np.fromstring("1 2", sep=" "); np.fromfunction(lambda i, j: i + j, (2, 3)); np.indices((2, 3)); np.mgrid[0:3, 0:2]
np.ogrid[0:3, 0:2]; np.r_[1:4, 0, 4]; np.tril_indices(3); np.triu_indices(3, 1); np.diag_indices(3); np.hanning(5)
np.kaiser(5, 2.0); np.bartlett(4); np.hamming(4); np.blackman(4); np.fft.fftfreq(5); np.fft.rfftfreq(5)
np.diag([1, 2]); np.vander([1, 2]); np.meshgrid([1, 2], [3, 4]); np.vstack([[1, 2], [3, 4]])
"""

# Expressions that need values, write, or mix arrays with Python data.
OF_VALUES = """
x.__setitem__(0, [1.0, 2.0, 3.0, 4.0]) or x; x.__setitem__((slice(None), 1), 5) or x; x.__setitem__(i, 0.0) or x
x.__setitem__([0, 1], 9.0) or x; x.__setitem__(b, 7) or x; x.__setitem__(x > 3, x[x > 3] * 2) or x
x.__setitem__((i, i), [1.0, 2.0, 3.0]) or x; x[[0, 2]]; x[numpy.array([0, 2])]; x[[True, False, True]]; x[..., [0, 1]]
x[(0, 1), (1, 2)]; x.__setitem__(Ellipsis, 1) or x; x.__setitem__((0, 0), numpy.float64(4)) or x; np.add(x, x, out=x)
np.add(x, 1, where=b, out=x); np.add(x, 1, dtype="f4"); np.add.at(v, i, 1.0) or v; np.add.at(v, [0, 0], 1.0) or v
np.add.reduceat(v, [0, 2]); np.put(v, [0, 1], [9.0, 8.0]) or v; np.place(x, b, [1.0, 2.0]) or x
np.putmask(x, b, 0.0) or x; np.fill_diagonal(s, 5.0) or s; np.fill_diagonal(s, [1.0, 2.0, 3.0]) or s
np.copyto(x, 1.0) or x; np.copyto(x, v, where=b) or x; np.put_along_axis(x, i[:, None], 0.0, 1) or x
np.where(b, x, 0); np.where(b, 1, 0); np.select([b, x > 5], [x, x * 2], 0); np.histogram(x, bins=3)
np.histogram(v, bins=[0, 2, 5]); np.histogram2d(v, v, bins=2); np.bincount(i); np.bincount(i, weights=v[:3])
np.histogram_bin_edges(x); np.unique(x); np.unique(i, return_counts=True); np.unique(i, return_inverse=True)
np.intersect1d(v, v); np.union1d(v, v); np.setdiff1d(v, v); np.isin(i, [0, 1]); np.nonzero(x); np.argwhere(b)
np.flatnonzero(b); np.extract(b, x); np.compress([True, False, True], x, axis=0); np.trim_zeros(v); np.take(x, [0, 1])
np.take(x, 1, mode="clip"); np.take(x, [5, 1], mode="wrap"); np.choose([0, 1], [v[:2], v[:2]])
np.piecewise(v, [v < 2, v >= 2], [0.0, 1.0]); np.vectorize(lambda q: q + 1)(v); np.apply_along_axis(np.sum, 0, x)
np.apply_over_axes(np.sum, x, [0, 1]); np.polyfit(v, v, 1); np.polyval([1.0, 2.0], v); np.convolve(v, [1.0, 2.0])
np.interp(2.5, v, v); np.interp([1.5, 2.5], v, v); np.gradient(x, 2.0); np.gradient(v, v); np.trapezoid(v, v)
np.cov(x, rowvar=False); np.average(x, axis=1, weights=[1.0, 2.0, 3.0, 4.0]); np.median(x, axis=(0, 1))
np.percentile(x, 50, axis=0, method="nearest"); np.quantile(x, [0.1, 0.9], axis=0, method="hazen")
np.nanquantile(x, [0.1, 0.9], axis=1); np.linalg.lstsq(x, v[:3]); np.linalg.qr(x)
np.linalg.svd(x, full_matrices=False)[1]; np.linalg.norm(x, "nuc"); np.linalg.norm(v, 3)
np.linalg.tensorinv(s.reshape(3, 3), 1); np.linalg.tensorsolve(s, v[:3]); np.linalg.matrix_power(s, -1)
np.linalg.det(s.astype(complex)); np.einsum("ii", s); np.einsum("ij,jk,kl", s, s, s, optimize=True); np.kron(v, v)
np.cross(v[:3], [1.0, 2.0, 3.0]); np.tensordot(x, x, ([0], [0])); np.dot(x, [1.0, 2.0, 3.0, 4.0])
x @ [1.0, 2.0, 3.0, 4.0]; x + [1.0, 2.0, 3.0, 4.0]; np.fft.ifftshift(x); np.fft.irfftn(np.fft.rfftn(x))
np.fft.fft(x, n=7, norm="ortho"); np.pad(x, ((1, 2), (0, 3)), mode="edge"); np.pad(x, 2, mode="linear_ramp")
np.pad(x, 2, mode="wrap"); np.pad(x, 1, constant_values=(1.0, 2.0)); np.insert(v, [1, 2], [9.0, 8.0])
np.delete(v, [0, 1]); np.delete(v, v > 2); np.repeat(v, [1, 2, 1, 0]); np.repeat(x, i, axis=0)
np.searchsorted(v, [1.5]); np.searchsorted(v, v, side="right", sorter=np.argsort(v)); np.digitize(v, [1.0, 2.0])
np.lexsort((i, i)); np.partition(v, [1, 2]); np.cumsum(i, dtype="f4"); np.sum(x, where=b); np.mean(x, axis=0, where=b)
np.max(x, axis=0, initial=0.0, where=b); np.std(x, ddof=1, axis=0, where=b); np.all(b, axis=1, where=b)
np.prod(x, where=b); np.any(b, where=[True, False, True, False]); np.clip(x, v, None)
np.clip(x, [1.0, 2.0, 3.0, 4.0], 10.0); np.nan_to_num(x / 0, posinf=1.0); np.around(x, -1); np.divmod(i, 2)
np.ldexp(v, i[:1]); np.isclose(x, [1.0, 2.0, 3.0, 4.0]); np.array_equal(x, x); np.array_equiv(v, v); np.allclose(x, x)
np.i0(v); np.unwrap(v * 3); np.nanmin(x / x, axis=0); np.nanargmin(x, 1); np.nancumprod(x, 1)
np.nanpercentile(x, [10, 20], axis=1, method="nearest"); np.nanstd(x, ddof=1, axis=1)
np.nanmedian(x, axis=1, keepdims=True); np.corrcoef(v, v); np.packbits(b, axis=1); np.unpackbits(np.packbits(b))
np.bitwise_xor.reduce(i); np.logical_and.reduce(b, axis=1); np.maximum.accumulate(x, 1); np.subtract.outer(v, v)
np.hypot.outer(v, v); np.minimum.reduce(x, axis=None); x.nbytes; x.argsort(); x.max(); x.round(1); x.clip(1, 2)
x.repeat(2); x.take([1]); x.dot(v); x.trace(); x.swapaxes(0, 1); x.nonzero(); x.compress([True, False, True], axis=0)
v.searchsorted(2.0); x.cumsum(); x.var(0); x.fill(3.0) or x; x.sort() or x; x.flat[3]; x.flat[[1, 2]]; x.real; c.imag
x.item(3); i.choose([i, i, i]); np.block([[s, s], [s, s]]); np.concatenate((v, [1.0]))
np.stack([v, [1.0, 2.0, 3.0, 4.0]]); np.hstack([v, 5.0]); np.append(v, 5.0); np.full_like(x, v); np.full((2, 4), v)
np.linspace(v[0], v[1], 3); np.linspace(v, v + 1, 3); np.geomspace(v, v * 2, 3)
np.meshgrid(v, v, indexing="ij", sparse=True); np.broadcast_to(v[0], (2,)); np.asarray([v[0], 2.0]); np.array([v, v])
np.vander(v, 3, increasing=True); np.triu_indices_from(s); np.diag_indices_from(s)
np.count_nonzero(b, axis=1, keepdims=True); np.sinc(v); np.frexp(v); x == 3; 3 < x; x % 3; -x // 2; 2.5 ** v
divmod(v, 2); v.astype("u2") + 1; v.astype("u8") // 3; v.astype("u4") < 3; v.astype("u2")[i]; np.sort(v.astype("u2"))
v.astype("u8").sum(); v.astype("u4").max(); v.astype("f2") + 1; v.astype("u2").cumsum(); abs(c); c.conj(); c * 2j
np.exp(c); c.sum(); c ** 2; c / v; np.sqrt(c); np.add.reduce(c, 0); c + v[0]; np.maximum(c, c); v[0] + c; np.sort(c)
"""


def split(text: str) -> list[str]:
    """Split a text into its expressions, at semicolons and line ends."""
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]
