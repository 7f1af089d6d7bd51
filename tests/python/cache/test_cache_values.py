"""What goes into a cache comes out as it was, of memory and of files, or is refused by name."""

import collections
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from easydata.cache.values import decode_value, encode_value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from same_value import is_same

from easydata import DiskCache, MemoryCache, TreeCacheManager

PAYLOAD_NAN = struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0]
RECORD = np.dtype([("id", ">i4"), ("at", "<M8[ns]", (2,)), ("name", "S3")])

VALUES: dict[str, Any] = {
    "none": None,
    "bools": [True, False],
    "zero": 0,
    "empty": ["", b"", [], (), {}, set(), frozenset(), bytearray()],
    "ints": [0, -1, 127, 128, -129, 1 << 31, -(1 << 63), (1 << 63) - 1],
    "huge ints": [1 << 63, -(1 << 63) - 1, 1 << 4000, -(1 << 4000)],
    "bools and ints": [True, 1, False, 0],
    "ints and floats": [1, 1.0],
    "floats": [0.0, -0.0, float("inf"), float("nan"), PAYLOAD_NAN, 5e-324],
    "one float": PAYLOAD_NAN,
    "complex": complex(-0.0, float("nan")),
    "texts": ["", "ünï", "\x00", "😀", "\ud800", "\ud83d\ude00", "a" * 70000],
    "bytes": [b"\x00\xff", bytearray(b"ab")],
    "int keys": {1: "a", "1": "b", (2, None): "c", b"x": "d", 2.5: "e", None: "f"},
    "order of keys": {"b": 1, "a": 2},
    "tuple": (1, (2, [3]), ()),
    "sets": [{1, "a"}, frozenset({(1, 2)})],
    "rows": [{"input_ids": [1, 2, 50256], "text": "a"}, {"input_ids": [], "text": None}],
    "numpy scalars": [
        np.float32(0.1),
        np.int64(-1),
        np.longlong(3),
        np.bool_(True),
        np.datetime64("2024-01-01T00:00:00.123456789"),
        np.timedelta64("NaT"),
        np.str_("ü"),
        np.bytes_(b"x"),
        np.float16("nan"),
        np.complex64(1j),
        np.array([(1, ["2024", "2025"], b"abc")], RECORD)[0],
    ],
    "0-d": np.array(3.5, np.float32),
    "empty arrays": [np.empty((0, 3), np.int8), np.empty((2, 0, 4), "f8"), np.array([])],
    "big-endian": np.arange(5, dtype=">u2"),
    "not contiguous": np.arange(24).reshape(4, 6)[::2, ::-3],
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "records": np.array([(1, ["2024", "2025"], b"abc")] * 3, RECORD),
    "aligned records": np.zeros(2, np.dtype("i1,i8", align=True)),
    "text arrays": [np.array(["a", "üü"]), np.array([b"a", b"bb"]), np.array([""], "U0")],
    "dates": np.array(["2024-01-01", "NaT"], "M8[us]"),
    "bools of numpy": np.array([True, False]),
    "voids": np.array([b"ab", b"cd"], "V2"),
    "Arrow array": pa.array([1, None, 3])[1:],
    "Arrow chunks": pa.chunked_array([[1], [], [2, 3]]),
    "no Arrow chunks": pa.chunked_array([], pa.string()),
    "Arrow batch": pa.record_batch({"a": [1, 2], "b": ["x", None]}).slice(1),
    "Arrow table": pa.table({"a": [[1.5], None], "d": pa.array(["x", "x"]).dictionary_encode()})
    .replace_schema_metadata({"made": "here"}),
    "empty table": pa.table({"a": pa.array([], pa.timestamp("ns", "UTC"))}),
    "canonical extension": pa.array([b"0" * 16], pa.uuid()),
}  # fmt: skip


def caches(folder: Path) -> Iterator[Any]:
    """Layers, and what reads what the manager before it wrote."""
    yield MemoryCache()
    for codec in ("none", "gzip", "lz4", "zstd"):
        yield DiskCache(folder / codec, compression=codec)
    yield TreeCacheManager(folder / "tree")
    yield TreeCacheManager(folder / "none", memory_size=0)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was_from_every_layer(name: str, tmp_path: Path) -> None:
    value = VALUES[name]
    for cache in caches(tmp_path):
        cache.put("k", value)
        for found in (cache.get("k"), cache.get("k")):
            assert found is not None
            assert is_same(found[0], value), (cache, found[0])
            assert found[1] is None
        assert cache.contains("k")


