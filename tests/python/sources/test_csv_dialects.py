"""CSV as it comes: other delimiters, quotes, encodings, names and comments."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from batches import loaded_rows
from easydata.core.config import ConfigError
from easydata.sources import CsvShardedSource, JsonShardedSource

from easydata import DatasetConfig, create_source

Row = dict[str, Any]


def as_pandas(content: bytes, **options: Any) -> list[Row]:
    """The rows as pandas reads them, as text."""
    frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, **options)
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def check(source: Any, rows: list[Row]) -> None:
    """Rows as dicts and as columns, their number, and the rest from several rows on."""
    assert list(iter(source)) == rows
    assert list(loaded_rows(source)) == rows
    assert len(source) == len(rows)
    (name,) = source.shard_names
    for row in {0, 1, len(rows) // 2, max(len(rows) - 1, 0), len(rows)}:
        assert list(source.open_shard_at_row(name, row)) == rows[row:]


def some_rows(count: int, characters: str) -> list[list[str]]:
    choose = random.Random(count)
    return [
        [str(n), "".join(choose.choices(characters, k=choose.randrange(60)))] for n in range(count)
    ]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "shift_jis", "utf-8-sig"]
)
def test_encodings_equal_python_s(tmp_path: Path, encoding: str, suffix: str) -> None:
    """Over several chunks, with characters on their edges; from any row on."""
    characters = 'ab,"\n\r ' + ("日本語テ" if encoding == "shift_jis" else "éßü¿×")
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["n", "ü" if encoding != "shift_jis" else "字"])
    writer.writerows(some_rows(25_000, characters))
    content = out.getvalue().encode(encoding)
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(gzip.compress(content, 1) if suffix else content)
    text = io.TextIOWrapper(io.BytesIO(content), encoding, newline="")
    expected = [dict(row) for row in csv.DictReader(text)]
    source = CsvShardedSource(path, encoding=encoding)
    if suffix:
        assert list(source) == expected
    else:
        check(source, expected)


@pytest.mark.parametrize(
    ("encoding", "bad", "character"),
    [
        ("cp1252", b"2,xy\x81z\n", 5),
        ("ascii", b"2,\xe9\n", 3),
        ("shift_jis", b"2,\x93\xfa\x85\n", 4),
        ("utf-16-le", "2,a\ud800b\n".encode("utf-16-le", "surrogatepass"), 4),
    ],
)
def test_what_cannot_be_decoded_is_a_bad_row(
    tmp_path: Path, encoding: str, bad: bytes, character: int
) -> None:
    path = tmp_path / "a.csv"
    good = [line.encode(encoding) for line in ("n,t\n", "1,one\n", "3,three\n")]
    path.write_bytes(good[0] + good[1] + bad + good[2])
    says = rf"a\.csv row 1: line 3: not {encoding} at character {character} of the record"
    rows = iter(CsvShardedSource(path, encoding=encoding))
    assert next(rows) == {"n": "1", "t": "one"}
    with pytest.raises(ValueError, match=says):
        next(rows)
    left = [{"n": "1", "t": "one"}, {"n": "3", "t": "three"}]
    assert list(CsvShardedSource(path, encoding=encoding, on_error="skip")) == left
    aside = tmp_path / "aside.jsonl"
    config = DatasetConfig(
        str(path), encoding=encoding, on_error="quarantine", quarantine_path=str(aside)
    )
    assert list(create_source(config)) == left
    (put,) = [json.loads(line) for line in aside.read_text().splitlines()]
    assert put["row"] == 1


def test_a_file_in_another_encoding_says_which_option_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("név,t\n1,x\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r'header, line 1, is not UTF-8; .*encoding="cp1252"'):
        list(CsvShardedSource(path))
    path.write_bytes("n,t\n1,x\n".encode("utf-16"))
    with pytest.raises(ValueError, match='encoding="cp1252", "utf-16"'):
        list(CsvShardedSource(path))
    assert list(CsvShardedSource(path, encoding="utf-16")) == [{"n": "1", "t": "x"}]


@pytest.mark.parametrize("delimiter", [";", "|", "\t", " "])
@pytest.mark.parametrize("quotechar", ["'", "`", ""])
def test_delimiters_and_quotes_equal_the_csv_module_s(
    tmp_path: Path, delimiter: str, quotechar: str
) -> None:
    path = tmp_path / "a.csv"
    quoting = {"quotechar": quotechar} if quotechar else {"quoting": csv.QUOTE_NONE}
    characters = f'ab"{quotechar}' + (f"{delimiter}\n\r" if quotechar else "")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, **quoting)  # type: ignore[arg-type]
        writer.writerow(["n", "t"])
        rows = some_rows(4_000, characters)
        if not quotechar:  # such a file cannot say that a field is empty at its end
            for row in rows:
                file.write(delimiter.join(row) + "\n")
        else:
            writer.writerows(rows)
    with path.open(newline="") as file:
        read = csv.DictReader(file, delimiter=delimiter, **quoting)  # type: ignore[arg-type]
        expected = [dict(row) for row in read]
    assert [list(row.values()) for row in expected] == rows
    check(CsvShardedSource(path, delimiter=delimiter, quotechar=quotechar), expected)


def test_an_open_quote_is_text_where_nothing_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "lines.tsv"
    path.write_text('id\ttext\n1\tone\n2\t"never closed\n3\tx z\n')
    with pytest.raises(ValueError, match="a quote is opened that nothing closes"):
        list(create_source(DatasetConfig(str(path))))
    rows = list(create_source(DatasetConfig(str(path), quotechar="")))
    assert rows == as_pandas(path.read_bytes(), sep="\t", quoting=csv.QUOTE_NONE)
    assert rows[1]["text"] == '"never closed'


def test_names_are_given_where_the_file_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    content = b"1,one\n2,two\n"
    path.write_bytes(content)
    expected = as_pandas(content, names=["n", "t"])
    check(CsvShardedSource(path, column_names=["n", "t"]), expected)
    check(CsvShardedSource(path, column_names=("n", "t"), header=False), expected)
    # Of a file with a header the given names are taken, as pandas does with header=0.
    path.write_bytes(b"a,b\n" + content)
    named = CsvShardedSource(path, column_names=["n", "t"], header=True)
    check(named, as_pandas(b"a,b\n" + content, names=["n", "t"], header=0))
    with pytest.raises(ValueError, match=r"line 1, names 2 columns, and column_names 3"):
        list(CsvShardedSource(path, column_names=["n", "t", "u"], header=True))
    path.write_bytes(b"")
    assert list(CsvShardedSource(path, column_names=["n", "t"])) == []
    path.write_bytes(b"1\n1,2,3\n")
    rows = iter(loaded_rows(CsvShardedSource(path, column_names=["n", "t"])))
    assert next(rows) == {"n": "1", "t": None}
    with pytest.raises(ValueError, match="row 1: line 2: the record has 3 fields, the header 2"):
        next(rows)


def test_a_header_is_not_taken_for_a_row(tmp_path: Path) -> None:
    """Names that are given beside a file that has them, too, would add a row to each file."""
    path = tmp_path / "a.csv"
    path.write_text("n,t\n1,one\n")
    with pytest.raises(ValueError, match=r"a\.csv: the header, line 1, has the names that column"):
        list(CsvShardedSource(path, column_names=["n", "t"]))
    assert list(CsvShardedSource(path, column_names=["n", "t"], header=True)) == [
        {"n": "1", "t": "one"}
    ]
    assert next(iter(CsvShardedSource(path, column_names=["n", "t"], header=False))) == {
        "n": "n",
        "t": "t",
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_are_left_out(tmp_path: Path, end: str) -> None:
    """Lines that begin so; not what is within a quoted field, or behind a value."""
    path = tmp_path / "a.csv"
    lines = ["# about", "#", "n,t", "1,one", "#2,two", '3,"a', '#b"', " # 4", "5,x # y", "# end"]
    path.write_text(end.join(lines), newline="")
    expected = [
        {"n": "1", "t": "one"},
        {"n": "3", "t": f"a{end}#b"},
        {"n": " # 4", "t": None},
        {"n": "5", "t": "x # y"},
    ]
    check(CsvShardedSource(path, comment="#"), expected)
    many = "n,t\n" + "".join(f"%% {n}\n{n},{'x' * 900}\n" for n in range(1500))
    path.write_text(many)
    source = CsvShardedSource(path, comment="%%")
    check(source, as_pandas(many.replace("%%", "%").encode(), comment="%"))
    path.write_text(many + "4,a,b\n")  # lines count those that are left out
    with pytest.raises(ValueError, match="row 1500: line 3002: the record has 3 fields"):
        list(loaded_rows(source.__class__(path, comment="%%")))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"delimiter": ";;"}, "delimiter must be one ASCII character"),
        ({"delimiter": ""}, "delimiter must be one ASCII character"),
        ({"delimiter": "\n"}, "delimiter must be one ASCII character"),
        ({"delimiter": '"'}, "delimiter must be one ASCII character that is no quote"),
        ({"delimiter": "§"}, "delimiter must be one ASCII character"),
        ({"quotechar": "«"}, "quotechar must be one ASCII character"),
        ({"quotechar": "''"}, 'quotechar must be one ASCII character that is no line end, or ""'),
        ({"encoding": "utf-99"}, r'encoding.*there is no encoding "utf-99"'),
        ({"encoding": "latin-1//IGNORE"}, "there is no encoding"),
        ({"header": False}, "header is false, so the files name no columns; give .*column_names"),
        ({"column_names": []}, "column_names must name a column"),
        ({"column_names": ["a", "b", "a"]}, 'column_names names "a" twice'),
        ({"comment": ""}, "comment must be text without a line end"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    tmp_path: Path, options: dict[str, Any], says: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,t\n1,one\n")
    with pytest.raises(ConfigError, match=says):
        create_source(DatasetConfig(str(path), **options))
    with pytest.raises(ValueError, match=says.replace(" must", ": must", 1).split(" ")[0]):
        list(CsvShardedSource(path, **options))


@pytest.mark.parametrize(
    "option",
    [
        {"delimiter": ";"},
        {"quotechar": ""},
        {"encoding": "latin-1"},
        {"header": True},
        {"column_names": ["a"]},
        {"comment": "#"},
    ],
    ids=lambda option: next(iter(option)),
)
def test_options_act_on_csv_alone(tmp_path: Path, option: dict[str, Any]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": "1"}\n')
    (name,) = option
    with pytest.raises(ConfigError, match=rf"{name} has no effect.*it acts where CSV files are"):
        create_source(DatasetConfig(str(path), **option))
    with pytest.raises(ConfigError, match=rf"{name} has no effect"):
        create_source(DatasetConfig([{"n": "1"}], **option))
    (tmp_path / "a.csv").write_text("n\n1\n")
    made = CsvShardedSource(tmp_path / "a.csv")
    with pytest.raises(ConfigError, match=rf"{name} says how files are read.*give it to that"):
        create_source(DatasetConfig(made, **option))
    create_source(DatasetConfig(JsonShardedSource(path)))


def test_plans_have_what_differs(tmp_path: Path) -> None:
    """A state of other options is refused; without any a plan says what it said before."""
    path = tmp_path / "a.csv"
    path.write_text("n\n1\n")

    def described(**options: Any) -> dict[str, Any]:
        return dict(CsvShardedSource(path, **options)._stream().description)

    plain = described()
    assert not [key for key in plain if "quote" in key or "encod" in key or "header" in key]
    assert described(encoding="utf-8-sig") == plain
    assert described(encoding="latin-1") == plain | {"source.encoding": "latin-1"}
    assert described(quotechar="", comment="#") == plain | {
        "source.quotechar": "",
        "source.comment": "#",
    }
