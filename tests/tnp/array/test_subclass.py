"""Classes derived from ndarray: what keeps the class, what a class can override, and that ndarray pays nothing."""

import copy
import gc
import operator
import os
import pickle
import subprocess
import sys
import weakref
from fractions import Fraction
from pathlib import Path

import numpy
import pytest

import tnp
from conformance import samples, trials
from tests import processes
from tests.oracle import agrees, compare
from tnp._program import import_hook

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def quantity(xp):
    """A class with an attribute of its own, as NumPy's documentation has it."""

    class Quantity(xp.ndarray):
        def __new__(cls, values, unit=None):
            made = xp.asarray(values).view(cls)
            made.unit = unit
            return made

        def __array_finalize__(self, source):
            self.unit = getattr(source, "unit", None)

    return Quantity


def seen(x):
    """What is compared of a result: its class's name, its unit and its values."""
    if isinstance(x, (list, tuple)):
        return [seen(each) for each in x]
    is_scalar = isinstance(x, numpy.generic) or type(x) is tnp._array.ndarray.scalar
    kind = "scalar" if is_scalar else "Quantity" if type(x).__name__ == "Quantity" else "ndarray"
    return kind, getattr(x, "unit", None), x


def after(x, change):
    """The array when it was changed in place."""
    change(x)
    return x


CALLS = {
    "add": lambda xp, q: q + 1,
    "radd": lambda xp, q: 1 + q,
    "array first": lambda xp, q: xp.ones(3) + q,
    "array second": lambda xp, q: q + xp.ones(3),
    "scalar first": lambda xp, q: xp.ones(3).sum() * q,
    "scalar second": lambda xp, q: q * xp.ones(3).sum(),
    "power": lambda xp, q: q**2,
    "reflected power": lambda xp, q: 2**q,
    "divmod": lambda xp, q: divmod(q, 2),
    "compare": lambda xp, q: q > 1,
    "equal": lambda xp, q: q == q,
    "different from a string": lambda xp, q: q != 1,
    "negative": lambda xp, q: -q,
    "matmul": lambda xp, q: q[:, None] @ q[None],
    "exp": lambda xp, q: xp.exp(q),
    "modf": lambda xp, q: xp.modf(q),
    "subok": lambda xp, q: xp.add(q, 1, subok=False),
    "out": lambda xp, q: xp.add(q, 1, out=xp.zeros(3)),
    "out of the class": lambda xp, q: xp.add(xp.ones(3), 1, out=q),
    "reduce": lambda xp, q: xp.add.reduce(q),
    "reduce an axis": lambda xp, q: xp.add.reduce(q[None]),
    "accumulate": lambda xp, q: xp.add.accumulate(q),
    "outer": lambda xp, q: xp.add.outer(q, q),
    "slice": lambda xp, q: q[1:],
    "element": lambda xp, q: q[0],
    "mask": lambda xp, q: q[q > 0],
    "ellipsis": lambda xp, q: q[0, ...],
    "iterated": lambda xp, q: list(q[None]),
    "sum": lambda xp, q: q.sum(),
    "sum, function": lambda xp, q: xp.sum(q),
    "mean of an axis": lambda xp, q: xp.mean(q[None], axis=0),
    "argmax": lambda xp, q: q.argmax(),
    "copy": lambda xp, q: q.copy(),
    "copy, function": lambda xp, q: xp.copy(q),
    "copy, function, subok": lambda xp, q: xp.copy(q, subok=True),
    "copy.copy": lambda xp, q: copy.copy(q),
    "copy.deepcopy": lambda xp, q: copy.deepcopy(q),
    "astype": lambda xp, q: q.astype(numpy.float32),
    "astype, not subok": lambda xp, q: q.astype(numpy.float32, subok=False),
    "reshape": lambda xp, q: q.reshape(3, 1),
    "T": lambda xp, q: q[None].T,
    "real": lambda xp, q: (q * 1j).imag,
    "flatten": lambda xp, q: q[None].flatten(),
    "view of a dtype": lambda xp, q: q.view(numpy.int64),
    "view as ndarray": lambda xp, q: q.view(xp.ndarray),
    "view, type": lambda xp, q: q.view(type=xp.ndarray),
    "asarray": lambda xp, q: xp.asarray(q),
    "asanyarray": lambda xp, q: xp.asanyarray(q),
    "asanyarray of another dtype": lambda xp, q: xp.asanyarray(q, dtype=numpy.float32),
    "array": lambda xp, q: xp.array(q),
    "array, subok": lambda xp, q: xp.array(q, subok=True),
    "array, subok, ndmin": lambda xp, q: xp.array(q, subok=True, ndmin=2),
    "ascontiguousarray": lambda xp, q: xp.ascontiguousarray(q),
    "require": lambda xp, q: xp.require(q),
    "require an ndarray": lambda xp, q: xp.require(q, requirements="E"),
    "zeros_like": lambda xp, q: xp.zeros_like(q),
    "zeros_like, not subok": lambda xp, q: xp.zeros_like(q, subok=False),
    "broadcast_to": lambda xp, q: xp.broadcast_to(q, (2, 3)),
    "broadcast_to, subok": lambda xp, q: xp.broadcast_to(q, (2, 3), subok=True),
    "windows, subok": lambda xp, q: xp.lib.stride_tricks.sliding_window_view(q, 2, subok=True),
    "concatenate": lambda xp, q: xp.concatenate([q, q]),
    "where": lambda xp, q: xp.where(q > 1, q, 0),
    "linalg.inv": lambda xp, q: xp.linalg.inv((q > 5)[:, None] * q + xp.eye(3) * 2),
    "constructor": lambda xp, q: xp.ndarray.__new__(type(q), (3,), numpy.float64, xp.arange(3.0)),
    "dot": lambda xp, q: q.dot(q),
    "in place": lambda xp, q: q.__iadd__(1),
    "power of three": lambda xp, q: q.__pow__(2, 3),
    "at": lambda xp, q: (xp.add.at(q, [0, 0], 1), q)[1],
    "reduceat": lambda xp, q: xp.add.reduceat(q, [0, 2]),
    "to_device": lambda xp, q: q.to_device("cpu"),
    "sort": lambda xp, q: after(-q, lambda z: z.sort()),
    "real, set": lambda xp, q: after(q, lambda z: setattr(z, "real", 5.0)),
    "imag, set": lambda xp, q: after(q * 1j, lambda z: setattr(z, "imag", 2.0)),
}


