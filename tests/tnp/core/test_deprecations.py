"""What releases of NumPy deprecate: the same warnings, about the user's line, from the release on that gives them."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import pytest

from tests.oracle import compare

pytestmark = pytest.mark.host  # elsewhere xp stands for tnp, whose functions have one frame more

STATEMENTS = """
np.tri(3.0); np.tri(3, 2.0); np.tri(3, k=1.0); np.tri(3, k=np.asarray(1.0)); np.tri(3, k=np.asarray(1))
np.tri(3, k=True); np.tril(x, 0.5); np.triu(x, 0.5); np.triu(x, 1); np.tril_indices(3.0)
np.tril_indices(3, 0.5); np.triu_indices(3, 0.5)
np.triu_indices(3, 1, 2.0); np.tril_indices(3, 1); np.tril_indices_from(x, 1.0); np.triu_indices_from(x, 1.0)
np.mask_indices(3, np.triu, 1.0); np.mask_indices(3, np.triu, 1)
np.rot90(x, 1.5); np.rot90(x, np.asarray(2.0)); np.rot90(x, 1); np.rot90(x, True); np.rot90(x, "1"); np.rot90(x, None)
np.fix(x); np.fix([1.5]); np.fix(1.5); np.fix(x, x); np.fix(1j); np.trunc(x)
x.shape = 4; x.shape = (4, 1); x.shape = (3, 2); x.shape = "a"; x.T.shape = 4; x.flags.writeable = False; x.resize(4)
np.maximum(x, x, x); np.minimum(x, 2, None); np.maximum(x, 1, x, out=x); np.minimum(x, x, "out")
np.maximum(x, x, out=x); np.maximum(x, x, x, x); np.fmax(x, x, x); np.typename("d")
x.take([0], out=np.ones(1, dtype=int))
x.dtype = "f4"; x.dtype = "i8"; x.dtype = "f3"; x.view("f4"); x.reshape(4); np.float64(1).shape = (); x.real = 2
"""


@pytest.mark.parametrize("statement", [each.strip() for each in STATEMENTS.strip().replace("\n", ";").split(";")])
def test_the_same_warnings_about_the_same_line(statement: str) -> None:
    def seen(xp: Any) -> list[tuple[str, str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with contextlib.suppress(TypeError, ValueError, AttributeError):  # some are of what is then refused
                exec(compile(statement, "user.py", "exec"), {"np": xp, "x": xp.ones((2, 2))})
        return [(each.category.__name__, each.filename, str(each.message)) for each in caught]

    compare(seen)


def test_a_deprecation_that_is_an_error_changes_nothing() -> None:
    def left(xp: Any) -> Any:
        x = xp.ones((2, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for name, value in (("shape", 4), ("dtype", "i8")):
                with contextlib.suppress(DeprecationWarning):
                    setattr(x, name, value)
        return x

    compare(left)
