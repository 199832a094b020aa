"""Libraries that expect NumPy's arrays work in an unchanged program on tnp, with the same results.

The program below is run by Python and by ``python -m tnp``; each part uses the real library.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tnp
from tests import processes
from tnp._program import library_adapters

ROOT = Path(__file__).parent.parent

START = "import io, sys\nimport numpy as np\nx = np.linspace(0, 1, 12).reshape(4, 3) ** 2\nn = np.arange(4)\n"
PARTS = {
    "pandas": """
import pandas as pd
frame = pd.DataFrame(x, columns=["a", "b", "c"])
frame["name"] = np.array(["k", "l", "k", "l"])
frame["n"] = n
frame["day"] = np.array(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], dtype="datetime64[D]")
print(frame)
print(frame.groupby("name")["a"].mean(), frame.loc[(n > 1).tolist(), "b"].sum(), np.sqrt(frame["c"]).tolist())
print(np.mean(frame[["a", "b"]].values, axis=0), np.asarray(frame["a"]) * n, pd.Series(n).rolling(2).mean().to_numpy())
frame["d"] = np.where(frame["a"] > 0.3, frame["b"], -1.0)
print(frame["d"].tolist(), pd.cut(x[:, 0], np.array([-1, 0.3, 2])).codes)
frame, line = pd.DataFrame(x, index=list("wxyz")), pd.Series(n * 1.5, index=list("wxyz"))
large = pd.DataFrame({"v": np.arange(6000.0)})
print(x[line > 1], x[:, pd.Series([True, False, True])], x[frame > 0.2], x[(line > 1).array])
x[line > 4] = line.iloc[1]
print(x, frame[n > 1], frame.loc[n > 1], frame.loc[n > 1, 0], frame.iloc[n > 1], frame.iloc[n[1:3], n[1]])
print(line[n > 1], line.iloc[n[2]], frame.iat[n[1], n[2]], frame.head(n[2]))
print(frame[x > 0.2], large[large.v.values > 5995])
frame.loc[n > 2, 1] = n[0]
frame.at["w", 0] = x.max()
frame.loc["v"] = [x.max(), x.min(), n[1]]
frame["e"] = [np.sum(row) for row in frame.values]
line[n == 0] = 9
print(frame, frame.dtypes, line, frame.groupby(np.arange(5) % 2).agg([np.mean, lambda g: np.median(g)]))
print(line.map(np.sqrt), line.apply(lambda v: np.sin(v)), frame.apply(np.mean))
print(frame.apply(lambda r: np.dot(r, r), axis=1), frame.groupby("e").agg(a=pd.NamedAgg(0, lambda g: np.max(g))))
print(pd.Series([np.sum(x), np.mean(x)]), pd.DataFrame([{"a": np.sum(x), "b": 1}]).to_json(), pd.Index([n[0], n[1]]))
print(line.replace(n[3] * 1.5, x.max()), line.fillna(x.max()), pd.unique(n), pd.factorize(n)[0], pd.isna(x[0, 0]))
print(line.rolling(n[2]).apply(np.sum), np.mean(frame, axis=0), np.round(frame, 2))
print(type(np.std(line)), np.sum(line > 1))
import collections, itertools
found = collections.defaultdict(list)
for row in x:
    found["sum"].append(np.sum(row))
print(pd.DataFrame(found), pd.DataFrame(zip([1, 2], n)).dtypes, pd.Series(itertools.chain(x[0], [n[1]])))
print(pd.DataFrame({"i": i, "root": np.sqrt(i)} for i in range(3)).dtypes, line.map(found.__class__(lambda: 1.0)))
print(line.map(np.vectorize(lambda v: v + 1)), line.map(np.poly1d([1, 2])), line == abs)
least = np.float64(1)
def limit(v):
    return np.sum(v) / 4
def selected(allowed):
    return large.query("v in @allowed and v > @least or v == @limit(@n)"), pd.eval("large.v.iloc[:4] * n").sum()
print(selected(n), large.eval("q = v * @least").q.sum(), large.query("v < @n.max()", level=0))
print(pd.MultiIndex.from_product([n, ["a"]]).tolist(), pd.MultiIndex.from_arrays([n, x[:, 0]]).tolist())
one, other = np.random.RandomState(3), np.random.default_rng(3)
print(line.sample(2, random_state=one), one.rand(), line.sample(2, random_state=other), other.random())
large["w"] = large.v / 2
print((x[:2] * large.iloc[:2, [0, 1, 0]]), (large.iloc[:3] - x[:3, :2]), x[:2, 1:] @ large.iloc[:2], n < line.values)
held = np.zeros(4)
np.add(n, pd.Series(n), out=held)
total = held
total += pd.Series(n)
print(held, total)
""",
    "matplotlib": """
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
figure, axes = plt.subplots(1, 3, dpi=40)
axes[0].plot(n, x[:, 0], label="x")
axes[0].fill_between(n, x[:, 0], x[:, 1])
axes[0].set_xlim(n.min(), n.max())
axes[1].imshow(x)
axes[1].contour(x)
heights, edges, _ = axes[2].hist(x.ravel(), bins=np.linspace(0, 1, 5))
axes[2].scatter(x[:, 0], x[:, 1], c=n, s=20 * n)
print(np.asarray(heights), np.asarray(edges))
figure.canvas.draw()
pixels = np.asarray(figure.canvas.buffer_rgba())
print(pixels.shape, int(pixels.astype(int).sum()))
""",
    "sklearn": """
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
model = LinearRegression().fit(x[:, :2], x[:, 2])
print(np.round(model.coef_, 6), np.round(model.predict(x[:, :2]), 6), round(model.score(x[:, :2], x[:, 2]), 6))
print(np.round(StandardScaler().fit_transform(x), 6))
one, other = train_test_split(x, test_size=0.5, random_state=0)
print(one, other, round(float(KMeans(2, random_state=0, n_init=1).fit(x).inertia_), 9))
labels = np.array(["no", "yes", "yes", "no"])
from sklearn.tree import DecisionTreeClassifier
print(DecisionTreeClassifier(random_state=0).fit(x, labels).predict(x))
""",
    "scipy": """
