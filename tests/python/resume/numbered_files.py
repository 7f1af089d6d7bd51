"""Files of numbered rows in every format, larger than what is read at once.

Sound ones, and such with some rows that cannot be read, behind blank lines where the format has
them. What is known of them comes of the writing, not of reading them.
"""

import bz2
import gzip
import itertools
import json
import random
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from easydata import (
    ArrowShardedSource,
    CsvShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
    TextShardedSource,
)

ROWS = 2606
BAD = (3, 700, 701, 1900, 2399, 2590)
"""Rows that cannot be read in files that have such: three of an odd, three of an even number."""

CHUNK = 1 << 20
"""What is read of text at once (kChunkBytes)."""

KINDS = (
    "jsonl",
    "jsonl.gz",
    "jsonl.zst",
    "jsonl.bz2",
    "txt",
    "txt.gz",
    "csv",
    "csv.gz",
    "json",
    "json.gz",
    "groups.parquet",
    "slices.parquet",
    "batches.arrow",
    "slices.arrow",
    "stream.arrow",
)
OF_LINES = ("jsonl", "txt")
OF_TABLES = ("parquet", "arrow")


@cache
def text_of(row: int) -> str:
    """The text of a row: its number, then as many letters as it takes for nine chunks in all."""
    draw = random.Random(row)
    return f"{row}:" + draw.choice("abcdef") * draw.randrange(7000)


def number_of(text: str) -> int:
    """The row that a text is of."""
    number = int(text.split(":", 1)[0])
    assert text == text_of(number)
    return number


@dataclass
class Numbered:
    """A file, and what is known of it."""

    path: Path
    kind: str
    bad: tuple[int, ...]
    what: str = ""  # is wrong with the bad rows: the reason that counts go by
    message: str = ""  # what their errors begin with
    lines: list[int] = field(default_factory=list)  # number of each row's line, from 1
    begins: list[int] = field(default_factory=list)  # offset of each row's line in the text
    size: int = 0  # of the text, decompressed
    head: int = 0  # bytes of the text before the first record
    contents: dict[int, str] = field(default_factory=dict)  # of the bad rows, as in quarantine

    @property
    def format(self) -> str:
        """Its format, without what compresses it."""
        parts = self.kind.split(".")
        return parts[-1] if parts[-1] in OF_TABLES else parts[0]

    @property
    def compressed(self) -> bool:
        """Whether it is."""
        return self.kind.endswith((".gz", ".zst", ".bz2"))

    @property
    def good(self) -> list[int]:
        """Numbers of the rows that can be read."""
        return [row for row in range(ROWS) if row not in self.bad]

    def source(self, **options: Any) -> Any:
        """The source of it alone, called "s"."""
        classes: dict[str, Any] = {
            "jsonl": JsonShardedSource,
            "json": JsonShardedSource,
            "csv": CsvShardedSource,
            "txt": TextShardedSource,
            "parquet": ParquetShardedSource,
            "arrow": ArrowShardedSource,
        }
        return classes[self.format](self.path, name="s", **options)

    def address(self, row: int) -> str:
        """How errors name a row."""
        return f'sources["s"] {self.path} row {row}'

    def error(self, row: int) -> str:
        """How the error of a bad row begins."""
        line = f"line {self.lines[row]}: " if self.lines else ""
        return f"{self.address(row)}: {line}{self.message}"


def _compressed(kind: str, text: bytes) -> bytes:
    if kind.endswith(".gz"):
        # Two members, the second of which begins in the middle of a row.
        half = len(text) // 2 + 17
        return gzip.compress(text[:half], 1) + gzip.compress(text[half:], 1)
    if kind.endswith(".zst"):
        return bytes(pa.Codec("zstd").compress(text, asbytes=True))
    if kind.endswith(".bz2"):
        return bz2.compress(text, 1)
    return text


def _record(form: str, row: int) -> str:
    text = text_of(row)
    if form == "txt":
        return text + "\n"
    if form == "csv":
        return f'{row},"{text}"\r\n' if row % 3 == 0 else f"{row},{text}\n"
    comma = "\n, " if form == "json" and row > 0 else ""
    return comma + json.dumps({"i": row, "text": text}) + ("" if form == "json" else "\n")


_WRONG = {  # as it stands in the file, what is counted, and what is said
    "jsonl": ('{"i": nope}\n', "not valid JSON", "not valid JSON at byte 7 of the row"),
    "txt": ("ab\xff\n", "not UTF-8", "not UTF-8 at byte 3 of the line"),
    "csv": ("1,\xff\n", "not UTF-8", "not UTF-8 at byte 3 of the record"),
    "json": ("\n,\n 7", "not a JSON object", "the row is a number, expected one JSON object"),
}


