"""The gradient of each function of the namespace against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from tests.oracle import placed

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

# Numbers without a kink, a tie or a pole near them.
X = numpy.array([[0.31, -0.72, 0.58], [-0.43, 0.87, 0.16]])
Y = numpy.array([[0.53, 0.34, -0.91], [0.22, -0.65, 0.77]])
SQUARE = numpy.array([[2.1, 0.3, -0.4], [0.7, 1.8, 0.2], [-0.1, 0.5, 1.6]])

DOMAINS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "cbrt", "log1p", "float_power", "power", "pow"), lambda x: x + 2),
    **dict.fromkeys(("arccosh", "acosh"), lambda x: x + 2.5),
    "reciprocal": lambda x: x + 2,
}
"""Where a ufunc is real; elsewhere than around zero."""

NO_GRADIENT = {"nextafter", "spacing", "ldexp", "heaviside", "sign", "floor", "ceil", "trunc", "rint", "fix"}
"""Steps: the gradient is zero or not defined."""

FIRST_ORDER = {"copysign", "fmod", "remainder", "mod", "floor_divide"}
"""torch has no second derivative, or it is one of a step."""


def ufuncs(types: str) -> list[str]:
    return [
        name
        for name in np.__all__
        if isinstance(getattr(np, name), np.ufunc)
        and getattr(np, name).signature is None
        and types in getattr(np, name).types
        and name not in NO_GRADIENT
    ]


def check(function: Callable[..., Any], *arrays: Any, second: bool = True) -> None:
    """First and second derivatives, by all elements of the arrays at once, in a random direction."""

    def of_tensors(*tensors: torch.Tensor) -> Any:
        result = function(*[np.asarray(tensor) for tensor in tensors])
        results = result if isinstance(result, (tuple, list)) else [result]
        return tuple([each.tensor for each in results if each.tensor.requires_grad])

    tensors = [placed(np, array).tensor.clone().requires_grad_() for array in arrays]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert of_tensors(*tensors), "no gradient flows"
        assert torch.autograd.gradcheck(of_tensors, tensors, fast_mode=True, atol=1e-5)
        if second:
            assert torch.autograd.gradgradcheck(of_tensors, tensors, fast_mode=True, atol=1e-4, rtol=1e-2)


@pytest.mark.parametrize("name", ufuncs("d->d"))
def test_ufuncs_of_one(name: str) -> None:
    ufunc = getattr(np, name)
    check(ufunc, DOMAINS.get(name, lambda x: x)(X))


@pytest.mark.parametrize("name", ufuncs("dd->d"))
def test_ufuncs_of_two(name: str) -> None:
    move = DOMAINS.get(name, lambda x: x)
    second = name not in FIRST_ORDER
    check(getattr(np, name), move(X), move(Y), second=second)
    check(getattr(np, name), move(X[:, :1]), move(Y[0]), second=False)  # broadcast


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "quotient",
    [
        lambda x: x // 2,
        lambda x: x // 0.3,
        lambda x: 7.0 // x,
        lambda x: np.divmod(x, 2.0)[0],
        lambda x: np.divmod(x, x + 1)[0],
    ],
)
def test_quotients_are_steps(quotient: Any, dtype: str) -> None:
    x = np.asarray([3.5, -1.25, 0.75], dtype=dtype)
    gradient = np.grad(lambda x: quotient(x).sum())(x)
    assert gradient.dtype == dtype and gradient.tolist() == [0.0, 0.0, 0.0]


def test_quotients_in_place_are_steps() -> None:
    def function(x: Any) -> Any:
        y = x * 1
        y //= 2.0
        return y.sum() + x.sum()

    assert np.grad(function)(np.asarray([3.5, -1.25])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ufuncs("D->D"))
def test_ufuncs_of_a_complex(name: str) -> None:
    ufunc = getattr(np, name)
    check(ufunc, X + 0.7j * Y + (2 if name in DOMAINS else 0.1), second=False)


@pytest.mark.parametrize("name", ufuncs("DD->D"))
def test_ufuncs_of_two_complex(name: str) -> None:
    check(getattr(np, name), X + 1j * Y + 2, Y - 0.5j * X + 1.5, second=False)


def test_out_and_where() -> None:
    def function(x: Any, y: Any) -> Any:
        out = y * 2
        np.multiply(x, y, out=out, where=placed(np, X > 0))
        return np.add(out, x, where=placed(np, Y > 0), out=out * 3)

    check(function, X, Y)


ROWS: dict[str, Callable[..., Any]] = {
    # Reductions.
    "sum": lambda x: np.sum(x, axis=0),
    "sum keepdims": lambda x: np.sum(x, axis=(0, 1), keepdims=True, where=placed(np, Y > 0), initial=2.0),
    "prod": lambda x: np.prod(x, axis=1),
    "dtype of a reduction": lambda x: [f(x, dtype="c16") for f in (np.sum, np.prod, np.mean, np.trace, np.nansum)],
    "accumulate in place": lambda x: np.arctan2.accumulate(y := x * 2, axis=1, out=y),
    "mean": lambda x: np.mean(x, axis=-1, keepdims=True),
    "average": lambda x: np.average(x, axis=1, weights=[1.0, 2.0, 3.0]),
    "std": lambda x: np.std(x, axis=0, ddof=1),
    "var": lambda x: np.var(x, axis=1),
    "median": lambda x: np.median(x, axis=1),
    "quantile": lambda x: np.quantile(x, [0.2, 0.7], axis=1),
    "percentile": lambda x: np.percentile(x, 35),
    "max": lambda x: np.max(x, axis=1),
    "min": lambda x: np.min(x),
    "amax": lambda x: np.amax(x, axis=0),
    "amin": lambda x: np.amin(x, axis=0),
    "ptp": lambda x: np.ptp(x, axis=1),
    "nansum": lambda x: np.nansum(x, axis=0),
    "nanprod": lambda x: np.nanprod(x, axis=0),
    "nanmean": lambda x: np.nanmean(x, axis=0),
    "nanvar": lambda x: np.nanvar(x, axis=1),
    "nanstd": lambda x: np.nanstd(x, axis=1),
    "nanmax": lambda x: np.nanmax(x, axis=1),
    "nanmin": lambda x: np.nanmin(x, axis=1),
    "nanmedian": lambda x: np.nanmedian(x, axis=1),
    "nanquantile": lambda x: np.nanquantile(x, 0.3),
    "nanpercentile": lambda x: np.nanpercentile(x, 30),
    "add.reduce": lambda x: np.add.reduce(x, axis=1),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2], axis=1),
    "multiply.outer": lambda x: np.multiply.outer(x[0], x[1]),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=1),
    # Scans and differences.
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=0),
    "nancumsum": lambda x: np.nancumsum(x),
    "nancumprod": lambda x: np.nancumprod(x),
    "diff": lambda x: np.diff(x, n=2, axis=1, prepend=x[:, :1]),
    "ediff1d": lambda x: np.ediff1d(x),
    "gradient": lambda x: np.gradient(x, axis=1),
    "trapezoid": lambda x: np.trapezoid(x, dx=0.5, axis=1),
    "interp": lambda x: np.interp(x, [-1.0, 0.1, 1.0], [0.0, 2.0, 1.0]),
    "convolve": lambda x: np.convolve(x[0], x[1], "full"),
    "correlate": lambda x: np.correlate(x[0], x[1], "same"),
    "unwrap": lambda x: np.unwrap(x * 9, axis=1),
    # Products.
    "dot": lambda x: np.dot(x, x.T),
    "matmul": lambda x: x @ x.T,
    "inner": lambda x: np.inner(x, x),
    "outer": lambda x: np.outer(x[0], x[1]),
    "vdot": lambda x: np.vdot(x, x * 2),
    "vecdot": lambda x: np.vecdot(x, x[0]),
    "matvec": lambda x: np.matvec(x, x[0]),
    "vecmat": lambda x: np.vecmat(x[0], x.T),
    "tensordot": lambda x: np.tensordot(x, x, axes=([0], [0])),
    "kron": lambda x: np.kron(x, x[:1]),
    "cross": lambda x: np.cross(x[0], x[1]),
    "trace": lambda x: np.trace(x, offset=1),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    # Shapes.
    "reshape": lambda x: np.reshape(x, (3, 2), order="F"),
    "ravel": lambda x: np.ravel(x, order="F"),
    "transpose": lambda x: np.transpose(x) * 1,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1) * 1,
    "moveaxis": lambda x: np.moveaxis(x, 0, -1) * 1,
    "rollaxis": lambda x: np.rollaxis(x, 1) * 1,
    "expand_dims": lambda x: np.expand_dims(x, (0, 2)) * 1,
    "squeeze": lambda x: np.squeeze(x[None]) * 1,
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)) * 1,
    "atleast_3d": lambda x: np.atleast_3d(x) * 1,
    "resize": lambda x: np.resize(x, (3, 3)),
    "flip": lambda x: np.flip(x, 1),
    "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x),
    "roll": lambda x: np.roll(x, 1, axis=1),
    "rot90": lambda x: np.rot90(x),
    "concatenate": lambda x: np.concatenate([x, x * 2], axis=1),
    "stack": lambda x: np.stack([x, x * 2], axis=1),
    "vstack": lambda x: np.vstack([x, x[0]]),
    "hstack": lambda x: np.hstack([x, x]),
    "dstack": lambda x: np.dstack([x, x]),
    "column_stack": lambda x: np.column_stack([x[0], x[1]]),
    "block": lambda x: np.block([[x, x], [x * 2, x]]),
    "tile": lambda x: np.tile(x, (2, 1, 2)),
    "repeat": lambda x: np.repeat(x, [1, 2, 0], axis=1),
    "append": lambda x: np.append(x, x[:1], axis=0),
    "insert": lambda x: np.insert(x, 1, x[0, 0], axis=1),
    "delete": lambda x: np.delete(x, 1, axis=1),
    "split": lambda x: [part * 1 for part in np.split(x, [1], axis=1)],
    "array_split": lambda x: [part * 1 for part in np.array_split(x, 2, axis=1)],
    "trim_zeros": lambda x: np.trim_zeros(np.concatenate([[0.0], x[0]])),
    "pad": lambda x: np.pad(x, ((1, 0), (2, 1))),
    "pad reflect": lambda x: np.pad(x, 1, mode="reflect"),
    "diag": lambda x: np.diag(x[0], k=1),
    "diagflat": lambda x: np.diagflat(x),
    "diagonal": lambda x: np.diagonal(x) * 1,
    "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x, 1),
    "vander": lambda x: np.vander(x[0] + 2, 3),
    "meshgrid": lambda x: [part * 1 for part in np.meshgrid(x[0], x[1])],
    "array": lambda x: np.array([[x[0, 0], 1.0], [x[1, 1], x[0, 2]]]),
    "copy": lambda x: np.copy(x),
    "astype": lambda x: x.astype("c16").real,
    "full": lambda x: np.full((2, 2), x[0, 0]),
    "linspace": lambda x: np.linspace(x[0, 0], x[0, 1], 4),
    "geomspace": lambda x: np.geomspace(x[0, 0] + 1, x[0, 2] + 2, 4),
    "logspace": lambda x: np.logspace(x[0, 0], x[0, 2], 3),
    # Selecting.
    "where": lambda x: np.where(x > 0, x**2, x * 3),
    "select": lambda x: np.select([x > 0.5, x > 0], [x**2, x * 3], x),
    "choose": lambda x: np.choose(np.asarray([0, 1, 0]), [x, x * 2]),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [lambda v: v**2, lambda v: -v]),
    "take": lambda x: np.take(x, [2, 0, 2], axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "compress": lambda x: np.compress([True, False, True], x, axis=1),
    "extract": lambda x: np.extract(x > 0, x),
    "sort": lambda x: np.sort(x, axis=1),
    "partition": lambda x: np.partition(x, 1, axis=1).sum(axis=1),
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "unique": lambda x: np.unique(x),
    "sinc": lambda x: np.sinc(x),
    "i0": lambda x: np.i0(x),
    "round": lambda x: x * 1 + np.round(x, 1),
    "cov": lambda x: np.cov(x),
    "corrcoef": lambda x: np.corrcoef(x),
    "polyval": lambda x: np.polyval(x[0], x[1]),
    # Indexing, and writes.
    "x[key]": lambda x: x[1, ::-1] * x[0, [2, 0, 1]],
    "x[mask]": lambda x: x[x > 0],
    "x[key] = y": lambda x: _written(x),
    "views": lambda x: _through_views(x),
    "put": lambda x: _by(np.put, x, [0, 3], x[0, :2] * 5),
    "place": lambda x: _by(np.place, x, placed(np, X > 0), x[0, :2] * 5),
    "putmask": lambda x: _by(np.putmask, x, placed(np, X > 0), x * 5),
    "copyto": lambda x: _by(np.copyto, x, x[1] * 5, where=placed(np, X > 0)),
    "put_along_axis": lambda x: _by(np.put_along_axis, x, np.asarray([[1], [0]]), x[:, :1] * 5, 1),
    "fill_diagonal": lambda x: _by(np.fill_diagonal, x, x[0, 2] * 5),
    "fill_diagonal wrap": lambda x: _by(np.fill_diagonal, np.concatenate([x, x, x]), x[0, :2] * 5, wrap=True),
    "add.at": lambda x: _by(np.add.at, x, (0, [1, 1, 2]), x[1]),
    "multiply.at": lambda x: _by(np.multiply.at, x, (0, [1, 1, 2]), x[1]),
    # Linear algebra and Fourier transforms.
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "norm fro": lambda x: np.linalg.norm(x),
    "norm nuc": lambda x: np.linalg.norm(x, "nuc"),
    "norm 2": lambda x: np.linalg.norm(x, 2),
    "pinv": lambda x: np.linalg.pinv(x),
    "svdvals": lambda x: np.linalg.svdvals(x),
    "lstsq": lambda x: np.linalg.lstsq(x.T, np.ones(3), rcond=None)[0],
    "multi_dot": lambda x: np.linalg.multi_dot([x, x.T, x]),
    "fft": lambda x: np.fft.fft(x, axis=1).imag,
    "ifft": lambda x: np.fft.ifft(x, n=5).real,
    "rfft": lambda x: np.abs(np.fft.rfft(x)),
    "irfft": lambda x: np.fft.irfft(x),
    "fft2": lambda x: np.fft.fft2(x).real,
    "fftshift": lambda x: np.fft.fftshift(x),
}

MATRICES: dict[str, Callable[..., Any]] = {
    "inv": lambda a: np.linalg.inv(a),
    "solve": lambda a: np.linalg.solve(a, a[0]),
    "det": lambda a: np.linalg.det(a),
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "matrix_power": lambda a: np.linalg.matrix_power(a, 3),
    "cholesky": lambda a: np.linalg.cholesky(a @ a.T),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a + a.T),
    "eigh": lambda a: np.abs(np.linalg.eigh(a + a.T)[1]),
    "qr": lambda a: np.abs(np.linalg.qr(a)[1]),
    "tensorsolve": lambda a: np.linalg.tensorsolve(a, a[0]),
    "tensorinv": lambda a: np.linalg.tensorinv(a, ind=1),
    "cond": lambda a: np.linalg.cond(a),
}


def _by(function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    out = x * 2
    function(out, *args, **kwargs)
    return out


def _written(x: Any) -> Any:
    out = np.zeros((3, 3))
    out[:2] = x
    out[2] = x[0] * x[1]
    out[[0, 2], 1] = x[1, :2]
    out[placed(np, SQUARE > 1)] = x[0, 0]
    out[[1, 1], 0] = x[0, 1]
    out[[0, 0, -3]] = x[1]
    out[1] *= 2
    return out


def _through_views(x: Any) -> Any:
    out = x * 1
    column = out.T[1]
    column += x[:, 0]
    out.reshape(-1)[4:] *= 3
    out.flat[0] = x[1, 1]
    return out


def test_one_value_written_to_a_place_twice_has_one_gradient() -> None:
    def written(value: Any) -> Any:
        out = np.zeros(3)
        out[[1, 1, 2]] = value
        return out.sum()

    assert np.grad(written)(np.asarray(2.0)) == 2
    assert np.grad(written)(np.asarray([2.0])) == [2]
    assert np.grad(lambda values: np.vectorized_map(written, values).sum())(np.ones(2)).tolist() == [2, 2]
    with np.GradientTape() as tape:
        tape.watch(value := np.asarray(2.0))
        total = np.compile(written, backend="eager")(value)
    assert tape.gradient(total, value) == 2


@pytest.mark.parametrize("name", ROWS)
def test_functions(name: str) -> None:
    check(ROWS[name], X)


@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_matrices(name: str) -> None:
    check(MATRICES[name], SQUARE)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "dot", "einsum", "cumprod", "concatenate", "x[key]"])
def test_functions_of_complex_numbers(name: str) -> None:
    check(ROWS[name], X + 1j * Y, second=False)


COMPLEX: dict[str, Callable[..., Any]] = {
    "view": lambda z: z.view(float) ** 2,
    "view of its own dtype": lambda z: z.view(complex) ** 2,
    "view written": lambda z: _viewed(z),
    "sort": lambda z: np.sort(z),
    "sort in place": lambda z: _by(lambda out: out.sort(), z),
    "partition": lambda z: np.partition(z, 1)[..., 1],  # the order of the others is nobody's
    "sort_complex": lambda z: np.sort_complex(z),
    "real and imag written": lambda z: _parts(z),
    "z[mask]": lambda z: z[z.real > 0] ** 2,
    "hfft": lambda z: np.fft.hfft(z),
    "hfft odd": lambda z: np.fft.hfft(z, 5, norm="ortho"),
    "irfft odd": lambda z: np.fft.irfft(z, 5),
    "irfft2 out": lambda z: _out(np.fft.irfft2, z, np.zeros((2, 4))),
    "ifft2 out": lambda z: _out(np.fft.ifft2, z, np.zeros((2, 3), complex)),
    "max": lambda z: np.max(z, axis=1),
    "median": lambda z: np.median(z, axis=1),
    "clip": lambda z: np.clip(z, -1, 1),
    "gradient": lambda z: np.gradient(z)[0],
    "convolve": lambda z: np.convolve(z[0], z[1]),
    "interp": lambda z: np.interp([0.5, 1.5], [0.0, 1, 2], z[0]),
}


def _viewed(z: Any) -> Any:
    out = z * 1
    out.view(float)[:, 1] *= 3
    return out


def _parts(z: Any) -> Any:
    out = z * 1
    out.real += out.imag**2
    out.imag = z.real * 2
    return out


def _out(function: Callable[..., Any], z: Any, out: Any) -> Any:
    function(z, out=out)
    return out


@pytest.mark.parametrize("name", COMPLEX)
def test_functions_that_know_complex_numbers(name: str) -> None:
    """Along a direction as by differences; forward mode, compiled and batched gradients are the same."""
    function = COMPLEX[name]
    z = placed(np, X + 1j * Y)

    def loss(z: Any) -> Any:
        result = function(z * 1)
        weights = placed(np, numpy.cos(numpy.arange(result.size)).reshape(result.shape))
        return (result.real * weights + result.imag * weights**2).sum()

    gradient, direction = np.asnumpy(np.grad(loss)(z)), placed(np, Y - 2j * X)
    along = numpy.vdot(gradient, np.asnumpy(direction)).real
    ahead, behind = (float(np.asnumpy(loss(z + direction * step))) for step in (1e-6, -1e-6))
    numpy.testing.assert_allclose(along, (ahead - behind) / 2e-6, rtol=1e-6)
    numpy.testing.assert_allclose(np.asnumpy(np.jvp(loss, (z,), (direction,))[1]), along, rtol=1e-10)
    numpy.testing.assert_allclose(
        np.asnumpy(np.vectorized_map(np.grad(loss), np.stack([z, z]))), [gradient, gradient], rtol=1e-10
    )
    if name != "z[mask]":  # whose shape depends on values
        compiled = np.compile(np.grad(loss), backend="eager")(z)
        numpy.testing.assert_allclose(np.asnumpy(compiled), gradient, rtol=1e-10)


@pytest.mark.parametrize(
    "function",
    [
        lambda np, x: np.delete(x, np.array([0, 2])),
        lambda np, x: np.delete(x, np.array([True, False, True, False])),
        lambda np, x: np.delete(x, np.argmax(x)),
        lambda np, x: np.insert(x, np.array([0, 2]), x[:2]),
        lambda np, x: np.insert(x, np.argmin(x), 7.0),
    ],
)
def test_places_that_are_made_inside(function: Callable[[Any, Any], Any]) -> None:
    """torch.func holds what is made inside a derivative, whose values the places of delete and insert are."""
    x = numpy.array([0.3, -1.2, 2.5, 0.7])
    size = function(numpy, x).size
    weights = numpy.arange(1.0, size + 1)
    moves = 1e-6 * numpy.eye(4)
    expected = [(function(numpy, x + m) - function(numpy, x - m)) @ weights / 2e-6 for m in moves]

    def loss(x: Any) -> Any:
        return (function(np, x) * weights).sum()

    for found in (
        np.grad(loss)(np.asarray(x)),
        np.vjp(loss, np.asarray(x))[1](np.asarray(1.0))[0],
        np.jacobian(loss, mode="forward")(np.asarray(x)),
    ):
        numpy.testing.assert_allclose(np.asnumpy(found), expected, rtol=1e-6)


@pytest.mark.parametrize("places", [[1.0], [1.0, 2.0]])
@pytest.mark.parametrize("function", [lambda np, x, at: np.insert(x, at, 7.0), lambda np, x, at: np.delete(x, at)])
def test_places_that_are_no_integers_are_refused_as_by_numpy(function: Any, places: list[float]) -> None:
    """Made inside a derivative they were refused in torch's words, as they have no memory there."""
    with pytest.raises((TypeError, IndexError)) as expected:
        function(numpy, numpy.ones(4), numpy.array(places))
    with pytest.raises(expected.type):
        np.grad(lambda x: function(np, x, np.asarray(places)).sum())(np.ones(4))


def test_graphs_of_derivatives_of_products_stay_small() -> None:
    """torch's derivative of cumprod had a step for each element of the axis, of which 120 took a minute to compile."""

    def total(x: Any) -> Any:
        return (np.cumprod(x, axis=0) * np.cos(x)).sum()

    values = numpy.random.default_rng(0).normal(size=(90, 3))
    values[[4, 30, 31], [0, 1, 1]] = 0
    few, many = np.asarray(values[:9]), np.asarray(values)
    gradient = np.compile(np.grad(total), backend="eager")
    assert len(list(gradient.graph(many))) < 2 * len(list(gradient.graph(few)))
    numpy.testing.assert_allclose(gradient(many), np.grad(total)(many), rtol=1e-9, atol=1e-12)
    batch = np.compile(lambda x: np.vectorized_map(np.grad(total), x), backend="eager")
    numpy.testing.assert_allclose(batch(np.stack([many, many + 1])), [np.grad(total)(many), np.grad(total)(many + 1)])
