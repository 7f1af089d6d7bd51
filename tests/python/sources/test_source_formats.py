"""Rows of every file format equal what Python's own readers give, from any row on."""

import bz2
import csv
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from easydata.core.config import TokenizerConfig
from easydata.execution import AsyncDataLoader
from easydata.sources import (
    ArrowShardedSource,
    CsvShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
    TextShardedSource,
)
from easydata.transforms import TokenizedShardedSource
from small_tokenizer import small_tokenizer, text_of
from zstd_frames import zstd_frame

from easydata import Tokenizer

Row = dict[str, Any]


def some_rows(count: int = 1500) -> list[Row]:
    choose = random.Random(5)
    return [
        {"i": i, "t": "x" * choose.randrange(4000) + '\n"é,\\', "n": [{"k": None, "f": 1e-7 * i}]}
        for i in range(count)
    ]


def check(source: Any, rows: list[Row]) -> None:
    """Rows, their number, and the rest from several rows on."""
    assert list(iter(source)) == rows
    assert len(source) == len(rows)
    (name,) = source.shard_names
    for row in (0, 1, len(rows) // 2, len(rows) - 1, len(rows), len(rows) + 5):
        assert list(source.open_shard_at_row(name, row)) == rows[row:]


def _zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


def _lz4(data: bytes) -> bytes:
    return pa.Codec("lz4").compress(data, asbytes=True)


@pytest.mark.parametrize(("window", "says"), [(18 << 3, 256), (21 << 3, 2048), (17 << 3 | 1, 144)])
def test_zstd_windows_that_are_too_large_are_named(tmp_path: Path, window: int, says: int) -> None:
    path = tmp_path / "a.csv.zst"
    row = b"text\nx\n"
    path.write_bytes(zstd_frame(row, 17 << 3) + zstd_frame(b"y\n", 0))
    assert list(CsvShardedSource(path)) == [{"text": "x"}, {"text": "y"}]
    for content in (zstd_frame(row, window), zstd_frame(row) + zstd_frame(b"y\n", window)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"a window of {says} MiB") as error:
            list(CsvShardedSource(path))
        assert "a.csv.zst" in str(error.value)
        assert "damaged" not in str(error.value)
    # One that holds all it has as its window says how much that is by its content's size.
    size = (says << 20).to_bytes(8, "little")
    path.write_bytes(b"\x28\xb5\x2f\xfd\xe0" + size + b"\x31\0\0text\nx")
    with pytest.raises(ValueError, match=rf"a window of {says} MiB"):
        list(CsvShardedSource(path))


def test_zstd_dictionaries_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstd_frame(b'{"text": "x"}\n', dictionary=7))
    with pytest.raises(ValueError, match=r"needs dictionary 7, with which it was compressed") as e:
        list(JsonShardedSource(path))
    assert "a.jsonl.zst" in str(e.value)
    assert "damaged" not in str(e.value)


def test_json_lines_equal_json_loads(tmp_path: Path) -> None:
    rows = some_rows()
    (tmp_path / "a.jsonl").write_text("\n\n  \n".join(json.dumps(row) for row in rows))
    check(JsonShardedSource(tmp_path / "a.jsonl"), rows)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", gzip.compress),
        (".gz", lambda data: gzip.compress(data[:5000]) + gzip.compress(data[5000:])),
        (".zst", _zstd),
        (".bz2", bz2.compress),
        (".lz4", _lz4),
        ("", gzip.compress),
    ],
)
def test_compressed_by_suffix_and_by_magic(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    rows = some_rows(600)
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(pack("\n".join(json.dumps(row) for row in rows).encode()))
    check(JsonShardedSource(path), rows)
    text = tmp_path / f"a.txt{suffix}"
    text.write_bytes(pack(b"one\r\ntwo\n\nfour"))
    check(TextShardedSource(text), [{"text": t} for t in ("one", "two", "", "four")])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("array.json", lambda rows: json.dumps(rows)),
        ("indented.json", lambda rows: json.dumps(rows, indent=2)),
        ("sequence.json", lambda rows: "\n".join(json.dumps(row, indent=1) for row in rows)),
        ("lines.json", lambda rows: "\n".join(json.dumps(row) for row in rows)),
        ("array.jsonl", lambda rows: "\ufeff \n" + json.dumps(rows)),
    ],
)
def test_json_tells_its_own_form(
    tmp_path: Path, name: str, text: Callable[[list[Row]], str]
) -> None:
    rows = some_rows()
    (tmp_path / name).write_text(text(rows))
    check(JsonShardedSource(tmp_path / name), rows)  # D15


