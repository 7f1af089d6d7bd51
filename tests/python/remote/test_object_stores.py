"""Files on object stores: the same rows, addresses and positions as of files here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import FaultProxy
from small_files import FORMATS, ROWS, loader, write_files
from stores import GcsStore, S3Store

from easydata import DatasetConfig, create_source, expand_data_files

# Characters that need care in names, URLs, signatures and XML.
ODD_KEYS = [
    "with space.jsonl",
    "plus+sign.jsonl",
    "key=value/part=1.jsonl",
    "100%.jsonl",
    "a%20b.jsonl",
    "hash#tag.jsonl",
    "ünïcödé/日本.jsonl",
    "amp&ersand.jsonl",
    "quote'\".jsonl",
    "semi;colon~tilde.jsonl",
    "paren(1).jsonl",
    "comma,at@colon:.jsonl",
    "dollar$bang!.jsonl",
    "<xml>.jsonl",
    ".hidden.jsonl",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("rows"))


Store = S3Store | GcsStore


@pytest.fixture(params=["seaweed", "moto", "gcs"])
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


_put: dict[tuple[str, Path, str], str] = {}


def put_all(store: Store, folder: Path, prefix: str = "", fresh: bool = False) -> str:
    """The bucket that has the folder's files; SeaweedFS has room for few buckets."""
    key = (store.url, folder, prefix)
    if key in _put and not fresh:
        return _put[key]
    bucket = store.bucket("rows")
    if not fresh:
        _put[key] = bucket
    for path in folder.iterdir():
        store.put(bucket, prefix + path.name, path.read_bytes())
    return bucket


def read(data_files: Any, store: Store, **options: Any) -> list[Any]:
    options.setdefault("storage_options", store.storage_options)
    return list(create_source(DatasetConfig(data_files=data_files, **options)))


def at(store: Store, bucket: str, key: str) -> str:
    return f"{store.scheme}://{bucket}/{key}"


def test_rows_are_those_of_local_files(files: Path, store: Store) -> None:
    bucket = put_all(store, files, "some/where/")
    for kind in FORMATS:
        local = list(create_source(DatasetConfig(str(files / f"rows.{kind}"))))
        assert read(f"{store.scheme}://{bucket}/some/where/rows.{kind}", store) == local
        assert len(local) == ROWS


def test_forms_of_data_files(tmp_path: Path, store: Store) -> None:
    """Names, lists, braces, patterns and folders mean the same here and there."""
    names = [f"data/part-{i:05}.jsonl" for i in range(12)]
    names += [f"data/deep/{name}/rows.jsonl" for name in ("a", "b")]
    names += ["data/.hidden/rows.jsonl", "data/_skip.jsonl", "data/metadata.json", "data/note.md"]
    bucket = store.bucket("forms")
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"name": name}) + "\n")
        store.put(bucket, name, path.read_bytes())
    store.put(bucket, "data/deep/", b"")  # a folder that someone made by hand
    forms: list[Callable[[str], Any]] = [
        lambda root: f"{root}/data/part-00003.jsonl",
        lambda root: [f"{root}/data/part-00003.jsonl", f"{root}/data/part-00001.jsonl"],
        lambda root: f"{root}/data/part-{{00000..00011}}.jsonl",
        lambda root: f"{root}/data/part-{{00001,00007}}.jsonl",
        lambda root: f"{root}/data/part-*.jsonl",
        lambda root: f"{root}/data/part-0000[1-3].jsonl",
        lambda root: f"{root}/data/**/*.jsonl",
        lambda root: f"{root}/**/rows.jsonl",
        lambda root: f"{root}/data/deep/*/rows.jsonl",
        lambda root: f"{root}/data/.hidden/*.jsonl",
        lambda root: f"{root}/data",
        lambda root: f"{root}/data/",
        lambda root: f"{root}/data/deep",
    ]
    for form in forms:
        local = expand_data_files(form(str(tmp_path)))
        there = expand_data_files(form(f"{store.scheme}://{bucket}"), store.storage_options)
        assert [name.removeprefix(f"{store.scheme}://{bucket}/") for name in there] == [
            name.removeprefix(f"{tmp_path}/") for name in local
        ], form("")