def _deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def _loop() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


class Named(str):
    """A subclass of a class that is kept."""


class UnknownExtension(pa.ExtensionType):  # type: ignore[misc]
    """A type that another process does not know."""

    def __init__(self) -> None:
        super().__init__(pa.int8(), "tests.unknown")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [0, 1, 2, (i for i in ())]}, r"^value\['a'\]\[3\] is a generator.*: make it a list"),
        ({"f": print}, r"^value\['f'\] is a builtin_function_or_method"),
        ([SimpleNamespace()], r"^value\[0\] is a SimpleNamespace"),
        ({Named("a"): 1}, r"^value's key 'a' is a Named"),
        (collections.OrderedDict(a=1), "^value is an OrderedDict.*: make it a dict"),
        (collections.namedtuple("Row", "a")(1), "^value is a Row"),
        (range(3), "^value is a range.*: make it a list"),
        ({"x": np.array([1, None])}, r"^value\['x'\] is an array of Python objects: give"),
        (np.ma.masked_array([1], [True]), "^value is a MaskedArray"),
        (np.longdouble(1), "^value is of the type (longdouble|float128)"),
        (np.array(["a"], np.dtypes.StringDType()), "^value is an array of Python objects"),
        (pa.scalar(1), "^value is an Int64Scalar"),
        (
            pa.ExtensionArray.from_storage(UnknownExtension(), pa.array([1], pa.int8())),
            "extension type 'tests.unknown'",
        ),
        (
            pa.Array.from_buffers(
                pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
            ),
            "^value cannot be written as an Arrow stream: .*UTF8",
        ),
        (_deep(300), "is the 201th container within another"),
        (_loop(), "is the 201th container within another, or the value holds itself"),
    ],
)  # fmt: skip
def test_what_would_come_back_as_something_else_is_refused_by_its_place(
    value: Any, message: str, tmp_path: Path
) -> None:
    for cache in (DiskCache(tmp_path), TreeCacheManager(tmp_path)):
        with pytest.raises(TypeError, match=message):
            cache.put("k", value)
        assert cache.get("k") is None


def test_metadata_is_kept_as_it_is_or_refused(tmp_path: Path) -> None:
    from easydata import CacheMetadata

    extra = {1: (2, np.float32(3)), "t": ["\ud800"]}
    metadata = CacheMetadata(version="2", num_examples=7, tokenizer_hash="t", extra=extra)
    for cache in caches(tmp_path):
        cache.put("k", 1, metadata)
        found = cache.get("k")
        assert found is not None
        assert found == (1, metadata)
        assert cache.get_metadata("k") == metadata
        found[1].extra["t"].append("changed")
        assert cache.get_metadata("k") == metadata
        with pytest.raises(TypeError, match=r"^metadata\['extra'\]\['g'\] is a generator"):
            cache.put("k", 1, CacheMetadata(extra={"g": (i for i in ())}))
        with pytest.raises(TypeError, match="give a CacheMetadata"):
            cache.put("k", 1, {"version": "1"})
        assert cache.get_metadata("absent") is None


def test_nobody_changes_what_is_kept(tmp_path: Path) -> None:
    for cache in caches(tmp_path):
        ids = np.arange(3)
        value = {"ids": ids, "list": [1, [2]], "arrow": pa.array(ids)}
        cache.put("k", value)
        value["list"][1].append(3)  # type: ignore[index]
        ids[0] = 9
        for _ in range(2):
            found = cache.get("k")
            assert found is not None
            assert found[0]["list"] == [1, [2]]
            assert found[0]["ids"].tolist() == [0, 1, 2]
            assert found[0]["arrow"].to_pylist() == [0, 1, 2]
            found[0]["list"].append(4)
            found[0]["ids"][:] = 7