def test_one_object_and_empty_files(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps({"a": [1, {"b": 2}]}, indent=4))
    check(JsonShardedSource(tmp_path / "one.json", jsonl=False), [{"a": [1, {"b": 2}]}])
    (tmp_path / "none.json").write_text(" [ ] ")
    assert list(JsonShardedSource(tmp_path / "none.json")) == []
    for name, kind in (
        ("e.jsonl", JsonShardedSource),
        ("e.csv", CsvShardedSource),
        ("e.txt", TextShardedSource),
    ):
        (tmp_path / name).write_text("")
        assert list(kind(tmp_path / name)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}, {"a": 2}', "has no end"),
        ('[{"a": 1}, {"a": ', "has no end"),
        ('[{"a": 1} {"a": 2}]', "',' or ']' was expected"),
        ('[{"a": 1}] x', "follows the end"),
        ('[{"a": 1}, ]', "a value was expected"),
        ('[{"a": 1}, nope]', "not valid JSON"),
        ('[{"a": 1}, 7]', "the row is a number"),
    ],
)
def test_broken_array_ends_with_an_error_after_its_rows(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "a.json").write_text(text)
    rows = JsonShardedSource(tmp_path / "a.json").open_shard(str(tmp_path / "a.json"))
    assert next(rows) == {"a": 1}
    with pytest.raises(ValueError, match=r"a.json row") as error:
        list(rows)
    assert message in str(error.value)


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_csv_equals_dict_reader(tmp_path: Path, delimiter: str) -> None:
    choose = random.Random(3)
    path = tmp_path / "a.csv"
    values = [
        "a,b\tc",
        'q"q',
        "l\nl",
        "\r\nx",
        "",
        "plain " * 300,
        ' "sp"',
        '"',
        "é" * 50,
        "x" * 200_000,
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["id", "te xt", "z"])
        for i in range(3000):
            writer.writerow([i, choose.choice(values[: 9 if i % 500 else 10]), i * 2])
    csv.field_size_limit(1 << 20)
    with path.open(newline="", encoding="utf-8") as file:
        expected = [dict(row) for row in csv.DictReader(file, delimiter=delimiter)]
    check(CsvShardedSource(path, delimiter=delimiter), expected)  # D17


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\r\n3,4\r5,6",
        'a,b\n"x",y"z"\n""",""",\n\n\n"closed, at the end\n1,2"',
        'a\n\n x \n"\r"\n',
        'h"1,"h\n2"\nq"q,1\n',
        'a,b\n1,2,3\n4,5\n6\n7,8,"9,\n",,é\n',
        "a,b,c,d,e,f\n1,2,3,4,5,6,7\n1,2,3,4,5,6\n1\n",
    ],
)
def test_odd_csv_equals_dict_reader(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    with path.open(newline="", encoding="utf-8") as file:
        expected = [dict(row) for row in csv.DictReader(file)]
    check(CsvShardedSource(path), expected)


def test_csv_with_a_quote_that_nothing_closes(tmp_path: Path) -> None:
    """All to the file's end would be one field, of any number of rows: on_error is no cure."""
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2,"open\n3,z\n4,z\n')
    with path.open(newline="") as file, pytest.raises(csv.Error):
        list(csv.reader(file, strict=True))
    for on_error in ("raise", "skip"):
        for read in (iter, loaded_rows):
            rows = read(CsvShardedSource(path, on_error=on_error))
            assert next(rows) == {"a": "1", "b": "x\ny"}
            with pytest.raises(
                ValueError, match=r"a\.csv row 1: line 5: a quote is opened that no"
            ):
                next(rows)
    with pytest.raises(ValueError, match=r"a\.csv.*a quote is opened that nothing closes"):
        len(CsvShardedSource(path))
    with pytest.raises(ValueError, match="row 1: line 5: a quote is opened"):  # the first is gone
        list(CsvShardedSource(path).open_shard_at_row(str(path), 1))
    path.write_text('\na,"b\n1,2\n')
    with pytest.raises(ValueError, match=r"a\.csv: the header, line 2: a quote is opened"):
        list(CsvShardedSource(path))


def test_csv_with_text_behind_a_quote(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"x"\n2,"Hello" she said\n3,""x\n4,it is "z" here\n')
    with path.open(newline="") as file, pytest.raises(csv.Error):
        list(csv.reader(file, strict=True))
    rows = iter(CsvShardedSource(path))
    assert next(rows) == {"a": "1", "b": "x"}
    with pytest.raises(ValueError, match=r"row 1: line 3: field 2 has text after the quote that"):
        next(rows)
    good = [{"a": "1", "b": "x"}, {"a": "4", "b": 'it is "z" here'}]
    assert list(CsvShardedSource(path, on_error="skip")) == good
    aside = tmp_path / "aside.jsonl"
    assert list(CsvShardedSource(path, on_error="quarantine", quarantine_path=aside)) == good
    put = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [(row["row"], row["content"]) for row in put] == [
        (1, '2,"Hello" she said'),
        (2, '3,""x'),
    ]
    path.write_text('a,"b"c\n1,2\n')
    with pytest.raises(ValueError, match=r"a\.csv: the header, line 1, is not sound: field 2 has"):
        list(CsvShardedSource(path))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("text,n,text", r'names two columns "text" \(columns 1 and 3\)'),
        ('n,"n"', r'names two columns "n" \(columns 1 and 2\)'),
        ("n,,", r"has two columns without a name \(columns 2 and 3\)"),
    ],
)
def test_csv_with_a_name_twice(tmp_path: Path, header: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"\n{header}\n1,2,3\n")
    for on_error in ("raise", "skip"):
        source = CsvShardedSource(path, on_error=on_error)
        for read in (list, loaded_rows, len):
            with pytest.raises(ValueError, match=rf"a\.csv: the header, line 2, {message}"):
                list([read(source)][0])  # type: ignore[call-overload]