@pytest.mark.parametrize("key", ODD_KEYS)
def test_odd_keys(key: str, store: Store) -> None:
    bucket = store.bucket("odd")
    store.put(bucket, key, b'{"a": 1}\n')
    assert read(f"{store.scheme}://{bucket}/{key}", store) == [{"a": 1}]
    if not key.startswith("."):
        assert expand_data_files(f"{store.scheme}://{bucket}", store.storage_options) == [
            f"{store.scheme}://{bucket}/{key}"
        ]


def test_keys_with_two_slashes(moto: S3Store) -> None:
    bucket = moto.bucket("slashes")
    moto.put(bucket, "a//b.jsonl", b'{"a": 1}\n')
    assert read(f"s3://{bucket}/a//b.jsonl", moto) == [{"a": 1}]
    assert read(f"s3://{bucket}/", moto) == [{"a": 1}]


@pytest.mark.one_in(3)
def test_more_keys_than_a_page_has(store: Store) -> None:
    bucket = store.bucket("many")
    for i in range(1100):
        store.put(bucket, f"data/{i:05}.jsonl", b"")
    with FaultProxy(store.url) as proxy:
        options = store.options_at(proxy.url)
        found = expand_data_files(f"{store.scheme}://{bucket}/data", options)
        assert found == [f"{store.scheme}://{bucket}/data/{i:05}.jsonl" for i in range(1100)]
        assert len(proxy.log) == 2  # a request for each thousand keys
        found = expand_data_files(f"{store.scheme}://{bucket}/data/{{00000..01099}}.jsonl", options)
        assert len(found) == 1100
        assert len(proxy.log) <= 5


def test_what_a_listing_told_is_not_asked_again(files: Path, store: Store) -> None:
    bucket = put_all(store, files)
    with FaultProxy(store.url) as proxy:
        options = store.options_at(proxy.url)
        assert (
            len(read(f"{store.scheme}://{bucket}/*.parquet", store, storage_options=options))
            == ROWS
        )
        assert {each.method for each in proxy.log} == {"GET"}
        assert all(each.if_match or "generation=" in each.query for each in proxy.log if each.range)


def test_states_go_on(files: Path, store: Store) -> None:
    bucket = put_all(store, files, fresh=True)
    address = f"{store.scheme}://{bucket}/rows.jsonl"
    options = store.storage_options
    with loader(address, storage_options=options) as whole:
        batches = [list(batch["text"]) for batch in whole]
    with loader(address, storage_options=options) as first:
        some = iter(first)
        for _ in range(100):
            next(some)
        state = first.state_dict()
    with loader(address, storage_options=options) as rest:
        rest.load_state_dict(state)
        assert [list(batch["text"]) for batch in rest] == batches[100:]
    assert store.storage_options.get("secret", "no secret") not in json.dumps(state, default=repr)
    data = files.joinpath("rows.jsonl").read_bytes().replace(b"0", b"1")
    store.put(bucket, "rows.jsonl", data)
    with (
        loader(address, storage_options=options) as other,
        pytest.raises(ValueError, match=r"rows\.jsonl"),
    ):
        other.load_state_dict(state)


def test_an_exchanged_object_is_refused_by_name(files: Path, store: Store) -> None:
    bucket = put_all(store, files, fresh=True)
    source = create_source(
        DatasetConfig(
            f"{store.scheme}://{bucket}/rows.jsonl", storage_options=store.storage_options
        )
    )
    data = files.joinpath("rows.jsonl").read_bytes()
    store.put(bucket, "rows.jsonl", data.replace(b"0", b"1"))
    with pytest.raises(OSError, match=rf"{store.scheme}://{bucket}/rows.jsonl is not the file"):
        list(source)


