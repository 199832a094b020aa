"""fn.save and load_compiled: programs in files."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from tests import oracle, processes
from tests.oracle import placed

pytestmark = pytest.mark.stores

WEIGHT = placed(np, numpy.full(3, 2.0))


@np.compile(backend="eager")
def function(x: Any, pair: Any, *, scale: int, bias: Any = None) -> Any:
    product = np.cond(x.sum() > 0, lambda: pair["m"].T @ x, lambda: x)
    result = {"list": [product * WEIGHT, x, None], "sum": x.sum() * scale, "text": "t"}
    return result, pair["t"] + 1, np.fori_loop(0, 100, lambda i, v: v + bias, x)


def arguments(factor: float = 1) -> Any:
    pair = {"m": placed(np, numpy.arange(9.0).reshape(3, 3).T), "t": torch.ones(2, device=oracle.device)}
    return (np.ones(3) * factor, pair), {"scale": 3, "bias": np.ones(3)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("saved") / "f.pt2"
    args, kwargs = arguments()
    function.save(file, *args, **kwargs)
    return file


def test_round_trip(path: Path) -> None:
    loaded = np.load_compiled(path, backend="eager")
    for factor in (1, -2):
        args, kwargs = arguments(factor)
        for _ in range(2):
            (result, tensor, looped) = loaded(*args, **kwargs)
        (expected, expected_tensor, expected_looped) = function(*args, **kwargs)
        assert list(result) == ["list", "sum", "text"] and result["text"] == "t"
        assert result["list"][0].tolist() == expected["list"][0].tolist()
        assert result["list"][1] is args[0] and result["list"][2] is None
        assert type(result["sum"]) is type(expected["sum"]) and result["sum"] == expected["sum"]
        assert type(tensor) is torch.Tensor and torch.equal(tensor, expected_tensor)
        assert looped.tolist() == expected_looped.tolist()
    assert loaded.cache_info().traces == 1


def test_other_strides_are_the_same_arrays(path: Path) -> None:
    (x, pair), kwargs = arguments()
    pair["m"] = pair["m"].copy()
    result, _, _ = np.load_compiled(path, backend="eager")(x, pair, **kwargs)
    assert result["list"][0].tolist() == function(x, pair, **kwargs)[0]["list"][0].tolist()


def test_without_the_source(path: Path, device: str) -> None:
    code = (
        "import sys, torch, tnp as np\n"
        "np.set_default_device(sys.argv[2])\n"
        "pair = {'m': np.arange(9.).reshape(3, 3).T, 't': torch.ones(2, device=sys.argv[2])}\n"
        "loaded = np.load_compiled(sys.argv[1])\n"
        "print(loaded(np.ones(3), pair, scale=3, bias=np.ones(3))[0]['list'][0].tolist())"
    )
    done = processes.run("-c", code, path, device)
    assert done.stdout.strip() == "[6.0, 24.0, 42.0]", done.stderr


@pytest.mark.parametrize(
    "function",
    [lambda x: x, lambda x: x.T, lambda x: 5, lambda x: None, lambda x: WEIGHT, lambda x: [x + 1, {"w": WEIGHT}]],
)
def test_results_that_are_not_computed(function: Callable[[Any], Any], tmp_path: Path) -> None:
    x = np.ones((2, 3))
    np.compile(function, backend="eager").save(tmp_path / "f.pt2", x)
    found = np.load_compiled(tmp_path / "f.pt2", backend="eager")(x)
    assert repr(found) == repr(function(x))


def test_the_programs_exceptions(tmp_path: Path, device: str) -> None:
    def function(x: Any) -> Any:
        if x[0] < 0:
            raise KeyError("below")
        assert x[0] > 1, "small"
        return x * 2

    np.compile(function, backend="eager").save(tmp_path / "f.pt2", np.ones(3) * 2)
    code = (
        "import sys, tnp as np\nnp.set_default_device(sys.argv[2])\n"
        "loaded = np.load_compiled(sys.argv[1], backend='eager')\n"
        "for start in (-1.0, 0.5):\n    try:\n        loaded(np.full(3, start))\n"
        "    except Exception as error:\n        print(repr(error))"
    )
    done = processes.run("-c", code, tmp_path / "f.pt2", device)
    assert done.stdout == "KeyError('below')\nAssertionError('small')\n", done.stderr


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda args, kwargs: args.__setitem__(0, np.ones(4)), ValueError, r"\[0\] has shape \(4,\) where \(3,\)"),
        (lambda args, kwargs: args.__setitem__(0, np.ones(3, "f4")), TypeError, r"\[0\] is float32 where float64"),
        (lambda args, kwargs: args.__setitem__(0, None), TypeError, r"\[0\] is None where an array"),
        (lambda args, kwargs: args.append(1), TypeError, "a tuple of 2 is expected"),
        (lambda args, kwargs: args[1].pop("t"), TypeError, r"\[1\].* a dict of 2 is expected"),
        (lambda args, kwargs: args[1].__setitem__("n", args[1].pop("m")), TypeError, r"'n'\] where \['m', 't'\]"),
        (lambda args, kwargs: args[1].__setitem__("m", [args[1]["m"]]), TypeError, r"\[1\]\['m'\] is"),
        (lambda args, kwargs: kwargs.__setitem__("scale", 4), TypeError, r"\['scale'\] is 4 where 3 is expected"),
    ],
)
def test_other_arguments(path: Path, change: Callable[[Any, Any], Any], error: type[Exception], message: str) -> None:
    args, kwargs = arguments()
    given = list(args)
    change(given, kwargs)
    with pytest.raises(error, match=message):
        np.load_compiled(path, backend="eager")(*given, **kwargs)


def test_what_can_not_be_saved(tmp_path: Path) -> None:
    def writes(x: Any) -> Any:
        x += 1
        return x

    with pytest.raises(NotImplementedError, match="writes to its arguments"):
        np.compile(writes).save(tmp_path / "f.pt2", np.ones(2))
    with pytest.raises(TypeError, match="not <object"):
        np.compile(lambda x, o: x + 1).save(tmp_path / "f.pt2", np.ones(2), object())


RNG = np.random.default_rng(1)
RANDOM: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda x: x + np.random.random(3),
    "several": lambda x: [np.random.standard_normal(3), np.random.poisson(x), np.random.permutation(4)],
    "batched": lambda x: np.vectorized_map(lambda row: row + np.random.random(2), np.zeros((2, 2))),
    "in a loop": lambda x: np.fori_loop(0, 3, lambda i, v: v + np.random.random(3), x),
    "many": lambda x: np.random.random(100_000)[:3],
    "a generator's": lambda x: x + RNG.random(3),
}


def numbers(value: Any) -> Any:
    return [part.tolist() for part in value] if isinstance(value, list) else value.tolist()


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_new_at_each_call(name: str, tmp_path: Path) -> None:
    function, x = np.compile(RANDOM[name], backend="eager"), np.ones(3)
    function.save(tmp_path / "f.pt2", x)
    loaded = np.load_compiled(tmp_path / "f.pt2", backend="inductor" if name == "uniform" else "eager")
    np.random.seed(7)
    found = [numbers(loaded(x)) for _ in range(3)]
    assert found[0] != found[1] != found[2] != found[0]
    np.random.seed(7)
    assert [numbers(loaded(x)) for _ in range(3)] == found
    if name != "a generator's":
        np.random.seed(7)
        assert [numbers(function(x)) for _ in range(3)] == found


@pytest.mark.parametrize("kind", ["machine code", "ONNX"])
def test_machine_code_and_onnx_draw_no_random_numbers(kind: str, tmp_path: Path) -> None:
    function = np.compile(lambda x: x + np.random.random(2), backend="eager")
    if kind == "ONNX":
        pytest.importorskip("onnx")
    write = function.package if kind == "machine code" else lambda path, x: function.graph(x).to_onnx(path)
    with pytest.raises(NotImplementedError, match="draws random numbers"):
        write(tmp_path / "f.pt2", np.ones(2))
    assert not list(tmp_path.iterdir())


def rewritten(path: Path, out: Path, change: Callable[[str, bytes], bytes | None], **more: bytes) -> Path:
    """The file with its members changed, dropped or more of them."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            data = change(name, source.read(name))
            if data is not None:
                target.writestr(name, data)
        for name, data in more.items():
            target.writestr(name, data)
    return out