@pytest.mark.parametrize(
    "name", [pytest.param("constructor", marks=pytest.mark.reads), *sorted(CALLS.keys() - {"constructor"})]
)
@agrees
def test_what_is_of_the_class_and_what_is_not(xp, name):
    return seen(CALLS[name](xp, quantity(xp)([1.0, 2.0, 3.0], "m")))


DIFFERENT = {"unique_all", "unique_counts", "unique_inverse", "vectorize", "polydiv", "linalg.qr", "ndarray.flat"}
"""Named tuples, a class, and results of several classes, whose arrays are of ndarray."""


@pytest.mark.stores  # from_dlpack
def test_each_function_keeps_the_class_where_numpy_does():
    def kinds(xp, code):
        class Derived(xp.ndarray):
            pass

        def kind(value):
            if isinstance(value, (list, tuple)):
                return tuple(map(kind, value))
            return isinstance(value, Derived)

        arrays = {name: array.view(Derived) for name, array in samples.values(xp).items()}
        with trials.quiet():
            try:
                return kind(trials.sample_function(code, xp)(**arrays))
            except (AttributeError, pickle.PicklingError):  # a class in a function can't be pickled
                return None

    wrong = [
        name
        for name, code in samples.samples().items()
        if code and not name.startswith("random.") and name not in DIFFERENT
        if (numpys := kinds(numpy, code)) is not None and numpys != kinds(tnp, code)  # NumPy 2.5 has no row_stack
    ]
    assert wrong == []


@agrees
def test_finalize_gets_what_the_array_was_made_from(xp):
    told = []

    class Told(xp.ndarray):
        def __array_finalize__(self, source):
            told.append(None if source is None else type(source).__name__)

    x = xp.zeros(3).view(Told)
    Told((2,))
    x[1:]
    x + 1
    x.copy()
    return told


