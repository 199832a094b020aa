"""tnp's arrays work in libraries that take any array of the Array API standard, and in libraries that take NumPy's.

Each test runs the real library, and compares its results with those for NumPy's arrays.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tnp

RNG = np.random.default_rng(0)
TABLE, LINE = RNG.normal(size=(20, 4)), RNG.normal(size=20)


def close(actual: Any, expected: Any, kind: type = tnp.ndarray) -> None:
    """Assert that ``actual`` holds arrays of ``kind`` where ``expected`` holds NumPy's, with the same values."""
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            close(one, other, kind)
        return
    if isinstance(expected, np.ndarray):
        assert isinstance(actual, kind), type(actual)
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-7, atol=1e-9)


def same(function: Callable[[Any], Any]) -> None:
    """Assert that ``function(xp)`` has the same result with tnp as with NumPy."""
    close(function(tnp), function(np))


EINOPS: dict[str, Callable[[Any, Any], Any]] = {
    "rearrange": lambda e, x: e.rearrange(x, "(a b) c -> b c a", a=4),
    "reduce": lambda e, x: e.reduce(x, "(a b) c -> a c", "mean", a=4),
    "repeat": lambda e, x: e.repeat(x, "a c -> a b c", b=2),
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name: str) -> None:
    """einops has a module for arrays of the standard."""
    pytest.importorskip("einops")
    import einops.array_api

    close(EINOPS[name](einops.array_api, tnp.asarray(TABLE)), EINOPS[name](einops, TABLE))


def test_einops_pack() -> None:
    pytest.importorskip("einops")
    import einops.array_api

    x = tnp.asarray(TABLE)
    packed, shapes = einops.array_api.pack([x, x[:, 0]], "a *")
    first, second = einops.array_api.unpack(packed, shapes, "a *")
    close([packed, first, second], [np.column_stack([TABLE, TABLE[:, 0]]), TABLE, TABLE[:, 0]])


@pytest.mark.parametrize("subscripts", ["ab,ac,cd->bd", "ab,ab->", "ab,ac->cb"])
def test_opt_einsum(subscripts: str) -> None:
    opt_einsum = pytest.importorskip("opt_einsum")
    operands = [TABLE, TABLE, TABLE[:4]][: subscripts.count(",") + 1]
    same(lambda xp: opt_einsum.contract(subscripts, *map(xp.asarray, operands)))


def test_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = tnp.asarray(TABLE)
    assert compat.array_namespace(x, 1.0) is tnp
    assert compat.is_array_api_obj(x) and compat.is_writeable_array(x) and not compat.is_numpy_array(x)
    assert not compat.is_torch_array(x) and not compat.is_lazy_array(x)
    assert compat.device(x) == x.device and compat.size(x) == 80
    assert isinstance(compat.to_device(x, "cpu"), tnp.ndarray)


EXTRA: dict[str, Callable[[Any, Any], Any]] = {
    "apply_where": lambda e, xp: e.apply_where(xp.asarray(TABLE) > 0, xp.asarray(TABLE), xp.sqrt, fill_value=0.0),
    "argpartition": lambda e, xp: xp.sort(e.argpartition(xp.asarray(LINE), 3)[:4]),
    "at": lambda e, xp: e.at(xp.asarray(TABLE))[2:4, 0].add(5.0),
    "cov": lambda e, xp: e.cov(xp.asarray(TABLE).T),
    "create_diagonal": lambda e, xp: e.create_diagonal(xp.asarray(LINE)),
    "isclose": lambda e, xp: e.isclose(xp.asarray(TABLE), xp.asarray(TABLE) + 1e-9),
    "kron": lambda e, xp: e.kron(xp.asarray(TABLE), xp.asarray(LINE)),
    "one_hot": lambda e, xp: e.one_hot(xp.asarray([0, 2]), 3, dtype=xp.float64),
    "pad": lambda e, xp: e.pad(xp.asarray(TABLE), 2),
    "setdiff1d": lambda e, xp: e.setdiff1d(xp.asarray([1, 2, 3]), xp.asarray([2])),
}


@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name: str) -> None:
    extra = pytest.importorskip("array_api_extra")
    same(lambda xp: EXTRA[name](extra, xp))


