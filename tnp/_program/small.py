"""Small arrays in NumPy's hands: for programs that loop over elements, or compute with a handful of numbers at a time.

An operation of torch takes a microsecond before it computes anything. In a program that ``python -m tnp
--small-arrays`` runs, an array in CPU memory therefore starts in NumPy's hands: its one slot, which is the tensor's,
holds a ``numpy.ndarray``, and its class (`held`) is one below ndarray. NumPy reads and writes its elements and makes
its views; of up to `LIMIT` elements (`small`) NumPy computes with it too. Whoever asks for ``x.tensor`` (and each
function that is not listed here does, torch's functions, tapes and DLPack as well) makes it an ordinary array, for
good: a tensor over the same memory is put in the slot, and the class becomes ndarray. So there is no second state that
has to be kept in step with the first, and no array that torch has seen is written behind its back.

Arrays may share memory. That of which there is a tensor is noted in `watched`, and so is each trace and transform while
it runs. While that is empty, which costs one look to find out, nothing is asked; else those that have a part in such
memory become ordinary arrays first, views of that tensor, and in a trace or a transform all arrays do.

What NumPy gives as a scalar is NumPy's own scalar.

What differs from NumPy, beside what differs in tnp: what NumPy's scalars make of lists (``x[0] + [1, 2]``), and views
of them, are NumPy's arrays. A graph that torch's own ``make_fx`` traces has the values of such arrays from outside as
constants, where ``tnp.compile`` has the arrays; ``torch.compile`` breaks its graph at each of their operations. NumPy
warns of floating-point errors as it always does, and names a line in here.

Layer: owns the classes. Nothing of tnp is replaced: the functions (`_small_functions`) are in the modules that stand
for NumPy's in such a program (`_dropin`), where tnp's own stand otherwise.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from backend_torch.tensors import devices
from backend_torch.tensors import numpy_held as backend
from backend_torch.tensors.trace_state import watched
from tnp._core import interop
from tnp._core.base import asking, ndarray, readonly
from tnp._core.dtype_table import PLAIN

LIMIT = 4096
"""The most elements of an array that NumPy computes with."""

_host = np.ndarray
_new = object.__new__
_slot: Any = ndarray.__dict__["tensor"]
HELD = frozenset(map(np.dtype, "?bhilBHILefdFD"))
_UFUNCS = frozenset(ufunc for name in np.__all__ if isinstance(ufunc := getattr(np, name), np.ufunc))
_NUMBERS = frozenset({int, float, bool, complex, *[dtype.type for dtype in HELD]})
_PASSED = _NUMBERS | {type(None), str, type, slice, type(Ellipsis), *map(type, HELD)}
"""What NumPy's functions are given as it is, beside arrays."""


class NotHeld(Exception):
    """Torch has to do it: NumPy does not hold what is given, or can't hold what would be returned."""


def _may_compute(*values: Any) -> bool:
    """Whether NumPy may compute although something is watched; arrays of which torch has the memory become its."""
    _settle(values)
    return not backend.is_observed()


def _settle(values: Any) -> None:
    for value in values:
        if type(value) in (list, tuple):
            _settle(value)
        elif isinstance(value, held):
            host = _slot.__get__(value)
            if type(host) is _host and backend.is_taken(host):
                _ = value.tensor


def _hosts(values: Any) -> list[Any]:
    """Arguments as NumPy takes them."""
    hosts = []
    try:
        for value in values:
            kind = type(value)
            if kind is small:
                hosts.append(value.host)
            elif kind in _PASSED:
                hosts.append(value)
            elif kind is list or kind is tuple:
                hosts.append(value if _PASSED.issuperset(map(type, value)) else kind(_hosts(value)))
            elif kind is _host and value.dtype in HELD and value.flags.owndata and value.flags.writeable:
                hosts.append(value)  # a library's
            else:
                raise NotHeld
    except AttributeError:  # another thread had torch take it over
        raise NotHeld from None
    return hosts