@agrees
def test_finalize_must_be_callable(xp):
    class Wrong(xp.ndarray):
        __array_finalize__ = 5

    with pytest.raises(TypeError, match="not callable"):
        xp.zeros(2).view(Wrong)


@agrees
def test_super_reaches_ndarray(xp):
    class Loud(xp.ndarray):
        def __getitem__(self, key):
            return super().__getitem__(key) * 10

        def __add__(self, other):
            return super().__add__(other) * 100

        def sum(self, axis=None, dtype=None, out=None):
            return xp.ndarray.sum(self, axis, dtype, out) + 1

    x = xp.arange(3.0).view(Loud)
    return [float(y) for y in (x[1:].max(), (x + 1).max(), x.sum(), xp.sum(x), xp.sum(x, axis=0))]


@agrees
def test_array_wrap_and_priority(xp):
    class Low(xp.ndarray):
        __array_priority__ = 1.0

        def __array_wrap__(self, array, context=None, return_scalar=False):
            return "low", None if context is None else context[0].__name__, return_scalar, array.shape

    class High(Low):
        __array_priority__ = 2.0

        def __array_wrap__(self, array, context=None, return_scalar=False):
            return "high", array.shape

    low, high = xp.ones(2).view(Low), xp.ones(2).view(High)
    return xp.add(low, 1), low + high, high + low, xp.exp(low), xp.add.reduce(low), xp.ones(2) + low


@agrees
def test_reductions_are_wrapped(xp):
    class Positive(xp.ndarray):
        def __array_wrap__(self, array, context=None, return_scalar=False):
            result = super().__array_wrap__(array, context, return_scalar)
            return result if result.ndim else float(result)

    x = xp.arange(6.0).reshape(2, 3).view(Positive)
    out = xp.zeros(3)
    results = [
        *(x.sum(), x.sum(0), xp.sum(x, 1), x.max(), xp.min(x, 0), xp.prod(x), x.any(), x.all(1), x.cumsum(0)),
        *(xp.cumprod(x), x.std(0), x.var(1), x.mean(0), xp.diff(x), x.clip(1, 2), xp.ptp(x, 0), xp.nansum(x)),
        xp.add.reduce(x, 0),
    ]
    kinds = [type(y).__name__ for y in results]
    return results, kinds, xp.sum(x, 0, out=out) is out, x.max(0, out) is out, out


@agrees
def test_array_wrap_of_fewer_arguments(xp):
    class Old(xp.ndarray):
        def __array_wrap__(self, array):
            return "old", xp.asarray(array)

    x = xp.arange(3.0).view(Old)
    with pytest.warns(DeprecationWarning, match="must accept context and return_scalar"):
        return xp.exp(x), x + 1, xp.add.reduce(x)


def test_array_wrap_that_takes_other_arguments():
    class Wrong(tnp.ndarray):
        def __array_wrap__(self, array, context, return_scalar, more):
            return "wrong"

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'more'"):
        tnp.exp(tnp.arange(3.0).view(Wrong))


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, x, _: x + 1,
        lambda xp, x, _: 1 + x,
        lambda xp, x, _: xp.exp(x),
        lambda xp, x, _: xp.add.at(x, 0, 1),
        lambda xp, x, _: xp.add(xp.ones(3), 1, out=x),
        lambda xp, x, opaque: opaque + x,
        lambda xp, x, opaque: x + opaque,
        lambda xp, x, opaque: xp.add(xp.ones(3), opaque),
        lambda xp, x, opaque: xp.matmul(xp.ones((3, 3)), opaque),
        lambda xp, x, opaque: operator.imatmul(xp.ones((3, 3)), opaque),
        lambda xp, x, _: list(x[0, ...]),
    ],
)
def test_nobody_computes_it(call):
    @agrees(raises=TypeError)
    def called(xp):
        declining = type("Declining", (xp.ndarray,), {"__array_ufunc__": lambda *args, **options: NotImplemented})
        opaque = type("Opaque", (), {"__array_ufunc__": None, "__add__": lambda *_: NotImplemented})
        return call(xp, xp.arange(3.0).view(declining), opaque())

    called()