SCIPY = """
import warnings; warnings.simplefilter("ignore")
import numpy as np, tnp
import scipy, scipy.cluster.hierarchy, scipy.cluster.vq, scipy.differentiate, scipy.fft, scipy.integrate, scipy.ndimage
import scipy.linalg, scipy.optimize.elementwise, scipy.signal, scipy.spatial.transform, scipy.special, scipy.stats
from tests.test_consumers import LINE, TABLE, close
CALLS = {
    "fft.fft": lambda xp, x, y: scipy.fft.fft(x),
    "fft.dct": lambda xp, x, y: scipy.fft.dct(x),
    "fft.fftfreq": lambda xp, x, y: scipy.fft.fftfreq(8, xp=xp),
    "stats.zscore": lambda xp, x, y: scipy.stats.zscore(x),
    "stats.skew": lambda xp, x, y: scipy.stats.skew(x),
    "stats.ttest_ind": lambda xp, x, y: scipy.stats.ttest_ind(x[:, 0], x[:, 1]).pvalue,
    "stats.pearsonr": lambda xp, x, y: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "stats.describe": lambda xp, x, y: list(scipy.stats.describe(x))[2:],
    "stats.rankdata": lambda xp, x, y: scipy.stats.rankdata(y),
    "stats.wilcoxon": lambda xp, x, y: scipy.stats.wilcoxon(y).pvalue,
    "signal.fftconvolve": lambda xp, x, y: scipy.signal.fftconvolve(y, y[:3]),
    "signal.hilbert": lambda xp, x, y: scipy.signal.hilbert(y),
    "signal.detrend": lambda xp, x, y: scipy.signal.detrend(y),
    "signal.windows.hann": lambda xp, x, y: scipy.signal.windows.hann(8, xp=xp),
    "special.erf": lambda xp, x, y: scipy.special.erf(x),
    "special.gammaln": lambda xp, x, y: scipy.special.gammaln(x),
    "special.j0": lambda xp, x, y: scipy.special.j0(x),
    "special.logsumexp": lambda xp, x, y: scipy.special.logsumexp(x, axis=0),
    "special.betainc": lambda xp, x, y: scipy.special.betainc(xp.asarray([2.0]), xp.asarray([3.0]), xp.asarray([0.5])),
    "cluster.kmeans2": lambda xp, x, y: scipy.cluster.vq.kmeans2(x, x[:3, ...]),
    "cluster.linkage": lambda xp, x, y: scipy.cluster.hierarchy.linkage(x),
    "linalg.block_diag": lambda xp, x, y: scipy.linalg.block_diag(x, x[:2, ...]),
    "integrate.trapezoid": lambda xp, x, y: scipy.integrate.trapezoid(x, axis=0),
    "integrate.tanhsinh": lambda xp, x, y: scipy.integrate.tanhsinh(
        lambda t: t**2, xp.asarray([0.0]), xp.asarray([1.0])).integral,
    "optimize.rosen_der": lambda xp, x, y: scipy.optimize.rosen_der(y),
    "optimize.find_root": lambda xp, x, y: scipy.optimize.elementwise.find_root(
        lambda t: t**2 - 2, (xp.asarray([0.0]), xp.asarray([2.0]))).x,
    "spatial.Rotation": lambda xp, x, y: scipy.spatial.transform.Rotation.from_quat(x).as_matrix(),
    "ndimage.gaussian_filter": lambda xp, x, y: scipy.ndimage.gaussian_filter(x, 1.0),
    "differentiate.derivative": lambda xp, x, y: scipy.differentiate.derivative(xp.exp, xp.asarray([1.0, 2.0])).df,
}
failed = []
for name, call in CALLS.items():
    try:
        close(*[call(xp, xp.asarray(TABLE), xp.asarray(LINE)) for xp in (tnp, np)])
    except Exception as error:
        failed.append(f"{name}: {type(error).__name__}: {error}")
assert scipy.special.erf(tnp.asarray(TABLE)).tensor.shape == (20, 4)
if failed:
    raise SystemExit("\\n".join(failed))
"""


def run_alone(program: str) -> None:
    """Run a program in a process of its own: SciPy looks at SCIPY_ARRAY_API when it is imported."""
    root = Path(__file__).parent.parent
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_array_api_extra_of_a_scalar() -> None:
    """Without SCIPY_ARRAY_API a float64 scalar is a Python float, of which array-api-compat knows no namespace."""
    pytest.importorskip("array_api_extra")
    write = "array_api_extra.at(tnp.sum(tnp.arange(3.0)), tnp.asarray(True)).set(5.0)"
    run_alone(f"import array_api_extra, tnp; assert {write} == 5.0")


def test_scipy() -> None:
    pytest.importorskip("scipy")
    run_alone(SCIPY)


