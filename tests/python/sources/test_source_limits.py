"""Files at the limits: very many columns, very much white space, lines larger than the memory."""

import csv
import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from batches import loaded_rows
from programs import run_python

from easydata import AsyncDataLoader, CsvShardedSource

MEGABYTE = 1 << 20
LITTLE_MEMORY = Path(__file__).with_name("little_memory.py")


# Columns.


def write_wide(path: Path, columns: int, records: int = 3) -> list[dict[str, str]]:
    """A CSV file of so many columns, and its rows as Python's own reader gives them."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"column {k}" for k in range(columns)])
        for record in range(records):
            values = [f"{record}.{k}" for k in range(columns)]
            values[7] = 'quoted, "and"\nin two lines'
            writer.writerow(values[: columns - 2 * record])
    with path.open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def read_in_every_way(path: Path, expected: list[dict[str, str]]) -> float:
    """Reads a wide file as rows, as columns and in batches.

    Returns:
        Seconds of all cores, without the comparing: others use the machine, too.
    """
    source = CsvShardedSource(path)
    names = list(expected[0])
    start = time.process_time()
    rows = list(source)
    count = len(source)
    last = list(loaded_rows(source.select_fields([names[-1]])))
    with AsyncDataLoader(source, batch_size=2) as loader:
        batch = next(iter(loader))
    seconds = time.process_time() - start
    assert rows == expected
    assert count == len(expected)
    assert last == [{names[-1]: row[names[-1]]} for row in expected]
    assert batch == {name: [row[name] for row in expected[:2]] for name in names}
    return seconds


def test_time_grows_as_the_number_of_columns(tmp_path: Path) -> None:
    seconds = {}
    for columns, times in ((12_500, 3), (100_000, 1)):
        path = tmp_path / f"{columns}.csv"
        expected = write_wide(path, columns)
        seconds[columns] = min(read_in_every_way(path, expected) for _ in range(times))
    assert seconds[100_000] < 60
    # Eight times as many columns; were it by their square, sixty-four times the time.
    assert seconds[100_000] < 32 * seconds[12_500], seconds


def test_time_grows_as_the_number_of_records_whatever_ends_them(tmp_path: Path) -> None:
    """A file of returns alone has no newline to look for; one of bad records has lines to count."""

    def seconds(records: int, end: str, bad: bool) -> float:
        path = tmp_path / f"{records}-{end!r}-{bad}.csv"
        if not path.exists():
            more = ",3" if bad else ""
            with path.open("w", newline="") as file:
                file.write(f"a,b{end}")
                file.writelines(f"{n},{n * 7}{more}{end}" for n in range(records))
        source = CsvShardedSource(path, on_error="skip")
        start = time.process_time()
        with AsyncDataLoader(source, batch_size=1000, drop_last=False) as loader:
            batches = list(loader)
        took = time.process_time() - start
        numbers = [int(n) for batch in batches for n in batch["a"]]
        assert numbers == ([] if bad else list(range(records)))
        return took

    for end, bad in (("\r", False), ("\n", True), ("\r", True)):
        few = min(seconds(8_000, end, bad) for _ in range(3))
        many = min(seconds(64_000, end, bad) for _ in range(3))
        assert many < 24 * few + 0.2, (end, bad, few, many)


# White space.

BLANKS = 100 * MEGABYTE


class Blanks:
    """A format: rows a and b, much white space before and between them, then a bad row, and c."""

    def __init__(self, blank: str, begin: str, rows: tuple[str, str, str, str], what: str) -> None:
        self.blank, self.begin, self.what = blank, begin, what
        self.rows = rows

    def parts(self) -> Iterator[str]:
        """The file, some at a time."""
        blanks = self.blank * (MEGABYTE // len(self.blank))
        a, b, bad, c = self.rows
        yield self.begin
        for before, row in ((BLANKS // 4, a), (BLANKS // 2, b), (BLANKS // 4, bad), (0, c)):
            yield from [blanks] * (before // MEGABYTE)
            yield row

    def lines_before_the_bad_row(self) -> int:
        blanks = BLANKS // MEGABYTE * (MEGABYTE // len(self.blank)) * self.blank.count("\n")
        text = self.begin + "".join(self.rows[:2])
        return text.count("\n") + blanks


FORMATS = {
    "jsonl": Blanks(
        " \t\r\n",
        "",
        ('{"text": "a"}\n', '{"text": "b"}\n', '{"text": nope}\n', '{"text": "c"}\n'),
        "not valid JSON at byte 10",
    ),
    "csv": Blanks(
        "\r\n\n",
        "\ntext,n\r\n",
        ("a,1\n", 'b,"\n"\r\n', "x,y,z\n", "c,3\n"),
        "the record has 3 fields, the header 2",
    ),
    "array.json": Blanks(
        " \r\n\t\n",
        "\n[\n",
        ('{"text": "a"}', ',\n{"text":\n"b"}', ',{"text": nope}', ', {"text": "c"}] \n'),
        "not valid JSON at byte 10",
    ),
    "values.json": Blanks(
        "\n",
        "",
        ('{"text":\n"a"}', '{"text": "b"}', '{"text": nope}', '{"text": "c"}'),
        "not valid JSON at byte 10",
    ),
    "txt": Blanks("\n", "", ("a\n", "b\n", "\xff\n", "c\n"), "not UTF-8 at byte 1"),
}

# Reads a file of a few rows, then a large one; says what came and how far memory rose.
READ = """
import json, os, sys
from pathlib import Path
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # what is held grows with the cores
import easydata as ed
from engine_parts import record_batches