@agrees
def test_array_ufunc_override(xp):
    class Logged(xp.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
            plain = [x.view(xp.ndarray) if isinstance(x, Logged) else x for x in inputs]
            if out is not None:
                kwargs["out"] = tuple(x.view(xp.ndarray) if isinstance(x, Logged) else x for x in out)
            result = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
            return ufunc.__name__, method, result

    x = xp.arange(3.0).view(Logged)
    y = xp.arange(3.0)
    results = [x + 1, 1 + x, y + x, y.sum() + x, xp.sin(x), xp.add.reduce(x), xp.multiply.outer(x, [1, 2]), x @ x]
    results += [xp.add(y, 1, out=x)[:2], xp.add.accumulate(x), x < 2]
    y += 1
    return results


@agrees
def test_array_ufunc_none_refuses(xp):
    class Opaque(xp.ndarray):
        __array_ufunc__ = None

        def __radd__(self, other):
            return "radd"

    x = xp.arange(3.0).view(Opaque)
    with pytest.raises(TypeError, match="does not support ufuncs"):
        xp.add(x, 1)
    return xp.arange(3.0) + x


@pytest.mark.host  # elsewhere xp stands for tnp, and its functions for tnp's
@agrees
def test_array_function_override(xp):
    handled = {}

    class Duck(xp.ndarray):
        def __array_function__(self, func, types, args, kwargs):
            if func in handled:
                return handled[func](*args, **kwargs)
            return super().__array_function__(func, types, args, kwargs)

    handled[xp.concatenate] = lambda arrays: ("joined", len(arrays))
    handled[xp.mean] = lambda x, axis=None: ("mean", axis)
    x = xp.arange(3.0).view(Duck)
    refuses = type("Refuses", (xp.ndarray,), {"__array_function__": lambda *args: NotImplemented})
    with pytest.raises(TypeError, match="no implementation found"):
        xp.sort(xp.arange(3.0).view(refuses))
    sorted_ = xp.sort(x[::-1].copy())
    return xp.concatenate([x, x]), xp.concatenate((xp.ones(2), x)), xp.mean(x, axis=0), type(sorted_).__name__, sorted_


def test_functions_stay_the_objects_that_they_were():
    before = tnp.median
    quantity(tnp)([1.0, 2.0])
    assert tnp.median is before and pickle.loads(pickle.dumps(tnp.median)) is before
    assert before.__name__ == "median" and before(tnp.asarray([1.0, 3.0])) == 2.0
    with pytest.raises(TypeError):
        tnp.median()


class Labelled(tnp.ndarray):
    def __array_finalize__(self, source):
        self.label = getattr(source, "label", "none")

    def __reduce__(self):
        function, arguments, state = super().__reduce__()
        return function, arguments, (*state, self.label)

    def __setstate__(self, state):
        self.label = state[-1]
        super().__setstate__(state[:-1])


def test_pickle_takes_the_state_that_the_class_adds():
    x = tnp.arange(6.0).reshape(2, 3).view(Labelled)
    x.label = "kept"
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is Labelled and y.label == "kept" and y.tolist() == x.tolist()


@agrees
def test_a_read_only_array_of_a_class_stays_one(xp):
    q = quantity(xp)([1.0, 2.0], "m")
    q.flags.writeable = False
    refused = []
    for write in (
        lambda: q.__setitem__(0, 1),
        lambda: q[:1].__setitem__(0, 1),
        lambda: q.fill(2),
        lambda: q.__iadd__(1),
    ):
        try:
            write()
        except ValueError:
            refused.append(True)
    q.flags.writeable = True
    q[0] = 5
    return refused, seen(q)


@agrees
def test_base_of_a_view_is_the_array(xp):
    x = xp.arange(3.0)
    return x.view(quantity(xp)).base is x


@agrees
def test_more_bases(xp):
    class Mixin:
        def double(self):
            return self * 2

    class Both(Mixin, xp.ndarray):
        pass

    class Further(Both):
        pass

    x = xp.arange(3).view(Further)
    return type(x.double()).__name__, x.double(), type(x + xp.arange(3).view(Both)).__name__


def test_scalars_and_read_only_arrays_are_no_bases():
    for base in (type(tnp.ones(2).sum()), type(tnp.broadcast_to(1, 2))):
        with pytest.raises(TypeError, match="not an acceptable base type"):
            type("Wrong", (base,), {})


def test_transforms_see_the_array_in_it():
    q = quantity(tnp)([1.0, 2.0, 3.0], "m")
    x = tnp.asarray(q)
    assert tnp.array_equal(tnp.grad(lambda a: tnp.sum(a**2))(q), 2 * x)
    assert tnp.array_equal(tnp.vectorized_map(lambda a: a * 2, q), x * 2)
    assert tnp.array_equal(tnp.compile(lambda a: tnp.sort(a) * 2, backend="eager")(q), x * 2)
    with tnp.GradientTape() as tape:
        tape.watch(q)
        y = tnp.sum(q * q)
    assert tape.gradient(y, q).tolist() == [2.0, 4.0, 6.0]


@agrees
def test_base_of_a_view_of_a_view_is_the_first_of_the_class(xp):
    x = xp.arange(5.0).view(quantity(xp))
    return x[1:].base is x, x[1:][1:].base is x, x[1:].copy().base is None


@agrees
def test_views_of_views_share_memory_and_know_their_base(xp):
    class Base(xp.ndarray):
        def __array_finalize__(self, source):
            self.source = type(source).__name__

    class Further(Base):
        pass

    x = xp.arange(6.0)
    first = x.view(Base)
    second = first[1:]
    third = second[1:].view(Further)
    third[0] = 9
    xp.asarray(second)[1] += 1
    third.view(xp.ndarray)[1] = 7
    bases = first.base is x, second.base is first, third.base is first, third[1:].base is third
    first.flags.writeable = False
    views = first[1:], first.view(Further), first.view(xp.ndarray), xp.asarray(first), first.reshape(2, 3).T
    known = [each.source for each in (first, second, third, third[1:], first.sum(), first.reshape(2, 3), first.copy())]
    return x, bases, known, [each.flags.writeable for each in views], xp.array([second, second]), xp.array(third)


@agrees
def test_arrays_over_the_memory_of_arrays(xp):
    class Base(xp.ndarray):
        def __array_finalize__(self, source):
            self.source = type(source).__name__

    def made(*args, **options):
        try:
            x = Base(*args, **options)
        except (TypeError, ValueError) as error:
            return type(error), str(error)
        return x, x.source, x.base is buffer, x.strides, x.flags.writeable

    buffer = xp.arange(4.0)
    first = Base.__new__(Base, (4,), float, buffer)
    first[0] = 9
    calls = [((4,), float), ((2, 2), float), (4, "f8"), ((2,), float), ((8,), "f4"), ((5,), float), ((-1, 4), float)]
    results = [made(shape, dtype, buffer) for shape, dtype in calls]
    results += [made((2,), float, buffer, 16), made((2, 2), float, buffer, order="F"), made((4,), float, buffer[::-1])]
    results += [made((2,), "u1", b"ab"), xp.ndarray((2,), "u1", b"ab").flags.writeable]
    buffer.flags.writeable = False
    plain = xp.ndarray((2, 2), float, buffer)
    results += [made((4,), float, buffer), plain, plain.flags.writeable, Base((4,), float, first).base is first]
    return buffer, results


def test_a_view_keeps_its_base_alive_until_it_goes():
    class Base(tnp.ndarray):
        pass

    for touch in (lambda x: None, lambda x: x.tensor):
        x = tnp.arange(4.0).view(Base)
        known = weakref.ref(x)
        view = x[1:]
        touch(view)
        del x
        assert view.base is known()
        known().itself = view  # a cycle
        del view
        gc.collect()
        assert known() is None


def test_lists_that_hold_themselves_reach_functions_once_there_is_a_derived_class(recwarn):
    tnp.arange(2).view(quantity(tnp))
    endless = [1.0]
    endless.append(endless)
    with pytest.raises(ValueError, match=r"maximum depth|inhomogeneous"):
        tnp.vstack([endless, endless])


@agrees
def test_functions_that_call_one_call_it_with_the_class(xp):
    q = quantity(xp)(xp.arange(6.0).reshape(2, 3), "m")
    units = []

    def first(row):
        units.append((type(row).__name__, row.unit))
        return row * 2

    return seen(xp.apply_along_axis(first, 1, q)), units


@agrees
def test_as_strided_keeps_the_class_if_it_is_told_to(xp):
    q = quantity(xp)([1.0, 2.0, 3.0], "m")
    strided = xp.lib.stride_tricks.as_strided
    locked = strided(q, (2,), (8,), subok=True, writeable=False)
    return seen(strided(q, (2,), (8,))), seen(strided(q, (2,), (8,), subok=True)), locked.flags.writeable


# Who is asked first: a derived class, by each array that is no more to NumPy than an ndarray.

REFLECTED = {
    "add": "__radd__",
    "sub": "__rsub__",
    "mul": "__rmul__",
    "truediv": "__rtruediv__",
    "floordiv": "__rfloordiv__",
    "mod": "__rmod__",
    "divmod": "__rdivmod__",
    "pow": "__rpow__",
    "lshift": "__rlshift__",
    "rshift": "__rrshift__",
    "and_": "__rand__",
    "or_": "__ror__",
    "xor": "__rxor__",
    "matmul": "__rmatmul__",
    "lt": "__gt__",
    "le": "__ge__",
    "gt": "__lt__",
    "ge": "__le__",
    "eq": "__eq__",
    "ne": "__ne__",
}
"""Operator -> the method of the right operand's class."""

SAYS = {
    "computes": lambda inherited, forward, x: ("asked", inherited(x)),
    "declines": lambda *_: NotImplemented,
    "hands it back": lambda inherited, forward, x: getattr(x, forward)(inherited.__self__),
}
"""What a derived class says to the left operand."""


def asked(xp, name, says, left, length):
    """An operator of an array and one of a derived class, which are square."""
    x = xp.arange(length * length).reshape(length, length) % 5 + 1
    if left == "read-only":
        x.flags.writeable = False
    elif left == "broadcast":
        x = xp.broadcast_to(x[0], (length, length))
    if says == "is a matrix":
        y = xp.asmatrix(xp.full((length, length), 2))
    else:

        class Derived(xp.ndarray):
            pass

        if says != "inherits":
            method, forward = REFLECTED[name], f"__{name.strip('_')}__"
            setattr(Derived, method, lambda self, x: SAYS[says](getattr(super(Derived, self), method), forward, x))
        y = xp.full((length, length), 2).view(Derived)

    def told(result):
        if isinstance(result, tuple):
            return [told(each) for each in result]
        return result if isinstance(result, str) else (type(result).__name__, xp.asarray(result))

    return told((getattr(operator, name, None) or divmod)(x, y))


@pytest.mark.host
@pytest.mark.parametrize("left", ["writeable", "read-only", "broadcast"])
@pytest.mark.parametrize("says", ["is a matrix", "inherits", *SAYS])
@pytest.mark.parametrize("name", REFLECTED)
def test_a_derived_class_is_asked_first(name, says, left):
    compare(asked, name, says, left, 2)


# Data that no tensor can hold.


def fractions(xp):
    return xp.asarray([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(5)]])


