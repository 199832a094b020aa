"""Expressions of the whole namespace, evaluated where arrays are on another device than the CPU.

The names are ``np`` for the namespace and the arrays of ``arrays``.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays(xp: Any, **options: Any) -> dict[str, Any]:
    """What the expressions' names mean, for NumPy or for tnp on some device."""
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


def split(text: str) -> list[str]:
    """The expressions of a text: separated by semicolons, or each line's end."""
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]