def test_csv_record_with_too_many_fields_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b\n"1\n1",2\n3,4,5\n')
    source = CsvShardedSource(tmp_path / "a.csv")
    assert list(source) == [{"a": "1\n1", "b": "2"}, {"a": "3", "b": "4", None: ["5"]}]
    rows = loaded_rows(source)  # columns have no place for it
    assert next(rows) == {"a": "1\n1", "b": "2"}
    with pytest.raises(ValueError, match="row 1: line 4: the record has 3 fields, the header 2"):
        next(rows)


def test_csv_has_too_many_fields_beside_a_column_named_rest(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("rest,b\n1,2,3\n4\n")
    source = CsvShardedSource(tmp_path / "a.csv")
    assert list(source) == [{"rest": "1", "b": "2", None: ["3"]}, {"rest": "4", "b": None}]


def test_text_keeps_blank_lines_and_drops_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\n\n  two \r\n\r\nlast")
    check(
        TextShardedSource(tmp_path / "a.txt", text_field="content"),
        [{"content": t} for t in ("one", "", "  two ", "", "last")],
    )


def test_arrow_file_and_stream(tmp_path: Path) -> None:
    rows = some_rows()
    table = pa.Table.from_pylist(rows)
    for name, make in (("file.arrow", pa.ipc.new_file), ("stream.arrow", pa.ipc.new_stream)):
        for chunk in (1, 7, 400, 10_000):
            with make(str(tmp_path / name), table.schema) as writer:
                writer.write_table(table, max_chunksize=chunk)
            check(ArrowShardedSource(tmp_path / name), rows)
    info = ArrowShardedSource(tmp_path / "file.arrow").get_shard_info(str(tmp_path / "file.arrow"))
    assert info is not None
    assert info.num_rows == len(rows)


def test_parquet_rows_and_footers(tmp_path: Path) -> None:
    rows = some_rows()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=200)
    source = ParquetShardedSource(tmp_path / "a.parquet")
    check(source, rows)  # D8: nothing comes of a row past the end
    info = source.get_shard_info(source.shard_names[0])
    assert (info.num_rows, info.num_row_groups) == (len(rows), 8)
    projected = ParquetShardedSource(tmp_path / "a.parquet", columns=["t"])
    assert list(projected) == [{"t": row["t"]} for row in rows]


def test_projection_reads_only_what_is_asked_for(tmp_path: Path) -> None:
    table = pa.table(
        {"small": list(range(1000)), "large": ["y" * 5000 + str(i) for i in range(1000)]}
    )
    pq.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
    source = ParquetShardedSource(tmp_path / "a.parquet").select_fields(["small"])
    with AsyncDataLoader(source, batch_size=1000) as loader:
        (batch,) = loader
        assert batch.keys() == {"small"}
        assert batch["small"].tolist() == list(range(1000))
        assert loader.stats()["bytes_read"] < 1 << 20


def test_a_column_has_one_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["x"], "b": [2]}), tmp_path / "2.parquet")
    source = ParquetShardedSource(tmp_path)
    with pytest.raises(TypeError, match=r'column "a" is of type int64 in .*1.parquet'):
        list(source)
    # Read by its name it is what the first file has.
    with pytest.raises(ValueError, match=r'2.parquet row 0: column "a", of type string'):
        list(loaded_rows(source.select_fields(["a"])))


