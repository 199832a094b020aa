"""Libraries that expect NumPy take the arrays of a program that is run as it is, and give what they give for NumPy's.

The program below is run by Python and by ``python -m tnp``; each part uses the real library.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

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

    theirs, ours = run(), run("-m", "tnp")
    assert theirs.returncode == 0, theirs.stderr
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs.stdout


# Where a library asks for NumPy's class itself, no protocol helps: it raises, and nothing is wrong unseen.
REFUSED = {
    "pandas": ("import pandas as pd\npd.DataFrame(x).loc[n > 1]", "KeyError"),
    "h5py": (
        "import h5py\nwith h5py.File(io.BytesIO(), 'w') as file:\n    file['x'] = x\n"
        "    file['x'].read_direct(np.empty((4, 3)))",
        "TypeError",
    ),
}


@pytest.mark.parametrize("library", REFUSED)
def test_a_library_that_asks_for_the_class_raises(library: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    code, error = REFUSED[library]
    (tmp_path / "main.py").write_text(START + code)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tnp", "main.py"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.splitlines()[-1].startswith(error)
