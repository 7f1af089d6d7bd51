"""Transformed sources: rows by Python and rows out of the engine's stream are the same rows."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.sources import JsonShardedSource, ParquetShardedSource
from easydata.transforms import (
    AddField,
    CombineFields,
    ConvertToChatML,
    DropFields,
    ExpandTransform,
    ExtractField,
    FilterByField,
    FilterNonEmpty,
    FilterTransform,
    MapField,
    MapTransform,
    RenameFields,
    SelectFields,
    Transform,
    TransformedShardedSource,
)
from programs import run_python

from easydata import ShardedDataSource, _native

ROWS: list[dict[str, Any]] = [
    {"text": "one", "id": 0, "meta": {"lang": "en", "tags": ["a", "b"]}},
    {"text": "", "id": 1, "meta": None},
    {"text": None, "id": 2, "meta": {"lang": "de", "tags": []}},
    {"text": 'zwei "ä"\n', "id": 3, "meta": {"lang": None, "tags": None}},
    {"text": "  ", "id": 4, "meta": {"lang": "fr", "tags": ["c"]}},
]
RAGGED: list[dict[str, Any]] = [*ROWS, {"id": 9}, {"text": "x", "extra": [1, 2.5, {"k": None}]}]


class Memory(ShardedDataSource[dict[str, Any]]):
    """Rows held by Python, in two shards."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.shards = {"s0": rows[:2], "s1": rows[2:]}

    @property
    def shard_names(self) -> Sequence[str]:
        return list(self.shards)

    def num_shards(self) -> int:
        return len(self.shards)

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        yield from self.shards[shard_name]


