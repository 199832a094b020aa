"""psum and the like: what the elements of a vmap with an axis_name know of each other, eager and compiled."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tnp as np

X = numpy.asarray([1.0, 3.0, 8.0])
M = numpy.arange(6.0).reshape(2, 3)


def both(expected: Any, function: Any, *args: Any) -> None:
    given = [np.asarray(arg) for arg in args]
    for run in (function, np.compile(function, backend="eager")):
        numpy.testing.assert_allclose(np.asnumpy(np.asarray(run(*given))), expected, rtol=1e-12)


def over(function: Any, name: str = "i", **options: Any) -> Any:
    return np.vmap(function, axis_name=name, **options)


def test_reductions() -> None:
    both(X / 12, over(lambda x: x / np.psum(x, "i")), X)
    both(X - 4, over(lambda x: x - np.pmean(x, "i")), X)
    both([8, 8, 8], over(lambda x: np.pmax(x, "i")), X)
    both([1, 1, 1], over(lambda x: np.pmin(x, "i")), X)
    both([0, 1, 2], over(lambda x: np.axis_index("i")), X)
    both([3, 3, 3], over(lambda x: np.psum(1, "i")), X)
    both(M + M.sum(0), over(lambda row: row + np.psum({"row": row}, "i")["row"]), M)
    both((M + M.sum(1)[:, None]).T, over(lambda column: column + np.psum(column, "i"), in_axes=1), M)


def test_gathered() -> None:
    both([M, M], over(lambda row: np.all_gather(row, "i")), M)
    both([M.T, M.T], over(lambda row: np.all_gather(row, "i", axis=1)), M)
    both([M.ravel()] * 2, over(lambda row: np.all_gather(row, "i", tiled=True)), M)
    both([[7, 7, 7]] * 3, over(lambda x: np.all_gather(np.asarray(7), "i")), X)


def test_maps_in_maps() -> None:
    nested = lambda function: over(over(function, "j"), "i")  # noqa: E731
    both(M - M.sum(0), nested(lambda x: x - np.psum(x, "i")), M)
    both(M - M.sum(1)[:, None], nested(lambda x: x - np.psum(x, "j")), M)
    both(numpy.full((2, 3), 15), nested(lambda x: np.psum(x, ("i", "j"))), M)
    both(
        10 * numpy.arange(2)[:, None] + numpy.arange(3),
        nested(lambda x: 10 * np.axis_index("i") + np.axis_index("j")),
        M,
    )


def test_derivatives() -> None:
    squares = lambda x: np.psum(x**2, "i")  # noqa: E731
    both(6 * X, over(np.grad(squares)), X)
    both(6 * X, np.grad(lambda x: over(squares)(x).sum()), X)
    both(6 * 3 * X, over(np.grad(np.grad(lambda x: np.psum(x**3, "i")))), X)
    both([2 * (X**2).sum()] * 3, lambda x: np.jvp(over(squares), (x,), (x,))[1], X)
    both([6, 0, 0], over(np.grad(lambda x: 2 * np.all_gather(x, "i")[0])), X)
    both(4 * M, over(over(np.grad(squares), "j"), "i"), M)
    both([[0, 0, 3]] * 3, np.jacobian(over(lambda x: np.pmax(x, "i") * 3)), X)


def test_a_tape_around() -> None:
    x = np.asarray(X)
    with np.GradientTape() as tape:
        tape.watch(x)
        y = over(lambda x: np.psum(x**2, "i"))(x).sum()
    assert tape.gradient(y, x).tolist() == (6 * X).tolist()


def test_what_is_refused() -> None:
    x = np.asarray(X)
    with pytest.raises(NameError, match=r"unbound axis name: i\. Names that are bound here: none"):
        np.psum(x, "i")
    with pytest.raises(NameError, match=r"unbound axis name: k\. Names that are bound here: 'i'"):
        over(lambda x: np.psum(x, "k"))(x)
    with pytest.raises(RuntimeError, match="can't be done for all elements at once"):
        over(lambda x: x if x > 1 else np.psum(x, "i"))(x)
    with pytest.raises(ValueError, match="chunk_size"):
        over(lambda x: x, chunk_size=2)(x)