class Bomb:
    def __reduce__(self) -> Any:
        return (print, ("unpickled",))


def pickled(name: str, data: bytes) -> bytes:
    if not name.endswith("model_weights_config.json"):
        return data
    document = json.loads(data)
    for entry in document["config"].values():
        entry["use_pickle"] = True
    return json.dumps(document).encode()


def guarded(name: str, data: bytes) -> bytes:
    if not name.endswith("model.json"):
        return data
    return json.dumps({**json.loads(data), "guards_code": ["print('run')"]}).encode()


def targeted(name: str, data: bytes, target: str) -> bytes:
    if not name.endswith("models/model.json"):
        return data
    document = json.loads(data)
    document["graph_module"]["graph"]["nodes"][0]["target"] = target
    return json.dumps(document).encode()


def escaped(name: str, data: bytes) -> bytes:
    """A condition whose key is written in another way."""
    if not name.endswith("models/model.json"):
        return data
    assert b'"as_int": ' in data
    return re.sub(rb'"as_int": \d+', rb'"as_expr": {"expr_\\u0073tr": "print(1)"}', data, count=1)


def told(text: Any) -> Any:
    """A change of what the file says of its arguments and its result."""

    def change(name: str, data: bytes) -> bytes:
        return json.dumps(text).encode() if name.endswith("tnp.json") else data

    return change


