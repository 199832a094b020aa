"""The calls that `functions` and `memory` measure: a row for each function, over ``np`` and the arrays of `values`.

A row is a call with inputs of n elements; `values` defines the names in it. Functions that only describe an array
(``shape``, ``ndim``), print it, or read and write files have no row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy

from bench import place

CUBIC = 300
"""The largest side of matrices for decompositions, whose time grows with its cube."""


def _each(names: str, code: str) -> dict[str, str]:
    """Return a row for each of the names, which have the same arguments."""
    return {name: code.format(name=name) for name in names.split()}


UFUNCS = {
    **_each(
        "absolute arccos arcsin arctan arctanh cbrt ceil conjugate cos cosh degrees exp exp2 expm1 fabs floor frexp "
        "isfinite isinf isnan log log10 log1p log2 logical_not modf negative positive radians reciprocal rint sign "
        "signbit sin sinh spacing sqrt square tan tanh trunc arcsinh",
        "np.{name}(x)",
    ),
    **_each(
        "add arctan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod greater greater_equal "
        "heaviside hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum "
        "multiply nextafter not_equal power remainder subtract",
        "np.{name}(x, y)",
    ),
    **_each("bitwise_and bitwise_or bitwise_xor gcd lcm", "np.{name}(i, j)"),
    **_each("bitwise_count invert", "np.{name}(i)"),
    **_each("left_shift right_shift", "np.{name}(i, 3)"),
    "arccosh": "np.arccosh(large)",
    "ldexp": "np.ldexp(x, short)",
    "matmul": "np.matmul(m, w)",
    "matvec": "np.matvec(m, row)",
    "vecdot": "np.vecdot(m, w)",
    "vecmat": "np.vecmat(row, m)",
    # The same with other dtypes, which have other kernels.
    "add, float32": "np.add(single, single)",
    "add, int64": "np.add(i, j)",
    "add, uint32": "np.add(unsigned, unsigned)",
    "exp, float32": "np.exp(single)",
    "exp, complex128": "np.exp(z)",
    "multiply, complex128": "np.multiply(z, z)",
    "floor_divide, int64": "np.floor_divide(i, j)",
    "remainder, int64": "np.remainder(i, j)",
    "power, by 2": "x ** 2",
    "power, int64": "i ** 3",
    "add, a number": "x + 1.0",
    "add, in place": "np.add(o, 1.0, out=o)",
    "add, out=": "np.add(x, y, out=o)",
    "add, where=": "np.add(x, y, out=o, where=b)",
    "add, strided": "x[::2] + y[::2]",
    "add, transposed": "m + w.T",
}
"""Elementwise functions; ``name, kind`` is another call of the same function."""

CREATION = {
    "arange": "np.arange(n)",
    "array": "np.array(x)",
    "asarray": "np.asarray(x)",
    "asarray_chkfinite": "np.asarray_chkfinite(x)",
    "ascontiguousarray": "np.ascontiguousarray(m.T)",
    "asfortranarray": "np.asfortranarray(m)",
    "astype": "np.astype(x, np.float32)",
    "astype, int64 to float64": "i.astype(np.float64)",
    "copy": "np.copy(x)",
    "empty": "np.empty(n)",
    "empty_like": "np.empty_like(x)",
    "eye": "np.eye(side)",
    "frombuffer": "np.frombuffer(octets)",
    "fromfunction": "np.fromfunction(lambda a, b: a + b, (side, side))",
    "full": "np.full(n, 7.0)",
    "full_like": "np.full_like(x, 7.0)",
    "geomspace": "np.geomspace(1.0, 100.0, n)",
    "identity": "np.identity(side)",
    "indices": "np.indices((side, side))",
    "linspace": "np.linspace(0.0, 1.0, n)",
    "logspace": "np.logspace(0.0, 1.0, n)",
    "meshgrid": "np.meshgrid(row, row)",
    "mgrid": "np.mgrid[0:side, 0:side]",
    "ones": "np.ones(n)",
    "ones_like": "np.ones_like(x)",
    "tri": "np.tri(side)",
    "vander": "np.vander(row, side)",
    "zeros": "np.zeros(n)",
    "zeros_like": "np.zeros_like(x)",
    **_each("bartlett blackman hamming hanning", "np.{name}(n)"),
    "kaiser": "np.kaiser(n, 3.0)",
}
"""New arrays."""

SHAPE = {
    "append": "np.append(x, y)",
    "array_split": "np.array_split(x, 7)",
    "atleast_1d": "np.atleast_1d(x)",
    "atleast_2d": "np.atleast_2d(x)",
    "atleast_3d": "np.atleast_3d(x)",
    "block": "np.block([[m, w], [w, m]])",
    "broadcast_arrays": "np.broadcast_arrays(m, row)",
    "broadcast_to": "np.broadcast_to(row, (side, side))",
    "c_": "np.c_[x, y]",
    "column_stack": "np.column_stack([x, y])",
    "concatenate": "np.concatenate([x, y])",
    "delete": "np.delete(x, places)",
    "diag": "np.diag(m)",
    "diag_indices": "np.diag_indices(side)",
    "diagflat": "np.diagflat(row)",
    "diagonal": "np.diagonal(m)",
    "dstack": "np.dstack([x, y])",
    "expand_dims": "np.expand_dims(x, 0)",
    "flip": "np.flip(x)",
    "fliplr": "np.fliplr(m)",
    "flipud": "np.flipud(m)",
    "hsplit": "np.hsplit(m, 2)",
    "hstack": "np.hstack([x, y])",
    "insert": "np.insert(x, places, 1.0)",
    "ix_": "np.ix_(i, j)",
    "mask_indices": "np.mask_indices(side, np.triu)",
    "matrix_transpose": "np.matrix_transpose(m)",
    "moveaxis": "np.moveaxis(m, 0, 1)",
    "pad": "np.pad(x, 10)",
    "pad, reflect": "np.pad(m, 5, mode='reflect')",
    "r_": "np.r_[x, y]",
    "ravel": "np.ravel(m.T)",
    "repeat": "np.repeat(x, 3)",
    "reshape": "np.reshape(x, (side, -1))",
    "resize": "np.resize(x, 2 * n)",
    "roll": "np.roll(x, 5)",
    "roll, axis": "np.roll(m, 5, axis=1)",
    "rot90": "np.rot90(m)",
    "split": "np.split(x, 2)",
    "squeeze": "np.squeeze(x)",
    "stack": "np.stack([x, y])",
    "swapaxes": "np.swapaxes(m, 0, 1)",
    "tile": "np.tile(x, 3)",
    "transpose": "np.transpose(m)",
    "tril": "np.tril(m)",
    "tril_indices": "np.tril_indices(side)",
    "trim_zeros": "np.trim_zeros(x)",
    "triu": "np.triu(m)",
    "triu_indices": "np.triu_indices(side)",
    "unstack": "np.unstack(m)",
    "vsplit": "np.vsplit(m, 2)",
    "vstack": "np.vstack([x, y])",
}
"""Shapes, joining and splitting."""

INDEXING = {
    "argwhere": "np.argwhere(b)",
    "choose": "np.choose(few % 2, [x, y])",
    "compress": "np.compress(b, x)",
    "copyto": "np.copyto(o, y, where=b)",
    "extract": "np.extract(b, x)",
    "fill_diagonal": "np.fill_diagonal(p, 5.0)",
    "flatnonzero": "np.flatnonzero(b)",
    "nonzero": "np.nonzero(b)",
    "place": "np.place(o, b, row)",
    "put": "np.put(o, i, y)",
    "put_along_axis": "np.put_along_axis(o, i, y, 0)",
    "putmask": "np.putmask(o, b, y)",
    "ravel_multi_index": "np.ravel_multi_index((few, few), (100, 100))",
    "select": "np.select([b, x > 0.5], [x, y])",
    "take": "np.take(x, i)",
    "take, axis": "np.take(m, order, axis=1)",
    "take_along_axis": "np.take_along_axis(x, i, 0)",
    "unravel_index": "np.unravel_index(i, (side, n))",
    "where": "np.where(b, x, y)",
    "where, a number": "np.where(b, x, 0.0)",
    "where, one argument": "np.where(b)",
    "x[mask]": "x[b]",
    "x[mask] = number": "o[b] = 1.0",
    "x[mask] = array": "o[b] = kept",
    "x[indices]": "x[i]",
    "x[indices] = array": "o[i] = y",
    "x[::2]": "x[::2]",
    "x[::-1]": "x[::-1]",
    "x[5:-5] = array": "o[5:-5] = x[5:-5]",
    "m[rows]": "m[order]",
    "m[rows, columns]": "m[order, order]",
    "add.at": "np.add.at(o, i, y)",
}
"""Elements by index and by mask."""

REDUCTIONS = {
    **_each(
        "all any argmax argmin count_nonzero cumprod cumsum cumulative_prod cumulative_sum max mean median min "
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar prod "
        "ptp std sum var",
        "np.{name}(x)",
    ),
    **{
        f"{name}, axis": f"np.{name}(m, axis=0)"
        for name in ("argmax", "cumsum", "max", "mean", "median", "nanmedian", "nansum", "std", "sum")
    },
    "sum, last axis": "np.sum(m, axis=1)",
    "sum, float32": "np.sum(single)",
    "sum, int64": "np.sum(i)",
    "sum, bool": "np.sum(b)",
    "max, int64": "np.max(i)",
    "average": "np.average(x, weights=y)",
    "maximum.accumulate": "np.maximum.accumulate(x)",
    "add.reduceat": "np.add.reduceat(x, places)",
    "percentile": "np.percentile(x, 30)",
    "percentile, axis": "np.percentile(m, [10, 50, 90], axis=0)",
    "quantile": "np.quantile(x, [0.1, 0.5, 0.9])",
    "nanpercentile": "np.nanpercentile(x, 30)",
    "nanquantile": "np.nanquantile(x, 0.3)",
    "bincount": "np.bincount(few)",
    "bincount, weights": "np.bincount(few, x)",
    "corrcoef": "np.corrcoef(m)",
    "cov": "np.cov(m)",
    "digitize": "np.digitize(x, edges)",
    "histogram": "np.histogram(x, bins=50)",
    "histogram, edges": "np.histogram(x, bins=edges)",
    "histogram2d": "np.histogram2d(x, y, bins=20)",
    "histogram_bin_edges": "np.histogram_bin_edges(x, bins='auto')",
    "histogramdd": "np.histogramdd((x, y), bins=20)",
    "trace": "np.trace(m)",
    "trapezoid": "np.trapezoid(x)",
    "diff": "np.diff(x)",
    "ediff1d": "np.ediff1d(x)",
    "gradient": "np.gradient(x)",
    "unwrap": "np.unwrap(large)",
    "convolve": "np.convolve(x, window)",
    "correlate": "np.correlate(x, window)",
}
"""Reductions, scans and statistics."""

SORTING = {
    "argpartition": "np.argpartition(x, half)",
    "argsort": "np.argsort(x)",
    "argsort, stable": "np.argsort(few, stable=True)",
    "argsort, axis": "np.argsort(m, axis=0)",
    "lexsort": "np.lexsort([x, few])",
    "partition": "np.partition(x, half)",
    "searchsorted": "np.searchsorted(sorted_x, y)",
    "searchsorted, in order": "np.searchsorted(sorted_x, sorted_x)",
    "searchsorted, few": "np.searchsorted(edges, x)",
    "sort": "np.sort(x)",
    "sort, int64": "np.sort(i)",
    "sort, axis": "np.sort(m, axis=0)",
    "sort_complex": "np.sort_complex(z)",
    "intersect1d": "np.intersect1d(i, j)",
    "isin": "np.isin(i, j)",
    "isin, few": "np.isin(i, places)",
    "isin, float64": "np.isin(x, y)",
    "setdiff1d": "np.setdiff1d(i, j)",
    "setxor1d": "np.setxor1d(i, j)",
    "union1d": "np.union1d(i, j)",
    "unique": "np.unique(x)",
    "unique, int64": "np.unique(few)",
    "unique, all": "np.unique(few, return_index=True, return_inverse=True, return_counts=True)",
    "unique, rows": "np.unique(pairs, axis=0)",
    "unique_all": "np.unique_all(few)",
    "unique_counts": "np.unique_counts(few)",
    "unique_inverse": "np.unique_inverse(few)",
    "unique_values": "np.unique_values(few)",
}
"""Sorting, searching and sets."""

MATHEMATICS = {
    **_each("allclose array_equal array_equiv isclose", "np.{name}(x, y)"),
    **_each("fix i0 iscomplex isneginf isposinf isreal nan_to_num real_if_close sinc", "np.{name}(x)"),
    **_each("angle imag real", "np.{name}(z)"),
    "around": "np.around(x, 2)",
    "clip": "np.clip(x, 0.3, 0.7)",
    "cross": "np.cross(triples, triples)",
    "dot": "np.dot(x, y)",
    "dot, matrices": "np.dot(m, w)",
    "einsum": "np.einsum('i,i->i', x, y)",
    "einsum, product": "np.einsum('ij,jk->ik', m, w)",
    "inner": "np.inner(x, y)",
    "interp": "np.interp(x, edges, edges)",
    "kron": "np.kron(row, row)",
    "outer": "np.outer(row, row)",
    "packbits": "np.packbits(b)",
    "round": "np.round(x, 2)",
    "tensordot": "np.tensordot(m, w)",
    "unpackbits": "np.unpackbits(bits)",
    "vdot": "np.vdot(x, y)",
    "apply_over_axes": "np.apply_over_axes(np.sum, m, [0])",
    "piecewise": "np.piecewise(x, [x < 0.5, x >= 0.5], [lambda a: a * 2.0, lambda a: a * 3.0])",
    "polyadd": "np.polyadd(x, y)",
    "polyder": "np.polyder(x)",
    "polydiv": "np.polydiv(x, x[8:])",
    "polyfit": "np.polyfit(x, y, 2)",
    "polyint": "np.polyint(x)",
    "polymul": "np.polymul(x, window)",
    "polysub": "np.polysub(x, y)",
    "polyval": "np.polyval(window, x)",
}
"""Mathematics, logic, products and polynomials."""

LINALG = {
    f"linalg.{name}": code
    for name, code in {
        **_each("cholesky cond det eig eigh eigvals eigvalsh inv pinv qr slogdet svd svdvals", "np.linalg.{name}(s)"),
        "cross": "np.linalg.cross(triples, triples)",
        "diagonal": "np.linalg.diagonal(m)",
        "lstsq": "np.linalg.lstsq(tall, y)",
        "matmul": "np.linalg.matmul(m, w)",
        "matrix_norm": "np.linalg.matrix_norm(m)",
        "matrix_power": "np.linalg.matrix_power(s, 3)",
        "matrix_rank": "np.linalg.matrix_rank(s)",
        "matrix_transpose": "np.linalg.matrix_transpose(m)",
        "multi_dot": "np.linalg.multi_dot([m, w, row])",
        "norm": "np.linalg.norm(x)",
        "outer": "np.linalg.outer(row, row)",
        "solve": "np.linalg.solve(s, s)",
        "tensordot": "np.linalg.tensordot(m, w)",
        "trace": "np.linalg.trace(m)",
        "vecdot": "np.linalg.vecdot(m, w)",
        "vector_norm": "np.linalg.vector_norm(x)",
    }.items()
}

FFT = {
    f"fft.{name}": code
    for name, code in {
        **_each("fft fftshift hfft ifft ifftshift ihfft irfft rfft", "np.fft.{name}(x)"),
        **_each("fft2 fftn ifft2 ifftn irfft2 irfftn rfft2 rfftn", "np.fft.{name}(m)"),
        **_each("fftfreq rfftfreq", "np.fft.{name}(n)"),
    }.items()
}

RANDOM = {
    f"random.{name}": code
    for name, code in {
        **_each(
            "exponential gumbel laplace logistic lognormal normal rayleigh standard_cauchy standard_exponential "
            "standard_normal uniform",
            "np.random.{name}(size=n)",
        ),
        **_each("chisquare pareto poisson power standard_gamma standard_t weibull zipf", "np.random.{name}(3.0, n)"),
        **_each("beta f gamma noncentral_chisquare vonmises wald", "np.random.{name}(3.0, 4.0, n)"),
        **_each("geometric logseries", "np.random.{name}(0.5, n)"),
        **_each("rand randn random random_sample", "np.random.{name}(n)"),
        "binomial": "np.random.binomial(9, 0.5, n)",
        "bytes": "np.random.bytes(n)",
        "choice": "np.random.choice(n, n)",
        "dirichlet": "np.random.dirichlet([1.0, 2.0], n)",
        "hypergeometric": "np.random.hypergeometric(5, 5, 5, n)",
        "multinomial": "np.random.multinomial(9, [0.5, 0.5], n)",
        "multivariate_normal": "np.random.multivariate_normal([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], n)",
        "negative_binomial": "np.random.negative_binomial(5, 0.5, n)",
        "noncentral_f": "np.random.noncentral_f(3.0, 4.0, 1.0, n)",
        "permutation": "np.random.permutation(n)",
        "randint": "np.random.randint(0, 9, n)",
        "shuffle": "np.random.shuffle(o)",
        "triangular": "np.random.triangular(0.0, 1.0, 2.0, n)",
        "default_rng": "np.random.default_rng(0).normal(size=n)",
    }.items()
}

OPERANDS = {
    "axis 0": "m, axis=0",
    "axis 1": "m, axis=1",
    "transposed": "m.T, axis=1",
    "sliced": "m[::2, ::2], axis=0",
    "broadcast": "np.broadcast_to(row, m.shape), axis=0",
    "axis 0 of float32": "m_single, axis=0",
    "axis 1 of int64": "m_int, axis=1",
    "axis 0 of bool": "m_bool, axis=0",
}
"""Arguments of functions along an axis."""

ALONG = {
    **{
        f"{name}, {kind}": f"np.{name}({operands})"
        for name in ("sum", "max", "mean", "std", "any", "argmax", "cumsum", "sort", "median")
        for kind, operands in OPERANDS.items()
    },
    **{f"{name}, axes": f"np.{name}(cube, axis=(0, 2))" for name in ("sum", "max", "mean", "std", "any", "median")},
    "add, of a transposed": "np.add(m.T, w)",
    "add, sliced": "np.add(m[::2, ::2], w[::2, ::2])",
    "add, a row": "np.add(m, row)",
    "add, a column": "np.add(m, row[:, None])",
    "add, float32 and int64": "np.add(m_single, m_int)",
    "exp, transposed": "np.exp(m.T)",
    "exp, sliced": "np.exp(m[::2, ::2])",
    "less, bool": "np.less(m, row)",
    "where, broadcast": "np.where(m_bool, m, row)",
    "copy, transposed": "np.ascontiguousarray(m.T)",
    "var, axis 1": "np.var(m, axis=1, keepdims=True)",
    "take, axis 0": "np.take(m, order, axis=0)",
}
"""Calls along axes, with other layouts and dtypes, which are measured with many elements only."""

MANY = 10**4
"""The least number of elements with which the calls of `ALONG` are measured."""

CALLS: dict[str, str] = {
    **UFUNCS,
    **CREATION,
    **SHAPE,
    **INDEXING,
    **REDUCTIONS,
    **SORTING,
    **MATHEMATICS,
    **LINALG,
    **FFT,
    **RANDOM,
}
"""Name -> call."""

UNLIKE = {
    "argpartition", "empty", "empty_like", "linalg.eig", "linalg.eigh", "linalg.eigvals", "linalg.qr", "linalg.svd",
    "partition", "unique_values",
}  # fmt: skip
"""Calls with several right results; those of ``random.`` are random."""

VIEWS_IN_NUMPY = {"flip", "fliplr", "flipud", "rot90", "unstack", "x[::-1]"}
"""Calls that copy nothing in NumPy. torch has no negative strides and copies; a thousand of its views take 0.7 ms."""


HOSTS_ALONE = {"random.hypergeometric", "random.zipf"}
"""Calls that only the CPU accepts: torch can't draw these numbers."""