@agrees
def test_class_of_data_that_no_tensor_holds(xp):
    class Labels(xp.ndarray):
        def __new__(cls, values, source=None):
            made = xp.ndarray.__new__(cls, (len(values),), "U1")
            made[:] = values
            made.source = source
            return made

        def __array_finalize__(self, source):
            super().__array_finalize__(source)
            self.source = getattr(source, "source", None)

        @property
        def first(self):
            return super().__getitem__(0)

        @classmethod
        def empty(cls):
            return cls([])

    class Further(Labels):
        pass

    x = Labels(["b", "a"], "file")
    seen = [x[1:], xp.sort(x), x.copy(), x == "a", x.view(xp.ndarray), x.view(Further), x.view(Further).view(Labels)]
    return [(type(each).__name__, getattr(each, "source", None), each.tolist()) for each in seen], x.first, repr(x)


@agrees
def test_constructor_of_data_that_no_tensor_holds(xp):
    class Grid(xp.ndarray):
        pass

    x = Grid((2,), dtype=object)
    x[:] = [Fraction(1, 2), None]
    return type(x).__name__, x.tolist()


@agrees
def test_matrix_of_objects(xp):
    class Exact(xp.matrix):
        def __rmul__(self, other):
            return self * other

    x = Exact(fractions(xp))
    kinds = [isinstance(x, Exact), isinstance(x, xp.matrix), isinstance(xp.matrix(fractions(xp)), xp.matrix)]
    kinds += [issubclass(type(x), xp.matrix), isinstance(x, dict), isinstance(Exact([1]), xp.matrix)]
    return type(x).__name__, (x * x).tolist(), (2 * x).tolist(), x.T[0].tolist(), kinds, type(Exact(x)).__name__


