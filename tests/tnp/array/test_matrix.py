"""Matrices: two dimensions always, * the matrix product, reductions that keep their axes."""

import numpy
import pytest

import tnp
from tests.oracle import compare

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")

CALLS = {
    "string": lambda xp, m: xp.matrix("1 2; 3, 4.5"),
    "string in brackets": lambda xp, m: xp.matrix("[1 2j; 3 4]"),
    "vector": lambda xp, m: xp.matrix([1, 2, 3]),
    "number": lambda xp, m: xp.matrix(3),
    "dtype": lambda xp, m: xp.matrix([[1, 2]], dtype=numpy.float32),
    "matrix, another dtype": lambda xp, m: xp.matrix(m, dtype=numpy.int8),
    "array": lambda xp, m: xp.asmatrix(xp.ones(3)),
    "array, another dtype": lambda xp, m: xp.asmatrix(xp.ones(3), numpy.int8),
    "view of a stack of one": lambda xp, m: xp.ones((2, 1, 3)).view(xp.matrix),
    "bmat": lambda xp, m: xp.bmat([[m, m], [m, m]]),
    "bmat of a row": lambda xp, m: xp.bmat([m, m]),
    "bmat of an array": lambda xp, m: xp.bmat(xp.ones((2, 2))),
    "bmat of names": lambda xp, m: xp.bmat("m m; m, m"),
    "bmat of given names": lambda xp, m: xp.bmat("a, b", {"a": m}, {"a": 1, "b": m.T}),
    "r_ of names": lambda xp, m: xp.r_["m, m; m m"],
    "r_ row": lambda xp, m: xp.r_["r", [1, 2], [3]],
    "r_ column": lambda xp, m: xp.r_["c", [1, 2], [3]],
    "r_ two dimensions": lambda xp, m: xp.r_["c", xp.ones((1, 2)), xp.ones((2, 2))],
    "times": lambda xp, m: m * m,
    "times a vector": lambda xp, m: m * [[1], [2], [3]],
    "times a number": lambda xp, m: m * 2,
    "times a scalar": lambda xp, m: m * xp.ones(2).sum(),
    "number times": lambda xp, m: 2 * m,
    "array times": lambda xp, m: xp.ones((2, 3)) * m,
    "plus": lambda xp, m: m + [1, 2, 3],
    "power": lambda xp, m: m**2,
    "power, reflected": lambda xp, m: 2**m,
    "divided": lambda xp, m: m / 2,
    "compared": lambda xp, m: m > 2,
    "element": lambda xp, m: m[0, 1],
    "row": lambda xp, m: m[0],
    "column": lambda xp, m: m[:, 0],
    "row by slice": lambda xp, m: m[0, :],
    "ellipsis": lambda xp, m: m[..., 0],
    "mask": lambda xp, m: m[m > 3],
    "list": lambda xp, m: m[[0, 2]],
    "new axis": lambda xp, m: m[None],
    "iterated": lambda xp, m: list(m),
    "sum": lambda xp, m: m.sum(),
    "sum of columns": lambda xp, m: m.sum(axis=0),
    "sum of rows": lambda xp, m: xp.sum(m, axis=1),
    "sum, out": lambda xp, m: m.sum(axis=0, out=xp.matrix([[0.0, 0, 0]])),
    "prod": lambda xp, m: m.prod(axis=1),
    "mean": lambda xp, m: m.mean(1),
    "std": lambda xp, m: m.std(0, ddof=1).round(6),
    "var": lambda xp, m: xp.var(m, 1).round(6),
    "any": lambda xp, m: (m > 2).any(1),
    "all": lambda xp, m: (m > 2).all(0),
    "max": lambda xp, m: m.max(1),
    "min": lambda xp, m: m.min(),
    "ptp": lambda xp, m: m.ptp(1),
    "ptp of all": lambda xp, m: m.ptp(),
    "argmax": lambda xp, m: m.argmax(),
    "argmax of rows": lambda xp, m: m.argmax(1),
    "argmin of columns": lambda xp, m: xp.argmin(m, axis=0),
    "keepdims": lambda xp, m: xp.sum(m, keepdims=True),
    "no such axis": lambda xp, m: m.argmax(2),
    "ravel": lambda xp, m: m.ravel(),
    "flatten": lambda xp, m: m.flatten(),
    "squeeze": lambda xp, m: m[0].squeeze(),
    "tolist": lambda xp, m: m.tolist(),
    "A": lambda xp, m: m.A,
    "A1": lambda xp, m: m.A1,
    "T": lambda xp, m: m.T,
    "H": lambda xp, m: (m * 1j).H,
    "real H": lambda xp, m: m.H,
    "I": lambda xp, m: m.I.round(6),
    "I, not square": lambda xp, m: m[:2].I.round(6),
    "methods of properties": lambda xp, m: [m.getA(), m.getA1(), m.getT(), m.getH(), m.getI().round(6)],
    "trace": lambda xp, m: m.trace(),
    "diagonal": lambda xp, m: m.diagonal(),
    "concatenate": lambda xp, m: xp.concatenate([m, m]),
    "kron": lambda xp, m: xp.kron(m, m),
    "sorted": lambda xp, m: xp.sort(m, axis=0),
    "cumsum": lambda xp, m: m.cumsum(),
    "outer": lambda xp, m: xp.add.outer(m[0], m[0]),
    "repr": lambda xp, m: repr(m) + str(m),
    "three dimensions": lambda xp, m: xp.matrix([[[1]]]),
    "stack": lambda xp, m: xp.ones((2, 2, 2)).view(xp.matrix),
    "ragged": lambda xp, m: xp.matrix("1 2; 3"),
    "no such name": lambda xp, m: xp.bmat("m nothing"),
}