def open_source(path):
    if ".csv" in path:
        return ed.CsvShardedSource(path)
    return ed.JsonShardedSource(path, jsonl=None) if ".json" in path else ed.TextShardedSource(path)

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) << 10

def read(path):
    rows, texts, error = 0, [], ""
    try:
        for batch in record_batches(open_source(path), {"text": "text"}):
            rows += batch.num_rows
            column = batch.column("text")
            texts += [t.as_py() for t in column.filter(pc.not_equal(column, ""))]
    except ValueError as caught:
        error = str(caught)
    return {"rows": rows, "texts": texts, "error": error, "len": len(open_source(path))}

import pyarrow.compute as pc
read(sys.argv[1])
before = peak()
found = read(sys.argv[2])
print(json.dumps({**found, "grown": peak() - before}))
"""


def compress(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "wb", compresslevel=1)
    if path.suffix == ".zst":
        return pa.CompressedOutputStream(str(path), "zstd")
    return path.open("wb")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", FORMATS)
def test_white_space_takes_no_memory(tmp_path: Path, kind: str, suffix: str) -> None:
    form = FORMATS[kind]
    path, small = tmp_path / f"a.{kind}{suffix}", tmp_path / f"small.{kind}"
    with compress(path) as file:
        for part in form.parts():
            file.write(part.encode("latin-1"))
    small.write_text(form.begin + "".join(form.rows[:2]) + ("]" if kind == "array.json" else ""))
    done = run_python("-c", READ, small, path, status=None)
    path.unlink()
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["texts"] == ["a", "b"]
    lines = form.lines_before_the_bad_row()
    row = lines if kind == "txt" else 2  # a blank line of text is a row
    assert f"{path} row {row}: line {lines + 1}: {form.what}" in found["error"]
    assert found["rows"] == row
    assert found["len"] == row + 2
    # Of text that many rows are held, two numbers each.
    assert found["grown"] < (BLANKS if kind == "txt" else BLANKS // 2)


# Memory.


def write_giant(path: Path, size: int) -> None:
    """Five rows, one whose text has `size` bytes, and one more."""
    texts = ["a"] * 5 + ["x" * size, "b"]
    forms: dict[str, Callable[[], str]] = {
        "jsonl": lambda: "".join(json.dumps({"text": text}) + "\n" for text in texts),
        "json": lambda: json.dumps([{"text": text} for text in texts], indent=1),
        "csv": lambda: "text,n\n" + "".join(f"{text},1\n" for text in texts),
        "txt": lambda: "\n".join(texts),
    }
    with compress(path) as file:
        file.write(forms[path.name.split(".")[1]]().encode())


def little_memory(folder: Path, path: Path, way: str, megabytes: int) -> list[str]:
    arguments = (folder, path, way, megabytes)
    return run_python(LITTLE_MEMORY, *arguments, timeout=120).stdout.splitlines()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("way", ["rows", "load"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "txt"])
def test_a_line_larger_than_the_memory(tmp_path: Path, kind: str, suffix: str, way: str) -> None:
    path = tmp_path / f"a.{kind}{suffix}"
    write_giant(path, 60 * MEGABYTE)
    *errors, after = little_memory(tmp_path, path, way, 40)
    assert len(errors) == 2
    for error in errors:
        assert error.startswith(f"MemoryError: {path} row 5 (or one after it): "), error
    assert after == "small True"


def test_no_limit_of_memory_ends_the_process(tmp_path: Path) -> None:
    """Wherever it runs out: reading the line, parsing it, keeping its text, or handing it out."""
    path = tmp_path / "a.jsonl"
    write_giant(path, 20 * MEGABYTE)
    ends = set()
    # Around 300 MB the text is parsed, and there is hardly room for Python's copy of it.
    for megabytes in (8, 22, 40, 55, 70, 100, 150, 210, *range(276, 324, 6), 400):
        *said, after = little_memory(tmp_path, path, "rows", megabytes)
        assert after == "small True"
        for line in said:
            assert line == "gave 7" or line.startswith(f"MemoryError: {path} row 5 "), line
        ends |= {line.split(": ")[-1] for line in said}
    assert len(ends) > 1, ends