def test_memory_copies_what_has_no_form_in_files() -> None:
    cache = MemoryCache()
    value = {"f": len, "list": [1], "object": SimpleNamespace(a=[1])}
    cache.put("k", value)
    value["list"].append(2)  # type: ignore[attr-defined]
    found = cache.get("k")
    assert found is not None
    assert found[0]["f"] is len
    assert found[0]["list"] == [1]
    found[0]["object"].a.append(2)
    again = cache.get("k")
    assert again is not None
    assert again[0]["object"].a == [1]
    with pytest.raises(TypeError, match="value is a generator"):
        cache.put("k", (i for i in ()))


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),  # with surrogates
    st.binary(),
    st.sampled_from(["b", "<i2", ">i4", "<u8", "q", ">f4", "<f8", "?", "<M8[s]", "c8"]).flatmap(
        lambda kind: st.binary(min_size=64, max_size=64).map(
            lambda data: np.frombuffer(data, "?" if kind == "?" else kind)[:3].copy()
        )
    ),
    st.sampled_from([np.int8, np.float64, np.uint16]).map(lambda kind: kind(3)),
)
_KEYS = st.one_of(st.integers(), st.text(), st.binary(), st.tuples(st.integers(), st.text()))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(_KEYS, inner, max_size=5),
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_VALUES)
def test_random_values_come_back(value: Any) -> None:
    assert is_same(decode_value(encode_value(value).data), value)


def test_a_list_of_ids_takes_no_more_than_its_numbers() -> None:
    assert len(encode_value(list(range(30_000))).data) < 2 * 30_000 + 100
    assert len(encode_value([100_000] * 1000).data) < 4 * 1000 + 100


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int8", "bool", "float8_e4m3fn"])
def test_jax_arrays_come_back_as_numpy(dtype: str, tmp_path: Path) -> None:
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.array([[0, 1], [1, 0]], dtype)
    for cache in caches(tmp_path):
        cache.put("k", {"x": array})
        found = cache.get("k")
        assert found is not None
        assert is_same(found[0]["x"], np.asarray(array))
    manager = TreeCacheManager(tmp_path / "computed")
    for _ in range(2):  # computed, and found
        assert is_same(manager.get_or_compute("k", lambda: [array])[0], np.asarray(array))


def test_keys_of_jax_are_refused(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match="value is a JAX array that cannot be read here"):
        DiskCache(tmp_path).put("k", jax.random.key(0))


def test_batch_encodings_keep_words_and_offsets(tmp_path: Path, tiny: str) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(tiny)
    one = tokenizer(["hello world", "a"], return_offsets_mapping=True)
    arrays = tokenizer("hello world", return_tensors="np")
    bare = transformers.BatchEncoding({"input_ids": [1, 2]})
    for cache in caches(tmp_path):
        cache.put("one", one)
        found = cache.get("one")
        assert found is not None
        assert type(found[0]) is transformers.BatchEncoding
        assert is_same(found[0].data, one.data)
        for row in (0, 1):
            assert found[0].word_ids(row) == one.word_ids(row)
            assert found[0].tokens(row) == one.tokens(row)
        assert found[0].n_sequences == one.n_sequences
        cache.put("arrays", arrays)
        found = cache.get("arrays")
        assert found is not None
        assert is_same(found[0].data, arrays.data)
        cache.put("bare", bare)
        found = cache.get("bare")
        assert found is not None
        assert found[0].data == bare.data
        assert found[0].encodings is None
        cache.put("dict", dict(one))  # as the manual does
        found = cache.get("dict")
        assert found is not None
        assert is_same(found[0], dict(one))


def test_torch_is_refused_with_the_cure(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"value\['x'\] is a Tensor.*: give its .numpy\(\)"):
        DiskCache(tmp_path).put("k", {"x": torch.zeros(2)})


def _changed(data: bytes) -> Iterator[bytes]:
    for at in range(len(data)):
        for bit in (1, 128):
            yield data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
        yield data[:at]


@pytest.mark.parametrize("name", ["rows", "int keys", "records", "Arrow table", "huge ints"])
def test_bytes_that_somebody_made_up_are_values_or_errors(name: str) -> None:
    # Entries are hashed; this is what reads them where the hash was made up, too.
    for data in _changed(encode_value(VALUES[name]).data[:600]):
        try:
            decode_value(data)
        except (Exception, pa.ArrowException):
            continue


def test_reading_imports_and_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    def refuse(*_: Any, **__: Any) -> Callable[..., Any]:
        raise AssertionError("pickle")

    cache = DiskCache(tmp_path)
    for name, value in VALUES.items():
        cache.put(name, value)
    for each in ("loads", "load", "Unpickler"):
        monkeypatch.setattr(pickle, each, refuse)
    modules = set(sys.modules)
    for name, value in VALUES.items():
        found = DiskCache(tmp_path).get(name)
        assert found is not None
        assert is_same(found[0], value)
    assert {name for name in set(sys.modules) - modules if "pickle" in name} == set()