MISSING: dict[str, tuple[str, type[Exception], str]] = {
    "no such key": ("s3://{bucket}/rows.jsonk", FileNotFoundError, "did you mean rows.jsonl"),
    "nothing matches": ("s3://{bucket}/x*.jsonl", FileNotFoundError, "no data files match"),
    "no such bucket": ("s3://{bucket}x/rows.jsonl", FileNotFoundError, "status 404"),
    "no bucket": ("s3:///rows.jsonl", ValueError, "names no bucket"),
    "pattern in the bucket": ("s3://*/rows.jsonl", ValueError, "must be spelled out"),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_there(name: str, files: Path, seaweed: S3Store) -> None:
    address, kind, words = MISSING[name]
    bucket = put_all(seaweed, files)
    with pytest.raises(kind, match=words):
        read(address.format(bucket=bucket), seaweed)


def test_wrong_credentials_are_said(files: Path, seaweed: S3Store) -> None:
    bucket = put_all(seaweed, files)
    for change in ({"secret": "wrong-secret-of-mine"}, {"key": "NOBODY"}):
        options = {**seaweed.storage_options, **change}
        with pytest.raises(PermissionError, match="status 403") as failed:
            read(f"s3://{bucket}/rows.jsonl", seaweed, storage_options=options)
        assert "wrong-secret-of-mine" not in str(failed.value)
    anonymous = {"anon": True, "endpoint_url": seaweed.url}
    with pytest.raises(PermissionError):
        read(f"s3://{bucket}/rows.jsonl", seaweed, storage_options=anonymous)


OPTION_NAMES = [
    {"key": "K", "secret": "S", "client_kwargs": {"endpoint_url": "U", "region_name": "R"}},
    {"access_key": "K", "secret_key": "S", "endpoint_url": "U", "region": "R"},
    {
        "aws_access_key_id": "K",
        "aws_secret_access_key": "S",
        "aws_endpoint_url": "U",
        "aws_region": "R",
    },
]


@pytest.mark.parametrize("names", OPTION_NAMES)
def test_names_that_others_use(names: dict[str, Any], files: Path, seaweed: S3Store) -> None:
    own = seaweed.storage_options
    values = {"K": own["key"], "S": own["secret"], "U": own["endpoint_url"], "R": own["region"]}
    bucket = put_all(seaweed, files)
    given = json.loads(json.dumps(names))

    def fill(options: dict[str, Any]) -> dict[str, Any]:
        return {k: fill(v) if isinstance(v, dict) else values[v] for k, v in options.items()}

    assert len(read(f"s3://{bucket}/rows.txt", seaweed, storage_options=fill(given))) == ROWS


REFUSED = [
    ({"kye": "x"}, r"kye.*did you mean"),
    ({"key": "x"}, "secret is missing"),
    ({"anon": True, "key": "x", "secret": "very-secret"}, "at odds"),
    ({"retries": "very-secret"}, "retries must be a whole number"),
    ({"retry_timeout": "soon"}, "retry_timeout"),
    ({"key": "x", "access_key": "very-secret", "secret": "y"}, "given twice"),
    ({"stall_timeout": 0}, "stall_timeout"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_options_that_cannot_be_meant(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as failed:
        expand_data_files("s3://bucket/x.jsonl", options)
    assert "very-secret" not in str(failed.value)


def test_a_state_moves_between_a_copy_and_a_store(files: Path, store: Store) -> None:
    """Files that are known by their content are the same here and there."""
    bucket = put_all(store, files)
    here = {"data_files": [str(files / "rows.jsonl"), str(files / "empty.jsonl")]}
    there = {
        "data_files": [
            f"{store.scheme}://{bucket}/rows.jsonl",
            f"{store.scheme}://{bucket}/empty.jsonl",
        ],
        "storage_options": store.storage_options,
    }
    for identity in ("content", "size"):
        with loader(**here, identity=identity) as whole:
            batches = [list(batch["text"]) for batch in whole]
        for first, second in ((here, there), (there, here)):
            with loader(**first, identity=identity) as begun:
                some = iter(begun)
                for _ in range(50):
                    next(some)
                state = begun.state_dict()
            with loader(**second, identity=identity) as rest:
                rest.load_state_dict(state)
                assert [list(batch["text"]) for batch in rest] == batches[50:]