def test_program_s_class_of_strings(tmp_path):
    (tmp_path / "script.py").write_text("""
import numpy as np, pickle, copy, collections.abc
from fractions import Fraction

class Labels(np.ndarray):
    def __array_finalize__(self, source):
        self.source = getattr(source, "source", "none")

class Further(Labels, collections.abc.Hashable):
    __hash__ = object.__hash__

class Exact(np.matrix):
    def __rmul__(self, other):
        return self * other

x = np.asarray(["b", "a"]).view(Labels)
y = x.view(Further)
print(isinstance(x, Labels), isinstance(x, np.ndarray), isinstance(x, Further), isinstance(y, Labels), x.source)
print(isinstance(np.asarray(["a"]), Labels), isinstance(np.ones(2).view(Labels), Labels), issubclass(type(y), Labels))
print(repr(pickle.loads(pickle.dumps(x))), repr(copy.deepcopy(x)), type(np.sort(x)).__name__)
f = np.asarray([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(5)]]).view(Exact)
print(isinstance(f, Exact), isinstance(f, np.matrix), (f * f).tolist(), (2 * f).tolist(), f.T[0].tolist())
print(type(np.asarray([None]).view(np.matrix)).__name__, np.asarray(["a"]).view(np.ndarray), x.view(np.ndarray))
""")
    by_tnp = processes.run("-m", "tnp", "script.py", cwd=tmp_path)
    by_numpy = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (by_tnp.stdout, by_tnp.stderr) == (by_numpy.stdout, by_numpy.stderr)