@pytest.fixture(params=["parquet", "jsonl", "ragged jsonl", "python"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> ShardedDataSource[Any]:
    if request.param == "python":
        return Memory(RAGGED)
    rows = RAGGED if request.param.startswith("ragged") else ROWS
    for number, part in enumerate((rows[:2], rows[2:])):
        if request.param == "parquet":
            table = pa.Table.from_pylist(part, schema=pa.Table.from_pylist(ROWS).schema)
            pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=2)
        else:
            lines = "".join(json.dumps(row) + "\n" for row in part)
            (tmp_path / f"{number}.jsonl").write_text(lines)
    if request.param == "parquet":
        return ParquetShardedSource(str(tmp_path / "*.parquet"))
    return JsonShardedSource(str(tmp_path / "*.jsonl"))


class Letters(ExpandTransform):
    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for letter in (example.get("text") or "")[:3]:
            yield {"letter": letter, "id": example.get("id")}


class Twice(Transform):
    def __call__(self, example: dict[str, Any]) -> dict[str, Any] | None:
        if example.get("id") == 3:
            return None
        return {**example, "text": (example.get("text") or "") * 2}


CHAINS: dict[str, Any] = {
    "select": SelectFields(["id", "text"]),
    "select missing": SelectFields(["nope", "id"]),
    "drop": DropFields(["meta", "nope"]),
    "rename": RenameFields({"text": "content", "nope": "x"}),
    "rename onto another": RenameFields({"id": "text"}),
    "rename back onto another": RenameFields({"text": "id"}),
    "swap": RenameFields({"id": "text", "text": "id"}),
    "non-empty": FilterNonEmpty(["text"]),
    "non-empty missing": FilterNonEmpty(["nope"]),
    "constant": AddField("src", "web"),
    "constant in place": AddField("text", 7),
    "constant list": AddField("src", [1, {"a": None}]),
    "computed": AddField("twice", lambda row: row.get("id", 0) * 2),
    "by field": FilterByField("id", lambda value: value % 2 == 0),
    "map field": MapField("text", lambda value: (value or "").upper(), "upper"),
    "map missing field": MapField("nope", str.upper),
    "extract": ExtractField("meta.tags[0]", "tag", default="none"),
    "combine": CombineFields(["id", "text"], "both", separator="|", drop_sources=True),
    "filter": FilterTransform(lambda row: bool(row.get("text"))),
    "map": MapTransform(lambda row: {"n": len(row)}),
    "user's own": Twice(),
    "expand": Letters(),
    "column, call, column": SelectFields(["text", "id"])
    >> FilterTransform(lambda row: row.get("id") != 1)
    >> RenameFields({"text": "content"}),
    "call, column, call": MapField("id", lambda value: value + 1)
    >> FilterNonEmpty(["text"])
    >> Twice()
    >> DropFields(["meta"]),
    "filters": FilterNonEmpty(["text"]) >> FilterTransform(lambda r: r.get("id") != 0) >> Twice(),
    "expand in the middle": FilterNonEmpty(["text"])
    >> Letters()
    >> FilterByField("letter", lambda value: value != "e")
    >> RenameFields({"letter": "l"}),
}


@pytest.mark.parametrize("name", CHAINS)
def test_stream_gives_the_rows_of_row_mode(source: ShardedDataSource[Any], name: str) -> None:
    transformed = TransformedShardedSource(source, CHAINS[name])
    expected = [
        row
        for original in source
        for row in TransformedShardedSource(Memory([original]), CHAINS[name])
    ]
    assert list(transformed) == expected
    assert list(_native.iterate_rows(transformed._stream())) == expected
    per_shard = [
        list(_native.iterate_rows(transformed._stream(None, [shard])))
        for shard in transformed.shard_names
    ]
    assert per_shard == [list(transformed.open_shard(s)) for s in transformed.shard_names]


@pytest.mark.parametrize(
    ("chain", "columns", "row"),
    [
        (RenameFields({"text": "content"}), {"content": "text"}, lambda r: {"content": r["text"]}),
        (
            FilterNonEmpty(["text"]) >> RenameFields({"text": "c"}) >> AddField("s", "web"),
            {"s": "any", "c": "text"},
            lambda r: {"s": "web", "c": r["text"]} if r["text"] else None,
        ),
        (
            Twice(),
            {"text": "text"},
            lambda r: {"text": (r["text"] or "") * 2} if r["id"] != 3 else None,
        ),
        (
            FilterTransform(lambda r: r["id"] > 1) >> MapField("id", str),
            {"id": "text"},
            lambda r: {"id": str(r["id"])} if r["id"] > 1 else None,
        ),
    ],
)
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_projected_stream(
    tmp_path: Path,
    kind: str,
    chain: Any,
    columns: dict[str, Any],
    row: Callable[[dict[str, Any]], dict[str, Any] | None],
) -> None:
    source = write(tmp_path, kind, ROWS)
    stream = TransformedShardedSource(source, chain)._stream(columns)
    batches = list(_native.iterate_batches(stream))
    assert batches[0].schema.names == list(columns)
    for name, form in columns.items():
        if form == "text":
            assert batches[0].schema.field(name).type == pa.string()
    expected = [made for original in ROWS if (made := row(original)) is not None]
    assert list(_native.iterate_rows(stream)) == expected


def write(path: Path, kind: str, rows: list[dict[str, Any]]) -> ShardedDataSource[Any]:
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path / "a.parquet")
        return ParquetShardedSource(str(path / "a.parquet"))
    (path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return JsonShardedSource(str(path / "a.jsonl"))


def test_only_needed_columns_are_read(tmp_path: Path) -> None:
    """A column that cannot be read does not matter to a chain that does not ask for it."""
    source = write(tmp_path, "jsonl", [{"text": "a", "bad": "x"}, {"text": "b", "bad": [1]}])
    chain = FilterNonEmpty(["text"]) >> RenameFields({"text": "t"}) >> AddField("s", 1)
    stream = TransformedShardedSource(source, chain)._stream({"t": "text"})
    assert "bad" not in json.dumps(stream.description)
    assert list(_native.iterate_rows(stream)) == [{"t": "a"}, {"t": "b"}]
    with pytest.raises(ValueError, match="bad"):
        list(_native.iterate_rows(source._stream({"bad": "text"})))


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_filtering_keeps_types_and_counts_what_goes(tmp_path: Path, kind: str) -> None:
    source = write(tmp_path, kind, ROWS)
    filtered = source.filter(lambda row: row["id"] > 2)
    batches = list(_native.iterate_batches(filtered._stream()))
    if kind == "parquet":
        assert batches[0].schema.equals(pa.Table.from_pylist(ROWS).schema)
    assert [row["id"] for row in filtered] == [3, 4]


def test_callables_exception_comes_as_itself_with_its_address(tmp_path: Path) -> None:
    rows = [{"id": i} for i in range(1000)]
    for kind in ("parquet", "jsonl"):
        source = write(tmp_path, kind, rows)

        class Broken(Exception):
            pass

        def fail(row: dict[str, Any], broken: type[Exception] = Broken) -> dict[str, Any]:
            if row["id"] >= 700:
                raise broken(f"no {row['id']}")
            return row

        for transform in (MapTransform(fail), FilterTransform(fail)):
            stream = TransformedShardedSource(source, transform)._stream()
            seen = []
            with pytest.raises(Broken, match="no 700") as error:
                seen.extend(row["id"] for row in _native.iterate_rows(stream))
            assert seen == list(range(700))
            assert any("row 700" in note and "a." in note for note in error.value.__notes__)
            assert error.traceback[-1].name == "fail"


def test_what_a_callable_may_return(tmp_path: Path) -> None:
    source = write(tmp_path, "jsonl", [{"id": 0}, {"id": 1}])
    stream = TransformedShardedSource(source, lambda row: [row])._stream()
    with pytest.raises(TypeError, match=r"a\.jsonl row 0.*returned list, expected a dict"):
        list(_native.iterate_rows(stream))
    stream = TransformedShardedSource(source, lambda row: {"v": {1, 2}})._stream()
    with pytest.raises(TypeError, match=r"row 0.*v.*set.*select the fields"):
        list(_native.iterate_rows(stream))


def test_wanted_column_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    source = write(tmp_path, "parquet", ROWS)
    stream = source.drop_fields(["meta"])._stream({"txet": "text"})
    with pytest.raises(KeyError, match=r"did you mean.*text"):
        list(_native.iterate_rows(stream))


def test_row_numbers_and_lengths(tmp_path: Path) -> None:
    source = write(tmp_path, "parquet", ROWS)
    shard = source.shard_names[0]
    renamed = source.rename_fields({"id": "n"})
    assert len(renamed) == 5
    info = renamed.get_shard_info(shard)
    assert info is not None
    assert info.num_rows == 5
    assert [row["n"] for row in renamed.open_shard_at_row(shard, 3)] == [3, 4]
    even = source.filter(lambda row: row["id"] % 2 == 0)
    with pytest.raises(TypeError, match="may drop"):
        len(even)
    info = even.get_shard_info(shard)
    assert info is not None
    assert info.num_rows is None
    assert [row["id"] for row in even.open_shard_at_row(shard, 1)] == [2, 4]
    assert [row["id"] for row in source.transform(Letters()).open_shard_at_row(shard, 2)] == [
        0,
        3,
        3,
        3,
        4,
        4,
    ]


def test_sources_rows_are_not_changed() -> None:
    """D22: EasyDeL pops and adds keys in the rows of sources that are in memory."""
    rows = json.loads(json.dumps(RAGGED))
    source = Memory(rows)
    for chain in CHAINS.values():
        list(TransformedShardedSource(source, chain))
        list(_native.iterate_rows(TransformedShardedSource(source, chain)._stream()))
    assert rows == RAGGED


def test_plan_tells_chains_apart(tmp_path: Path) -> None:
    source = write(tmp_path, "jsonl", ROWS)
    descriptions = [
        json.dumps(TransformedShardedSource(source, chain)._stream().description)
        for chain in (
            SelectFields(["id"]),
            SelectFields(["text"]),
            RenameFields({"id": "n"}),
            Twice(),
            MapTransform(len),
            MapTransform(str),
            MapTransform(lambda row: row),
        )
    ]
    assert len(set(descriptions)) == len(descriptions)
    a = source.select_fields(["id"]).rename_fields({"id": "n"})
    b = source.transform(SelectFields(["id"]) >> RenameFields({"id": "n"}))
    assert a._stream().description == b._stream().description


def test_chat_conversion_in_a_stream(tmp_path: Path) -> None:
    rows = [{"conversations": [{"from": "human", "value": f"q{i}"}], "id": i} for i in range(5)]
    source = write(tmp_path, "jsonl", rows).transform(ConvertToChatML())
    expected = [{"messages": [{"role": "user", "content": f"q{i}"}], "id": i} for i in range(5)]
    assert [dict(sorted(r.items())) for r in source] == [dict(sorted(r.items())) for r in expected]
    stream = source._stream({"messages": "any"})
    assert list(_native.iterate_rows(stream)) == [{"messages": r["messages"]} for r in expected]


PREPARE = """
from easydata import TokenizedShardedSource, Tokenizer, TokenizerConfig, _native
from easydata import ShardedDataSource
from easydata.sources import JsonShardedSource

class Endless(ShardedDataSource):
    shard_names = ["one"]

    def num_shards(self):
        return 1

    def open_shard(self, name):
        while True:
            yield {"text": "words and more words", "id": 0}

files = JsonShardedSource(FILE)
"""


@pytest.mark.parametrize(
    "source",
    [
        'files.map(lambda row: {**row, "n": len(row)})',
        'Endless().map(lambda row: {**row, "n": len(row)})',
        'TokenizedShardedSource(files, Tokenizer(FOLDER), TokenizerConfig("x"))',
    ],
)
def test_leaving_early_ends_well(tmp_path: Path, own_tokenizers: Path, source: str) -> None:
    """A process that leaves a stream half-way, with Python at work in its threads, just ends."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "x" * 200, "id": i}) + "\n" for i in range(20_000)))
    folder = own_tokenizers / "unigram"  # for the `tokenizers` library
    code = (
        f"FILE, FOLDER = {str(path)!r}, {str(folder)!r}\n{PREPARE}\n"
        f"rows = _native.iterate_rows(({source})._stream())\nprint(len(next(rows)))\n"
    )
    for _ in range(3):
        done = run_python("-c", code, timeout=60)
        assert done.stderr == ""
        assert done.stdout in ("2\n", "3\n")


class FirstLetter(Transform):
    """Works on columns; the values of a row matter to its `__call__`."""

    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "first": example["text"][0]}

    def _plan_step(self) -> _native.Step:
        return self._column_step("add_field", {"field": "first", "value": "a"})


def test_work_on_columns_is_planned_without_calling_it(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["abc", "ade"], "n": [1, 2]}), file)
    source = ParquetShardedSource(str(file)).transform(FirstLetter()).drop_fields(["text"])
    rows = list(source.open_shard(source.shard_names[0]))
    assert rows == [{"n": 1, "first": "a"}, {"n": 2, "first": "a"}]
