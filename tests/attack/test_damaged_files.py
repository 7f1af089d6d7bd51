"""Damaged files: the rows that the reference reader gives, or an error; no crash, no other row."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.sources import ArrowShardedSource, ParquetShardedSource
from read_damaged import FORMATS

SCRIPT = Path(__file__).with_name("read_damaged.py")
CASES = 60  # times --rounds

# Where EasyData takes what the reference reader refuses, and why that is right.
TAKEN = {
    # Zero bytes behind a member are padding (of tapes and disks); so says gzip(1).
    "gzip": "padding",
}


def attack(name: str, first: int, count: int) -> tuple[list[tuple[int, str, str]], list[str]]:
    """The verdicts of the cases, and what ended the process or hung."""
    verdicts: list[tuple[int, str, str]] = []
    crashes = []
    end = first + count
    while first < end:
        command = [sys.executable, str(SCRIPT), name, str(first), str(end - first)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=60 + count, check=False
            )
            output, how, said = done.stdout, f"exit status {done.returncode}", done.stderr
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode()
            how, said = "a hang", ""
        lines = output.splitlines()
        verdicts += [tuple(json.loads(x.removeprefix("result "))) for x in lines if x[0] == "r"]
        if how == "exit status 0":
            break
        case, _, step = lines[-1].partition(" ") if lines else (str(first), "", "start")
        if step == "reference":
            verdicts.append((int(case), "the reference reader crashed", ""))
        else:
            crashes.append(f"case {case} ({step}): {how} {said[-500:]}")
            if len(crashes) > 20:
                break
        first = int(case) + 1
    return verdicts, crashes


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(name: str, rounds: int) -> None:
    verdicts, crashes = attack(name, 0, CASES * rounds)
    counts = Counter(verdict.split(":")[0] for _, verdict, _ in verdicts)
    print(f"\n{name}: {dict(counts)}, {len(crashes)} crashes")
    assert crashes == []
    wrong = [case for case in verdicts if case[1].startswith("wrong")]
    assert wrong == []
    laxer = [case for case in verdicts if case[1].startswith("laxer")]
    assert laxer == []
    assert len(verdicts) == CASES * rounds
    # The damages did something.
    assert counts["refused"] > CASES * rounds // 4


def test_a_column_with_more_rows_than_the_others(tmp_path: Path) -> None:
    """One flipped bit makes two lists of one."""
    path = tmp_path / "a.parquet"
    rows = 60
    lists = [[i, i + 1, i + 2] for i in range(rows)]
    table = pa.table({"n": range(rows), "ids": pa.array(lists, pa.list_(pa.int32()))})
    options = {"compression": "none", "use_dictionary": False, "data_page_size": 1 << 30}
    pq.write_table(table, path, row_group_size=rows, **options)
    whole = path.read_bytes()
    start = pq.read_metadata(path).row_group(0).column(1).data_page_offset
    found = 0
    for offset in range(start, start + 120):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[offset] ^= 1 << bit
            path.write_bytes(flipped)
            try:
                expected = sum(pq.ParquetFile(path).read_row_group(0)["n"].to_pylist())
            except (OSError, pa.ArrowException) as error:
                lengths = re.search(r"expected length (\d+) but got length (\d+)", str(error))
                found += lengths is not None and int(lengths[2]) > int(lengths[1])
                with pytest.raises(OSError, match=r"a\.parquet.*: row group 0 cannot be read"):
                    list(ParquetShardedSource(path).iter_shards())
            else:
                assert sum(row["n"] for row in ParquetShardedSource(path).iter_shards()) == expected
            if found == 3:
                return
    raise AssertionError("no flipped bit gave a column another number of rows")


def test_a_name_with_nul(tmp_path: Path) -> None:
    inner = pa.struct([("a\0b", pa.float16())])
    table = pa.table({"x": pa.array([[{"a\0b": 1.0}]], pa.list_(inner))})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match=r"a\.arrow has a field whose name has a NUL"):
        list(ArrowShardedSource(tmp_path / "a.arrow").iter_shards())