def test_a_derived_class_leaves_numpy_s_own_class_as_it_is():
    before = numpy.ndarray.__dict__["view"]
    program = """
import numpy
before = numpy.ndarray.__dict__["view"]
import tnp
class Kind(tnp.ndarray):
    pass
class Exact(tnp.matrix):
    pass
Kind((1,), dtype=object), Exact([[None]])
assert numpy.ndarray.__dict__["view"] is before
"""
    subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, check=True)
    import_hook.install([])
    numbers = numpy.arange(3)
    kind = type("Kind", (tnp.ndarray,), {})
    try:
        x = numbers.view(kind)
        x[0] = 7
        assert type(x) is kind and numbers[0] == 7
    finally:
        import_hook.remove()
    assert numpy.ndarray.__dict__["view"] is before


@pytest.mark.parametrize("values", [["a"], [None], [1.0]])
@pytest.mark.parametrize("base", [tnp.ndarray, tnp.matrix])
def test_numpy_s_own_arrays_refuse_a_derived_class(base, values):
    kind = type("Kind", (base,), {})
    with pytest.raises(TypeError, match=r"cannot be viewed as Kind.*python -m tnp"):
        numpy.asarray(values).view(kind)
    assert numpy.dtype(tnp.ones(1).view(kind)) == float


def test_masked_arrays_say_how_to_get_their_data():
    x = numpy.ma.array([1.0, 2.0], mask=[False, True])
    for arguments in ({"dtype": tnp.ndarray}, {"type": tnp.ndarray}):
        with pytest.raises(TypeError, match=r"write tnp\.asarray\(x\).*x\.data"):
            x.view(**arguments)
    tnp.asarray(x)[0] = 7.0
    assert x[0] == 7.0
    assert numpy.dtype(tnp.ndarray) == numpy.dtype(numpy.ndarray) == tnp.empty(1, tnp.ndarray).dtype == object


# Operands and reductions that a class computes itself.


@agrees
def test_operators_of_a_class_without_operators(xp):
    class Told:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return ufunc.__name__, method, len(inputs), sorted(options)

    told = Told()
    arrays = [xp.arange(2), xp.arange(1000.0), xp.arange(2)[0]]
    return [(x + told, x * told, x < told, x == told, x**told, divmod(x, told)) for x in arrays], xp.ones(2) @ told