def _write_text(made: Numbered) -> None:
    form = made.format
    head = {"csv": "\n\ni,text\r\n", "json": "\n[\n"}.get(form, "")
    made.head = len(head) if form == "csv" else 0
    parts, offset, line = [head], len(head), 1 + head.count("\n")
    for row in range(ROWS):
        blank = ""
        if form != "txt" and row in made.bad:
            blank = "\n" * 40 if row != 1900 else "\n" * (CHUNK + CHUNK // 5)
        record = _WRONG[form][0] if row in made.bad else _record(form, row)
        before = len(record) - len(record.lstrip("\n, "))  # what stands before the row itself
        begin = offset + len(blank) + before
        made.lines.append(line + blank.count("\n") + record[:before].count("\n"))
        made.begins.append(begin)
        parts += [blank, record]
        offset += len(blank) + len(record)
        line += blank.count("\n") + record.count("\n")
        if row in made.bad:
            made.contents[row] = record.lstrip("\n, ").rstrip("\n").replace("\xff", "\ufffd")
    parts.append("\n]\n" if form == "json" else "")
    text = "".join(parts).encode("latin-1")
    made.size = len(text)
    if made.bad:
        _, made.what, made.message = _WRONG[form]
    made.path.write_bytes(_compressed(made.kind, text))


def _write_table(made: Numbered) -> None:
    texts = [b"ab\xff" if row in made.bad else text_of(row).encode() for row in range(ROWS)]
    column = pa.array(texts, pa.binary()).view(pa.string())
    table = pa.table({"i": pa.array(range(ROWS), pa.int32()), "text": column})
    many = made.kind.startswith("slices")
    if made.format == "parquet":
        pq.write_table(table, made.path, row_group_size=ROWS if many else 130)
    else:
        opened = pa.ipc.new_stream if made.kind == "stream.arrow" else pa.ipc.new_file
        with opened(str(made.path), table.schema) as writer:
            writer.write_table(table, max_chunksize=ROWS if many else 170)
    if made.bad:
        made.what = "not UTF-8"
        made.message = 'the text in column "text" is not UTF-8 at its byte 3'
        made.contents = dict.fromkeys(made.bad, "ab\ufffd")


def write(folder: Path, kind: str, bad: tuple[int, ...] = ()) -> Numbered:
    """Writes a file of a kind, in which some rows cannot be read."""
    name = "-".join(map(str, bad)) or "sound"
    made = Numbered(folder / f"{name}.{kind}", kind, bad)
    if made.format in OF_TABLES:
        _write_table(made)
    else:
        _write_text(made)
    return made


def text_in(made: Numbered) -> bytes:
    """The text of a file of text."""
    raw = made.path.read_bytes()
    if made.kind.endswith(".gz"):
        return gzip.decompress(raw)
    assert not made.compressed
    return raw


def bytes_of_one_pass(made: Numbered, columns: list[str] | None = None) -> int:
    """What loader.stats() counts as read when all of a file is, once.

    Of text that is its size, unpacked; what stands before the records is passed over where it need
    not be unpacked. Chunks of lines that lie in the file as they are begin one byte early, and are
    read for 64 KB more, where their last line ends: lines are shorter than that. Of tables it is
    the columns, as they are stored in Parquet, as they lie in memory in Arrow.
    """
    if made.format == "parquet":
        metadata = pq.read_metadata(made.path)
        groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        stored = [group.column(index) for group in groups for index in (0, 1)]
        return sum(
            column.total_compressed_size
            for column in stored
            if columns is None or column.path_in_schema in columns
        )
    if made.format == "arrow":
        opened = pa.ipc.open_stream if made.kind == "stream.arrow" else pa.ipc.open_file
        with opened(str(made.path)) as reader:
            table = reader.read_all()
        batches = table.to_batches() if columns is None else table.select(columns).to_batches()
        return sum(batch.nbytes for batch in batches)
    if made.format not in OF_LINES or made.compressed:
        return made.size - (0 if made.compressed else made.head)
    ends = [*range(CHUNK, made.size, CHUNK), made.size]
    text = text_in(made)
    read = 0
    for begin, end in itertools.pairwise([0, *ends]):
        read += end - begin + (1 if begin > 0 else 0)
        starts_a_line = begin == 0 or b"\n" in text[begin - 1 : end - 1]
        if starts_a_line and end < made.size and text[end - 1 : end] != b"\n":
            read += min(64 << 10, made.size - end)
    return read