SCIPY_LINALG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "solve": lambda linalg, x, y: linalg.solve(x[:4], y[:4]),
    "inv": lambda linalg, x, y: linalg.inv(x[:4]),
    "det": lambda linalg, x, y: linalg.det(x[:4]),
    "lstsq": lambda linalg, x, y: linalg.lstsq(x, y)[0],
    "svdvals": lambda linalg, x, y: linalg.svdvals(x),
    "qr": lambda linalg, x, y: linalg.qr(x, mode="economic"),
    "cholesky": lambda linalg, x, y: linalg.cholesky(x.T @ x),
    "expm": lambda linalg, x, y: linalg.expm(x[:4]),
    "toeplitz": lambda linalg, x, y: linalg.toeplitz(y),
}


@pytest.mark.parametrize("name", SCIPY_LINALG)
def test_scipy_linalg(name: str) -> None:
    """Functions that do not dispatch on the array's library read tnp's arrays as NumPy's, and return NumPy's."""
    linalg = pytest.importorskip("scipy.linalg")
    close(*[SCIPY_LINALG[name](linalg, xp.asarray(TABLE), xp.asarray(LINE)) for xp in (tnp, np)], kind=np.ndarray)


def estimators(x: Any, y: Any, labels: Any) -> dict[str, Any]:
    """Return the results of estimators and metrics, by name."""
    from sklearn import decomposition, discriminant_analysis, linear_model, metrics, preprocessing
    from sklearn.metrics import pairwise

    found = {
        "PCA": decomposition.PCA(2, svd_solver="full").fit_transform(x),
        "LinearDiscriminantAnalysis": discriminant_analysis.LinearDiscriminantAnalysis().fit(x, labels).predict(x),
        "Ridge": linear_model.Ridge(solver="svd").fit(x, y).predict(x),
        "PolynomialFeatures": preprocessing.PolynomialFeatures().fit_transform(x),
        "LabelEncoder": preprocessing.LabelEncoder().fit_transform(labels),
        "r2_score": metrics.r2_score(y, y * 0.9),
        "mean_squared_error": metrics.mean_squared_error(y, y * 0.9),
        "accuracy_score": metrics.accuracy_score(labels, labels),
        "confusion_matrix": metrics.confusion_matrix(labels, labels),
        "euclidean_distances": pairwise.euclidean_distances(x),
        "rbf_kernel": pairwise.rbf_kernel(x),
        "cosine_similarity": pairwise.cosine_similarity(x),
    }
    for name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "Binarizer"):
        found[name] = getattr(preprocessing, name)().fit_transform(x)
    return found


SKLEARN = """
import warnings; warnings.simplefilter("ignore")
import numpy as np, sklearn, tnp
from tests.test_consumers import LINE, TABLE, close, estimators
labels = np.arange(20) % 2
ours, theirs = {}, estimators(TABLE, LINE, labels)
with sklearn.config_context(array_api_dispatch=True):
    ours = estimators(tnp.asarray(TABLE), tnp.asarray(LINE), tnp.asarray(labels))
for name, expected in theirs.items():
    if name == "PCA":  # up to signs
        assert isinstance(ours[name], tnp.ndarray)
        ours[name], expected = abs(ours[name]), abs(expected)
    close(ours[name], expected)
"""


def test_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    run_alone(SKLEARN)


XARRAY: dict[str, Callable[[Any], Any]] = {
    "mean": lambda a: a.mean("row"),
    "selection": lambda a: a.isel(row=slice(0, 3)).sel(column="y"),
    "arithmetic": lambda a: (a - a.mean("row")) / a.std("row"),
    "where": lambda a: a.where(a > 0, 0.0),
    "groupby": lambda a: a.groupby("kind").sum(),
    "transpose": lambda a: a.transpose("column", "row").cumsum("row"),
}


@pytest.mark.parametrize("name", XARRAY)
def test_xarray(name: str) -> None:
    xarray = pytest.importorskip("xarray")

    def computed(xp: Any) -> Any:
        coordinates = {"column": ["x", "y", "z", "w"], "kind": ("row", np.arange(20) % 3)}
        return XARRAY[name](xarray.DataArray(xp.asarray(TABLE), dims=("row", "column"), coords=coordinates)).data

    same(computed)