@agrees
def test_methods_that_reduce_ask_the_override(xp):
    class Told(xp.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return ufunc.__name__, method, options.get("axis", 0), options.get("keepdims", False)

    x = xp.ones((2, 2)).view(Told)
    return x.sum(), x.prod(axis=0), x.max(1), x.min(keepdims=True), x.any(), x.all(axis=1)


def test_functions_of_plain_arrays_stay_as_they_are() -> None:
    """The first derived array makes functions look for such arrays, and changes nothing for others."""
    tnp.matrix([[1.0]])
    compare(lambda xp: [xp.tile(xp.asarray([1.0, 2.0]), 2).base is None, xp.tile([1.0], (2, 1)).base is None])


def test_wrong_arguments_name_the_function() -> None:
    tnp.matrix([[1.0]])
    compare(lambda xp: xp.putmask(nonsense=1), raises=TypeError)
    compare(lambda xp: xp.einsum("i", [1.0], nonsense=1), raises=TypeError)


def test_methods_that_reduce_give_the_override_numpys_options() -> None:
    def options(xp):
        class Logged(xp.ndarray):
            def __array_ufunc__(self, ufunc, method, *inputs, **given):
                calls.append((ufunc.__name__, method, given))
                return 1

        calls = []
        x = xp.arange(6).reshape(2, 3).view(Logged)
        x.sum(), x.sum(0), x.sum(axis=1, dtype="f4", keepdims=True), x.prod(initial=2), x.max(), x.min(0, initial=None)
        x.any(), x.all(axis=1), xp.add.reduce(x), x.sum(initial=3, where=True)
        return calls

    compare(options)


@pytest.mark.parametrize("priority", [0, 21])
@agrees
def test_what_is_joined_is_made_of_no_array(xp, priority):
    class Told(xp.ndarray):
        __array_priority__ = priority

        def __array_finalize__(self, source):
            self.unit = None if source is None else getattr(source, "unit", "none")

    x = xp.arange(4.0).view(Told)
    x.unit = "m"
    made = [xp.concatenate([x, x]), xp.append(x, 1.0), xp.stack([x, x]), xp.hstack([x, [1]]), xp.sort(x)]
    return [(isinstance(each, Told), getattr(each, "unit", "")) for each in made]


@pytest.mark.reads
@agrees
def test_texts_are_those_of_the_class(xp):
    class Named(xp.ndarray):
        def __str__(self):
            return "named"

    x = xp.arange(3.0).view(Named)
    return f"{x}", format(x), "{}".format(x), f"{xp.arange(3)}"  # noqa: UP032


@agrees(raises=TypeError)
def test_arrays_take_no_format(xp):
    return f"{xp.arange(3.0):.2f}"


@pytest.mark.reads
@agrees
def test_deep_copies_do_not_call_the_method(xp):
    class Own(xp.ndarray):
        def copy(self):
            raise AssertionError

    x = xp.arange(6.0).reshape(2, 3).T.view(Own)
    return [(type(each) is Own, each.strides, each + 0) for each in (copy.copy(x), copy.deepcopy(x))]


@pytest.mark.reads
@agrees
def test_a_state_that_numpy_pickles(xp):
    class Unit(xp.ndarray):
        def __setstate__(self, state):
            self.unit = state[-1]
            super().__setstate__(state[:-1])

    x = xp.ndarray.__new__(Unit, (0,), "b")
    x.__setstate__((*numpy.arange(6.0).reshape(2, 3).__reduce__()[2], "m"))
    return type(x) is Unit, x.unit, x + 0


@pytest.mark.reads
@agrees
def test_data_that_no_tensor_holds_keeps_the_class(xp):
    class Tagged(xp.ndarray):
        tag = ""

        def __array_finalize__(self, source):
            self.tag = getattr(source, "tag", "")

    class Right:
        def __radd__(self, other):
            return f"{other} and more"

    x = xp.arange(3).view(Tagged)
    x.tag = "mine"
    results = x.astype(object), x.astype("U5"), x + Right()
    return [(type(result).__name__, result.tag, result.shape, result[2]) for result in results]