def _held(result: Any) -> Any:
    """What NumPy returned: plain arrays as ours, scalars and everything else as they are."""
    kind = type(result)
    if kind is _host:
        if result.dtype not in HELD or (result.base is not None and not _fits(result)):
            raise NotHeld
        return wrap_host(result)
    if kind is tuple or kind is list:
        return kind(map(_held, result))
    if isinstance(result, tuple) and hasattr(result, "_make"):
        return result._make(map(_held, result))
    return result


def wrap_host(host: np.ndarray) -> Any:
    """An array in NumPy's hands; written out where each tenth of a microsecond counts."""
    made: Any = _new(small if host.size <= LIMIT else held)
    made.host = host
    return made


def _returned(result: Any, values: Any, hosts: Any) -> Any:
    """What NumPy returned, with the very arrays that were given where it gave one back: in ``out=`` most of all."""
    for value, host in zip(values, hosts, strict=True):
        if host is result and type(result) is _host:
            return wrap_host(host) if value is host else value  # of a library's array one of ours
        if type(value) is tuple and type(result) is _host and any(each is result for each in host):
            return _returned(result, value, host)
    if type(result) is tuple:
        return tuple([_returned(each, values, hosts) for each in result])
    return _held(result)


def _fits(view: Any) -> bool:
    """Whether a tensor can be such a view of its memory: not one backwards or of another dtype."""
    base, strides = view.base, view.strides
    is_like_base = type(base) is _host and base.dtype == view.dtype and base.flags.writeable
    is_known = view.flags.writeable or _repeats(view) or view.size <= LIMIT  # large ones would not see that they are
    return is_like_base and is_known and min(strides, default=0) >= 0


def _repeats(host: Any) -> bool:
    """Whether elements share a place, which a tensor says of itself."""
    return any(length > 1 and not stride for length, stride in zip(host.shape, host.strides, strict=True))