def test_big_lines_and_small_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("w") as file:
        for i in range(12):
            file.write(json.dumps({"i": i, "t": str(i) * (1 + i % 3 * 4_000_000)}) + "\n")
    rows = list(JsonShardedSource(path))
    assert [row["i"] for row in rows] == list(range(12))
    assert all(row["t"] == str(row["i"]) * (1 + row["i"] % 3 * 4_000_000) for row in rows)


def broken_text(kind: str, folder: Path) -> tuple[Any, Path]:
    """Rows 0..99, of which 3, 40 and 41 are not UTF-8; 40 and 41 share a character."""
    texts = [f"tëxt {n}".encode() for n in range(100)]
    texts[3], texts[40], texts[41] = b"ab\xffc", b"cut \xc3", b"\xa9 here"
    column = pa.array(texts, pa.binary()).view(pa.string())
    table = pa.table({"n": list(range(100)), "text": column})
    path = folder / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=30)
        return ParquetShardedSource, path
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=30)
    return ArrowShardedSource, path


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_stored_text_that_is_not_utf8_is_named(kind: str, tmp_path: Path) -> None:
    made, path = broken_text(kind, tmp_path)
    rows = iter(made(path))
    assert [next(rows)["n"] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(
        ValueError,
        match=rf'a\.{kind}.* row 3: the text in column "text" is not UTF-8 at its byte 3;',
    ):
        next(rows)
    # A column that is not read is not looked at.
    numbers = made(path).select_fields(["n"])
    assert list(loaded_rows(numbers)) == [{"n": n} for n in range(100)]

    loader = AsyncDataLoader(made(path), batch_size=1)
    assert [next(iter(loader))["n"].tolist() for _ in range(3)] == [[0], [1], [2]]
    resumed = AsyncDataLoader(made(path), batch_size=1)
    resumed.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match="row 3"):  # not passed over
        next(iter(resumed))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_stored_text_that_is_not_utf8_is_left_out(kind: str, tmp_path: Path, gpt2: str) -> None:
    made, path = broken_text(kind, tmp_path)
    aside = tmp_path / "aside.jsonl"
    source = made(path, on_error="quarantine", quarantine_path=aside)
    kept = [n for n in range(100) if n not in (3, 40, 41)]
    assert [row["n"] for row in source] == kept
    lines = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [line["row"] for line in lines] == [3, 40, 41]
    source = made(path, on_error="skip")
    assert [row["n"] for row in source.open_shard_at_row(str(path), 35)] == kept[34:]
    tokenizer = Tokenizer(gpt2)
    config = TokenizerConfig(name_or_path="gpt2")
    tokenized = TokenizedShardedSource(source, tokenizer, config, additional_fields=["n"])
    assert [row["n"] for row in tokenized] == kept
    with pytest.raises(ValueError, match="row 3"):
        list(TokenizedShardedSource(made(path), tokenizer, config))


def test_json_that_python_alone_takes(tmp_path: Path) -> None:
    """NaN and infinities are Python's; such rows are read by another parser, escapes included."""
    draw = random.Random(3)
    pieces = [
        "\\ud83d\\ude42",
        "\\uD834\\uDD1E",
        "\\u00e9",
        "\\\\u",
        "\\n",
        '\\"',
        "é",
        "🙂",
        "\\u0000",
        "/",
        "\\/",
    ]
    lines = []
    for _ in range(400):
        number = draw.choice(("NaN", "Infinity", "-Infinity", "1e400", "7"))
        other = draw.choice(("NaN", "null", "-0", "12345678901234567890123"))
        text, item = ("".join(draw.choices(pieces, k=draw.randrange(8))) for _ in range(2))
        lines.append(f'{{"x": {number}, "t": "{text}", "k\\u00e9": ["{item}", {other}]}}')
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert repr(list(JsonShardedSource(path).iter_shards())) == repr([*map(json.loads, lines)])
    # A column of text is taken out of such rows natively.
    texts = [json.loads(line)["t"] for line in lines]
    tokenizer = small_tokenizer(tmp_path / "tokenizer")
    tokenized = TokenizedShardedSource(
        JsonShardedSource(path), Tokenizer(tokenizer), TokenizerConfig(tokenizer), "t"
    )
    assert [text_of(row["input_ids"]) for row in tokenized.iter_shards()] == texts