def seen(x):
    """What is compared of a result: whether it is a matrix, its shape and its values."""
    if isinstance(x, list):
        return [seen(each) for each in x]
    of_class = type(x).__name__ == "matrix"
    return of_class, x.A if of_class else x


@pytest.mark.host
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_matrices_are_numpys(call):
    compare(
        lambda xp: seen(call(xp, xp.matrix([[2.0, 1, 5], [1, 3, 4], [7, 1, 9]]))),
        may_raise=(NameError, TypeError, ValueError),
    )


def test_it_is_not_recommended():
    for xp in (numpy, tnp):
        with pytest.warns(PendingDeprecationWarning, match="not the recommended way"):
            xp.matrix([1])
        if hasattr(xp, "row_stack"):  # NumPy has none since 2.5
            with pytest.warns(DeprecationWarning, match="`row_stack` alias is deprecated"):
                xp.row_stack([[1, 2], [3, 4]])


def test_row_stack_is_vstack():
    blocks = [[1, 2], tnp.ones((2, 2))]
    found, expected = tnp.row_stack(blocks, dtype=numpy.float32), tnp.vstack(blocks, dtype=numpy.float32)
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


@pytest.mark.host
def test_memory_is_shared_unless_a_copy_is_asked_for():
    def writes(xp):
        x = xp.zeros((2, 2))
        shared, copied = xp.asmatrix(x), xp.matrix(x)
        shared[0] = 1
        copied[1] = 2
        m = xp.asmatrix(xp.zeros((2, 2)))
        m[:, 0] += 3
        m *= xp.eye(2)
        m **= 2
        same = xp.asmatrix(m) is m
        return x, same, m.A

    compare(writes)


@pytest.mark.host
def test_a_read_only_vector_becomes_a_read_only_row():
    def written(xp):
        x = xp.zeros(3)
        x.flags.writeable = False
        m = x.view(xp.matrix)
        m[0, 0] = 1

    compare(written, raises=ValueError)


@pytest.mark.host
def test_products_with_read_only_arrays():
    def products(xp):
        x, m = xp.arange(4.0).reshape(2, 2), xp.asmatrix(xp.ones((2, 2)))
        x.flags.writeable = False
        return x * m, m * x, x + m, x - m, x @ m, x < m, xp.multiply(x, m), type(x * m).__name__

    compare(products)


def test_classes_derived_from_it():
    def derived(xp):
        class Rotation(xp.matrix):
            pass

        r = Rotation("0 -1; 1 0")
        return [type(x).__name__ for x in (r, r * r, r[0], r.T, r + 1, r.sum(0))]

    compare(derived)