def test_random_state_of_scikit_learn_and_scipy() -> None:
    pytest.importorskip("sklearn")
    from scipy import stats
    from sklearn import cluster, model_selection

    def run(xp: Any) -> list[Any]:
        fitted = cluster.KMeans(2, n_init=2, random_state=xp.random.RandomState(0)).fit(TABLE)
        split = model_selection.train_test_split(LINE, random_state=xp.random.RandomState(1))
        drawn = stats.norm.rvs(size=3, random_state=xp.random.default_rng(2))
        error = stats.bootstrap((LINE,), np.mean, n_resamples=50, rng=xp.random.default_rng(3)).standard_error
        return [np.asarray(each) for each in (fitted.inertia_, *split, drawn, error)]

    for ours, theirs in zip(run(tnp), run(np), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(tnp.asarray(TABLE), columns=list("xyzw"))
    np.testing.assert_array_equal(frame.to_numpy(), TABLE)
    frame["line"] = tnp.asarray(LINE)
    np.testing.assert_array_equal(frame["line"], LINE)
    assert isinstance(tnp.asarray(frame), tnp.ndarray)
    np.testing.assert_array_equal(tnp.asnumpy(tnp.asarray(frame["x"])), TABLE[:, 0])
    drawn = [frame.sample(3, random_state=xp.random.default_rng(0)).index.tolist() for xp in (tnp, np)]
    assert drawn[0] == drawn[1]


def test_numba() -> None:
    """Compiled functions write to arrays' memory, and call the functions of ``np``, whichever that is."""
    numba = pytest.importorskip("numba")

    def run(xp: Any) -> Any:
        @numba.njit
        def write(x: Any, y: Any) -> Any:
            x[0] = 7
            y += xp.cos(x.sum()) + xp.linalg.norm(y)
            return xp.concatenate((x[::-1], y)), x.shape

        @numba.njit
        def doubled(z: Any) -> Any:
            return 2 * z

        x, y = xp.arange(4.0), xp.ones(6)[::2]
        made, shape = write(x, y)
        numbers = [doubled(xp.asarray([1j])[0]), numba.njit(lambda n: n + 1)(xp.arange(3)[2])]
        with pytest.raises(numba.TypingError):
            write(xp.broadcast_to(xp.ones(1), (2,)), y)
        return [np.asarray(each) for each in (x, y, made, shape, *numbers)]

    for ours, theirs in zip(run(tnp), run(np), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_zarr() -> None:
    zarr = pytest.importorskip("zarr")
    stored = zarr.array(tnp.asarray(TABLE))
    np.testing.assert_array_equal(stored[:], TABLE)
    stored[0] = tnp.asarray(LINE[:4])
    np.testing.assert_array_equal(tnp.asarray(stored[0]), LINE[:4])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_pyarrow(dtype: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    values = np.arange(6).astype(dtype)
    for ours, theirs in ((tnp.asarray(values), values), (tnp.asarray(values)[::2], values[::2])):
        assert pyarrow.array(ours).equals(pyarrow.array(theirs))
    assert pyarrow.table({"x": tnp.asarray(values)}).equals(pyarrow.table({"x": values}))
    assert pyarrow.array(tnp.asarray(values), type=pyarrow.int16()).type == pyarrow.int16()
    if dtype != "?":  # Arrow packs booleans
        assert pyarrow.array(tnp.asarray(values)).buffers()[1].address == values.ctypes.data
    with pytest.raises(pyarrow.ArrowInvalid, match="1-dimensional"):
        pyarrow.array(tnp.ones((2, 2)))


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    ours, theirs = tnp.asarray(LINE), polars.Series("line", LINE)
    assert polars.Series("line", ours).equals(theirs)
    assert polars.DataFrame({"line": ours, "mask": ours > 0}).equals(polars.DataFrame({"line": LINE, "mask": LINE > 0}))
    np.testing.assert_array_equal(tnp.asarray(theirs), LINE)


def test_matplotlib() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    x, y = tnp.asarray(TABLE), tnp.asarray(LINE)
    figure, axes = plt.subplots()
    (line,) = axes.plot(tnp.arange(20), y)
    np.testing.assert_array_equal(line.get_ydata(), LINE)
    axes.scatter(x[:, 0], x[:, 1], c=y)
    axes.imshow(x)
    axes.errorbar(tnp.arange(20), y, yerr=tnp.abs(y))
    counts, _, _ = axes.hist(y)
    assert counts.sum() == 20
    bars = axes.bar(tnp.arange(3), y[:3], width=tnp.ones(3))
    assert [bar.get_height() for bar in bars] == LINE[:3].tolist()
    axes.barh(tnp.arange(3), tnp.ones(3), xerr=tnp.ones(3))
    figure.canvas.draw()
    plt.close(figure)