from scipy import integrate, interpolate, linalg, optimize, signal, sparse, stats
print(np.round(optimize.minimize(lambda p: np.sum((p - x[1]) ** 2), np.zeros(3)).x, 4))
print(np.round(optimize.curve_fit(lambda t, a, b: a * np.exp(b * t), n, 2 * np.exp(0.3 * n))[0], 6))
print(np.round(integrate.solve_ivp(lambda t, y: -y * x[1], (0, 1), np.ones(3), t_eval=np.array([0.5, 1.0])).y, 4))
print(np.round(linalg.expm(x[:3]), 9), np.round(interpolate.CubicSpline(n, x[:, 0])(np.array([0.5, 1.5])), 9))
print(np.round(signal.savgol_filter(x[:, 0], 3, 1), 9), stats.ttest_ind(x[:, 0], x[:, 1]).pvalue.round(9))
print((sparse.csr_matrix(x) @ np.ones(3)).round(9), sparse.csr_matrix((np.ones(4), (n, n))).toarray())
""",
    "PIL": """
from PIL import Image
image = Image.fromarray((255 * x).astype(np.uint8))
print(image.size, image.mode, np.asarray(image.resize((6, 8))).sum(), np.array(image)[:2])
rgb = np.zeros((4, 4, 3), dtype=np.uint8)
rgb[..., 1] = 200
rgb[::2, :, 0] = 50
picture = Image.fromarray(rgb)
stream = io.BytesIO()
picture.save(stream, "png")
print(np.array_equal(np.array(Image.open(stream)), rgb), picture.getpixel((0, 0)))
""",
    "h5py": """
import h5py
stream = io.BytesIO()
with h5py.File(stream, "w") as file:
    file["x"] = x
    file.create_dataset("n", data=n, dtype="i2")
    file.create_dataset("grown", shape=(4, 3), dtype="f4")[1:3] = x[1:3]
    file["x"].attrs["scale"] = x[0]
    file["names"] = np.array([b"a", b"bc"])
with h5py.File(stream, "r") as file:
    print(file["x"][...].round(6), file["n"][1:3], file["n"].dtype, file["grown"][:].sum(), file["x"].attrs["scale"])
    print(np.sum(file["x"][:, 1]) + np.mean(file["n"]), file["names"][:], np.asarray(file["x"])[n > 2])
    read, rows, large = np.empty((4, 3)), np.zeros((5, 3)), np.empty((70, 70))
    file["x"].read_direct(read)
    file["x"].read_direct(rows, np.s_[0:2], np.s_[n[1]:3])
    print(read, rows, file["x"][n > 1], file["x"][x > 0.3], file["x"][:, n[1:3]], file["x"][n[1], n[2]])
with h5py.File(stream, "a") as file:
    file["x"].write_direct(x * 2)
    file["x"][n > 2] = x[:1]
    file["x"][n[0], n[1]] = x[3, 2]
    file["large"] = np.ones((70, 70))
    file["large"].read_direct(large)
    print(file["x"][...], large.sum(), np.sum(file["x"], axis=0))
""",
}


@pytest.mark.parametrize("library", PARTS)
def test_the_same_output(library: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    (tmp_path / "main.py").write_text(START + PARTS[library])
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MPLCONFIGDIR": str(tmp_path)}

    def run(*by: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *by, "main.py"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    theirs = run()
    assert theirs.returncode == 0, theirs.stderr
    ours = run("-m", "tnp")
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs.stdout


def test_libraries_are_left_as_they_were() -> None:
    pandas = pytest.importorskip("pandas")
    owners = pandas, pandas.DataFrame, pandas.Series, pandas.Index, type(pandas.Series([0]).loc)
    before = [dict(vars(owner)) for owner in owners]
    library_adapters.prepare()
    try:
        assert all(dict(vars(owner)) != given for owner, given in zip(owners, before, strict=True))
    finally:
        library_adapters.leave()
    assert [dict(vars(owner)) for owner in owners] == before


@pytest.mark.parametrize("place", ["args", "kwargs"])
def test_a_file_is_not_read_into_a_copy(place: str) -> None:
    """A file is not read into an accelerator's array: the data would go into a copy on the CPU."""
    read = library_adapters.given_numpys(lambda dataset, dest: pytest.fail("called"), "read_direct")
    dest = tnp.empty(3, device="meta")
    with pytest.raises(TypeError, match="copy what they wrote"):
        read(None, dest) if place == "args" else read(None, dest=dest)


# Compiled code that requires NumPy's own class raises; it never gives wrong results silently.
REFUSED = {"torch": ("import torch\ntorch.from_numpy(x)", "TypeError")}


@pytest.mark.parametrize("library", REFUSED)
def test_a_library_that_asks_for_the_class_raises(library: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    code, error = REFUSED[library]
    (tmp_path / "main.py").write_text(START + code)
    run = processes.run("-m", "tnp", "main.py", cwd=tmp_path)
    assert run.returncode == 1 and run.stderr.splitlines()[-1].startswith(error)