def chosen(only: Iterable[str], device: str = place.HOST, size: int = 0) -> dict[str, str]:
    """Return the calls of these names, all without names; ``sort`` includes ``sort, axis``, ``fft.`` all of fft."""
    wanted = list(only)
    calls = CALLS if device == place.HOST else {key: CALLS[key] for key in CALLS if key not in HOSTS_ALONE}
    if size >= MANY:
        calls = calls | ALONG
    if not wanted:
        return calls
    found: dict[str, str] = {}
    for name in wanted:
        rows = {
            key: code
            for key, code in calls.items()
            if key == name or key.startswith(f"{name},") or (name.endswith(".") and key.startswith(name))
        }
        if not rows:
            raise ValueError(f"no call on {device} is named {name!r}")
        found |= rows
    return found


def values(n: int) -> dict[str, Any]:
    """Return the calls' NumPy arrays and numbers for a size: arrays of n elements, or about n if the shape needs it."""
    rng = numpy.random.default_rng(7)
    side = max(math.isqrt(n), 2)
    cubic = min(side, CUBIC)
    s = rng.random((cubic, cubic))
    x, y = rng.uniform(0.1, 0.9, (2, n))
    b = rng.random(n) < 0.5
    return {
        "x": x,
        "y": y,
        "o": x.copy(),
        "large": rng.uniform(1.0, 50.0, n),
        "single": x.astype(numpy.float32),
        "z": x + 1j * y,
        "i": rng.permutation(n),
        "j": rng.integers(1, n + 1, n),
        "few": rng.integers(0, 100, n),
        "short": rng.integers(-9, 9, n).astype(numpy.int32),
        "unsigned": rng.integers(0, 99, n).astype(numpy.uint32),
        "b": b,
        "bits": numpy.packbits(b),
        "kept": y[b],
        "octets": x.tobytes(),
        "pairs": rng.integers(0, 9, (n // 2, 2)),
        "triples": rng.random((n // 3, 3)),
        "tall": rng.random((n, 4)),
        "m": rng.random((side, side)),
        "m_single": rng.random((side, side)).astype(numpy.float32),
        "m_int": rng.integers(0, n, (side, side)),
        "m_bool": rng.random((side, side)) < 0.01,
        "cube": rng.random((round(n ** (1 / 3)),) * 3),
        "w": rng.random((side, side)),
        "p": rng.random((side, side)),
        "row": rng.random(side),
        "order": rng.permutation(side),
        "s": s @ s.T + numpy.eye(cubic),
        "sorted_x": numpy.sort(x),
        "edges": numpy.linspace(0.0, 1.0, 101),
        "places": numpy.unique(rng.integers(0, n, min(n // 10, 50))),
        "window": rng.uniform(0.5, 1.5, 9),
        "n": n,
        "side": side,
        "half": n // 2,
    }


def names(xp: Any, arrays: dict[str, Any], **where: Any) -> dict[str, Any]:
    """Return the namespace for a call over ``xp``: its arrays are copies, on ``device`` if that is given."""
    own = {
        key: xp.asarray(value.copy(), **where) if isinstance(value, numpy.ndarray) else value
        for key, value in arrays.items()
    }
    return {"np": xp, **own}