def later(name: str, data: bytes) -> bytes:
    return json.dumps({**json.loads(data), "version": 99}).encode() if name.endswith("tnp.json") else data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pickled, "a tensor in it is pickled"),
        (guarded, "conditions that are code"),
        (lambda name, data: targeted(name, data, "torch.os.system"), r"it calls torch\.os\.system"),
        (lambda name, data: targeted(name, data, "torch.ops.load_library"), r"it calls torch\.ops\.load_library"),
        (lambda name, data: targeted(name, data, "torch.ops.aten.save.default"), r"it calls .*aten\.save"),
        (lambda name, data: targeted(name, data, "torch.ops.aten.from_file.default"), r"it calls .*from_file"),
        (lambda name, data: targeted(name, data, "_operator.call"), r"it calls _operator\.call"),
        (escaped, "conditions that are code"),
        (lambda name, data: pickle.dumps(Bomb()) if name.endswith("model.pt") else data, "UnpicklingError"),
        (lambda name, data: None if name.endswith("tnp.json") else data, "it says nothing of arrays"),
        (lambda name, data: None if name.endswith("model.json") else data, "KeyError"),
        (later, "the file is of version 99"),
        (told([]), "says nothing that fn.save writes"),
        (told({"version": "1"}), "says nothing that fn.save writes"),
        (told({"version": 1, "arguments": {"run": 1}, "result": {"is": 1}}), "says nothing that fn.save writes"),
        (told({"version": 1, "arguments": {"tuple": []}, "result": {"slot": "value 0"}}), "says nothing that fn.save"),
        (
            told({"version": 1, "arguments": {"tuple": [{"tuple": []}, {"dict": {}}]}, "result": {"slot": "value x"}}),
            "says nothing that fn.save",
        ),
    ],
)
def test_nothing_is_unpickled(
    path: Path, tmp_path: Path, change: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=message):
        np.load_compiled(rewritten(path, tmp_path / "g.pt2", change))
    assert capsys.readouterr().out == ""


def test_other_files(path: Path, tmp_path: Path) -> None:
    more = {"f/data/constants/opaque_obj_0": pickle.dumps(Bomb())}
    with pytest.raises(ValueError, match="opaque_obj_0"):
        np.load_compiled(rewritten(path, tmp_path / "g.pt2", lambda name, data: data, **more))
    (tmp_path / "h.pt2").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="BadZipFile"):
        np.load_compiled(tmp_path / "h.pt2")
    two = rewritten(path, tmp_path / "two.pt2", lambda name, data: data)
    with zipfile.ZipFile(two, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("f/models/model.json", b"{}")
    with pytest.raises(ValueError, match="a member twice"):
        np.load_compiled(two)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(two, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    with pytest.raises(ValueError, match="compressed"):
        np.load_compiled(two)
    with pytest.raises(FileNotFoundError):
        np.load_compiled(tmp_path / "i.pt2")


def test_damaged_files(path: Path, tmp_path: Path) -> None:
    """Cut off or with bits turned: the function itself or a ValueError, and nothing else."""
    whole = path.read_bytes()
    damaged = tmp_path / "f.pt2"
    (x, pair), kwargs = arguments()
    expected = function(x, pair, **kwargs)[0]["list"][0].tolist()
    random = numpy.random.default_rng(0)
    cut = [whole[:length] for length in (*range(0, len(whole), len(whole) // 4), len(whole) - 1)]
    turned = [
        whole[:place] + bytes([whole[place] ^ 1 << int(random.integers(8))]) + whole[place + 1 :]
        for place in random.integers(len(whole), size=10)
    ]
    for data in (*cut, *turned):
        damaged.write_bytes(data)
        try:
            loaded = np.load_compiled(damaged, backend="eager")
        except ValueError as error:
            assert str(damaged) in str(error)
        else:
            assert data not in cut
            assert loaded(x, pair, **kwargs)[0]["list"][0].tolist() == expected


@pytest.mark.parametrize("name", ["graph", "warmup", "cost", "profile", "save", "package"])
def test_a_missing_example_is_named(name: str, tmp_path: Path) -> None:
    method = getattr(np.compile(function, backend="eager"), name)
    before = (tmp_path / "f.pt2",) if name in ("save", "package") else ()
    asked = rf"{name}\(\) traces function for example arguments: write fn\.{name}\({'path, ' * len(before)}\*args\)"
    with pytest.raises(TypeError, match=asked):
        method(*before)
    with pytest.raises(TypeError, match=r"input_signature"):
        method(*before, np.ones(2))
    assert np.compile(lambda: np.ones(2), backend="eager").graph() is not None


def test_callbacks_are_refused(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        return np.pure_callback(numpy.sin, np.ShapeDtypeStruct((2,), numpy.float64), x)

    compiled = np.compile(function, backend="eager")
    with pytest.raises(NotImplementedError, match="calls back into Python"):
        compiled.save(tmp_path / "f.pt2", np.ones(2))
    assert not (tmp_path / "f.pt2").exists()
    in_a_loop = np.compile(lambda x: np.scan(lambda c, v: (c + function(v), c), x, np.ones((9, 2)))[0], backend="eager")
    with pytest.raises(NotImplementedError, match="calls back into Python"):
        in_a_loop.save(tmp_path / "f.pt2", np.ones(2))