def call(theirs: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's function of arrays that it holds; tnp's of others."""
    if not watched or _may_compute(*args, *kwargs.values()):
        try:
            hosts, named = _hosts(args), _hosts(kwargs.values())
            result = theirs(*hosts, **dict(zip(kwargs, named, strict=True)))
            return _returned(result, (*args, *kwargs.values()), (*hosts, *named))
        except NotHeld:
            pass
    return ours(*args, **kwargs)


def function(theirs: Any, ours: Any) -> Any:
    """One of tnp's functions that is NumPy's for small arrays."""

    @functools.wraps(ours)
    def either(*args: Any, **kwargs: Any) -> Any:
        if watched or kwargs:
            return call(theirs, ours, args, kwargs)
        try:
            hosts = _hosts(args)
            result = theirs(*hosts)
            if type(result) is not _host:
                return _returned(result, args, hosts) if isinstance(result, (tuple, list)) else result
            if result is hosts[0] or result is hosts[-1] or len(hosts) > 3:
                return _returned(result, args, hosts)
            if result.base is not None or result.dtype not in HELD:
                return _held(result)
        except NotHeld:
            return ours(*args)
        made: Any = _new(small if result.size <= LIMIT else held)
        made.host = result
        return made

    return either


# Operators and methods.


def _ordinary(array: Any) -> Any:
    """The array, which torch has taken over: its class may be `readonly`, whose methods are others than ndarray's."""
    _ = array.tensor
    return array


def _later(name: str) -> Any:
    """A method that the array has when torch has taken it over."""

    @functools.wraps(getattr(ndarray, name))
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(_ordinary(self), name)(*args, **kwargs)

    return method


def _binary(compute: Any, ordinary: Any) -> Any:
    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        if watched or not (kind is small or kind in _NUMBERS):
            return call(compute, ordinary, (self, other), {})
        try:
            result = compute(self.host, other.host if kind is small else other)
        except AttributeError:  # another thread had torch take the one or the other over
            return ordinary(self, other)
        if type(result) is not _host:
            return result
        made: Any = _new(small if result.size <= LIMIT else held)
        made.host = result
        return made

    return method


def _reflected(compute: Any, ordinary: Any) -> Any:
    return _binary(lambda host, other: compute(other, host), ordinary)


def _inplace(compute: Any) -> Any:
    ordinary = _later(f"__{compute.__name__}__")

    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        if watched or not (kind is small or kind in _NUMBERS):
            return call(compute, ordinary, (self, other), {})
        try:
            compute(self.host, other.host if kind is small else other)
        except AttributeError:
            return ordinary(self, other)
        return self

    return method


def _unary(compute: Any, ordinary: Any) -> Any:
    def method(self: Any) -> Any:
        if not watched or _may_compute(self):
            try:
                return _held(compute(self.host))
            except AttributeError:
                pass
        return ordinary(self)

    return method


def _fact(name: str) -> Any:
    """An attribute that NumPy's array has too."""
    ordinary: Any = getattr(ndarray, name)
    read = operator.attrgetter(name)

    def get(self: Any) -> Any:
        try:
            return read(self.host)
        except AttributeError:
            return ordinary.fget(self)

    return property(get, ordinary.fset, doc=ordinary.__doc__)


def _part(name: str) -> Any:
    """An attribute that the array has, and that can be written to, when torch has taken it over."""

    def put(self: Any, value: Any) -> None:
        getattr(type(_ordinary(self)), name).__set__(self, value)

    return property(lambda self: getattr(_ordinary(self), name), put)


def _read(read: Callable[..., Any], ordinary: Callable[..., Any]) -> Any:
    """A method that gives Python values."""

    @functools.wraps(ordinary)
    def method(self: Any, *args: Any) -> Any:
        if watched and not _may_compute(self):
            return ordinary(self, *args)
        try:
            host = self.host
        except AttributeError:
            return ordinary(self, *args)
        return read(host, *args)

    return method


def _key(key: Any) -> Any:
    """An index as NumPy takes it."""
    if type(key) is small:
        return key.host
    for item in key:
        if type(item) is small:
            return tuple([item.host if type(item) is small else item for item in key])
    return key


def _shaped(theirs: Callable[..., Any], ordinary: Callable[..., Any]) -> Any:
    """A method that makes a view or a copy of as many elements as there are."""

    @functools.wraps(ordinary)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not watched or _may_compute(self):
            try:
                return _held(theirs(self.host, *args, **kwargs))
            except (AttributeError, NotHeld):
                pass
        return ordinary(self, *args, **kwargs)

    return method


class held(asking):
    """An array whose elements NumPy holds until torch is asked for the tensor: then it is an ordinary ndarray."""

    __slots__ = ()
    __module__ = "tnp"

    host = _slot

    @property
    def tensor(self) -> Any:
        """The tensor over the memory, from now on in the place of NumPy's array."""
        with backend.lock:
            if isinstance(self, held):  # another thread may have been here
                kind = ndarray if self.host.flags.writeable or _repeats(self.host) else readonly
                tensor = backend.tensor_of(self.host)
                # Nothing between the two can let another thread run.
                self.host, self.__class__ = tensor, kind  # type: ignore[assignment]
        return _slot.__get__(self)

    dtype = _fact("dtype")
    shape = _fact("shape")
    ndim = _fact("ndim")
    size = _fact("size")
    itemsize = _fact("itemsize")
    nbytes = _fact("nbytes")
    strides = _fact("strides")
    device = property(lambda self: devices.CPU, doc=ndarray.device.__doc__)
    __len__ = _read(len, ndarray.__len__)
    __bool__ = _read(bool, ndarray.__bool__)
    __int__ = _read(int, ndarray.__int__)
    __float__ = _read(float, ndarray.__float__)
    __complex__ = _read(complex, ndarray.__complex__)
    __index__ = _read(operator.index, ndarray.__index__)
    __repr__ = _read(repr, ndarray.__repr__)
    __str__ = _read(str, ndarray.__str__)
    __format__ = _read(format, ndarray.__format__)
    item = _read(_host.item, ndarray.item)
    tolist = _read(_host.tolist, ndarray.tolist)
    tobytes = _read(_host.tobytes, ndarray.tobytes)

    @property
    def base(self) -> Any:
        """The array that this one is a view of, or None if it has memory of its own."""
        host = _slot.__get__(self)
        return None if type(host) is _host and host.base is None else _ordinary(self).base

    real = _part("real")
    imag = _part("imag")

    @property
    def __array_interface__(self) -> dict[str, Any]:
        host = self._array()
        return {**host.__array_interface__, "strides": host.strides}  # not None, which means "ask for a buffer"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        host = self._array()
        return host if dtype is None and not copy else np.array(host, dtype, copy=copy)

    _array = _read(_host.view, _later("__array__"))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc in _UFUNCS and method == "__call__" and not kwargs and (not watched or _may_compute(*inputs)):
            try:
                return _held(ufunc(*_hosts(inputs)))
            except NotHeld:
                pass
        return ndarray.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)

    def __reduce__(self) -> Any:
        host = _slot.__get__(self)
        if watched or type(host) is not _host:
            return _ordinary(self).__reduce__()
        return interop.unpickle, (host, "cpu", False, False)

    def __iter__(self) -> Iterator[Any]:
        if watched or self.ndim != 1:
            return ndarray.__iter__(self) if not self.ndim else (self[i] for i in range(len(self)))
        return iter(self.__array__())

    def __getitem__(self, key: Any) -> Any:
        if not watched or _may_compute(self, key):
            kind = type(key)
            try:
                result = self.host[_key(key) if kind is tuple or kind is small else key]
            except (AttributeError, TypeError):  # torch has taken it over, or knows the key
                return _ordinary(self)[key]
            if type(result) is not _host:
                return result
            if (kind is tuple or (kind is slice and key.step is not None)) and min(result.strides, default=0) < 0:
                result = result.copy()  # backwards: no tensor can be such a view
            made: Any = _new(small if result.size <= LIMIT else held)
            made.host = result
            return made
        return _ordinary(self)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if not watched or _may_compute(self, key, value):
            kind, of = type(value), type(key)
            try:
                where = _key(key) if of is tuple or of is small else key
                if kind in _NUMBERS:
                    self.host[where] = value
                    return
                if kind is small or kind is held:
                    self.host[where] = value.host
                    return
                if kind is list or kind is tuple:
                    self.host[where] = _hosts((value,))[0]
                    return
            except (AttributeError, TypeError, NotHeld):
                pass
        _ordinary(self)[key] = value

    T = property(lambda self: self.transpose(), doc=ndarray.T.__doc__)
    copy = _shaped(_host.copy, ndarray.copy)
    ravel = _shaped(_host.ravel, ndarray.ravel)
    reshape = _shaped(_host.reshape, ndarray.reshape)
    squeeze = _shaped(_host.squeeze, ndarray.squeeze)
    swapaxes = _shaped(_host.swapaxes, ndarray.swapaxes)
    transpose = _shaped(_host.transpose, ndarray.transpose)
    byteswap = _later("byteswap")
    getfield = _later("getfield")
    resize = _later("resize")
    __dlpack__ = _later("__dlpack__")


class small(held):
    """An array of which NumPy computes with the elements, too."""

    __slots__ = ()
    __module__ = "tnp"

    __add__ = _binary(operator.add, held.__add__)
    __radd__ = _reflected(operator.add, ndarray.__radd__)
    __iadd__ = _inplace(operator.iadd)
    __sub__ = _binary(operator.sub, held.__sub__)
    __rsub__ = _reflected(operator.sub, ndarray.__rsub__)
    __isub__ = _inplace(operator.isub)
    __mul__ = _binary(operator.mul, held.__mul__)
    __rmul__ = _reflected(operator.mul, ndarray.__rmul__)
    __imul__ = _inplace(operator.imul)
    __truediv__ = _binary(operator.truediv, held.__truediv__)
    __rtruediv__ = _reflected(operator.truediv, ndarray.__rtruediv__)
    __itruediv__ = _inplace(operator.itruediv)
    __floordiv__ = _binary(operator.floordiv, held.__floordiv__)
    __rfloordiv__ = _reflected(operator.floordiv, ndarray.__rfloordiv__)
    __ifloordiv__ = _inplace(operator.ifloordiv)
    __mod__ = _binary(operator.mod, held.__mod__)
    __rmod__ = _reflected(operator.mod, ndarray.__rmod__)
    __imod__ = _inplace(operator.imod)
    __pow__ = _binary(operator.pow, held.__pow__)
    __rpow__ = _reflected(operator.pow, ndarray.__rpow__)
    __ipow__ = _inplace(operator.ipow)
    __matmul__ = _binary(operator.matmul, held.__matmul__)
    __rmatmul__ = _reflected(operator.matmul, ndarray.__rmatmul__)
    __imatmul__ = _inplace(operator.imatmul)
    __lshift__ = _binary(operator.lshift, held.__lshift__)
    __rlshift__ = _reflected(operator.lshift, ndarray.__rlshift__)
    __ilshift__ = _inplace(operator.ilshift)
    __rshift__ = _binary(operator.rshift, held.__rshift__)
    __rrshift__ = _reflected(operator.rshift, ndarray.__rrshift__)
    __irshift__ = _inplace(operator.irshift)
    __and__ = _binary(operator.and_, held.__and__)
    __rand__ = _reflected(operator.and_, ndarray.__rand__)
    __iand__ = _inplace(operator.iand)
    __or__ = _binary(operator.or_, held.__or__)
    __ror__ = _reflected(operator.or_, ndarray.__ror__)
    __ior__ = _inplace(operator.ior)
    __xor__ = _binary(operator.xor, held.__xor__)
    __rxor__ = _reflected(operator.xor, ndarray.__rxor__)
    __ixor__ = _inplace(operator.ixor)
    __lt__ = _binary(operator.lt, held.__lt__)
    __le__ = _binary(operator.le, held.__le__)
    __gt__ = _binary(operator.gt, held.__gt__)
    __ge__ = _binary(operator.ge, held.__ge__)
    __eq__ = _binary(operator.eq, held.__eq__)
    __ne__ = _binary(operator.ne, held.__ne__)
    __divmod__ = function(divmod, held.__divmod__)
    __rdivmod__ = function(lambda host, other: divmod(other, host), ndarray.__rdivmod__)
    __neg__ = _unary(operator.neg, ndarray.__neg__)
    __pos__ = _unary(operator.pos, ndarray.__pos__)
    __abs__ = _unary(operator.abs, ndarray.__abs__)
    __invert__ = _unary(operator.invert, ndarray.__invert__)
    __hash__ = None  # type: ignore[assignment]

    all = function(_host.all, ndarray.all)
    any = function(_host.any, ndarray.any)
    argmax = function(_host.argmax, ndarray.argmax)
    argmin = function(_host.argmin, ndarray.argmin)
    argsort = function(_host.argsort, ndarray.argsort)
    astype = function(_host.astype, ndarray.astype)
    clip = function(_host.clip, ndarray.clip)
    conj = function(_host.conj, ndarray.conj)
    conjugate = function(_host.conjugate, ndarray.conjugate)
    cumprod = function(_host.cumprod, ndarray.cumprod)
    cumsum = function(_host.cumsum, ndarray.cumsum)
    dot = function(_host.dot, ndarray.dot)
    fill = function(_host.fill, ndarray.fill)
    flatten = function(_host.flatten, ndarray.flatten)
    max = function(_host.max, ndarray.max)
    mean = function(_host.mean, ndarray.mean)
    min = function(_host.min, ndarray.min)
    nonzero = function(_host.nonzero, ndarray.nonzero)
    prod = function(_host.prod, ndarray.prod)
    repeat = function(_host.repeat, ndarray.repeat)
    round = function(_host.round, ndarray.round)
    searchsorted = function(_host.searchsorted, ndarray.searchsorted)
    sort = function(_host.sort, _later("sort"))
    std = function(_host.std, ndarray.std)
    sum = function(_host.sum, ndarray.sum)
    take = function(_host.take, ndarray.take)
    trace = function(_host.trace, ndarray.trace)
    var = function(_host.var, ndarray.var)


PLAIN.update((held, small))
