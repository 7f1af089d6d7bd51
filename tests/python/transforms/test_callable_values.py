"""What callables return is kept as json.dumps writes it, and typed as a file of it would be."""

import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from easydata.execution.save import save_dataset
from easydata.sources import wrap_hf_dataset

from easydata import AsyncDataLoader

Row = dict[str, Any]


def lines_of(rows: list[Row], folder: Path) -> list[str]:
    """The rows as a stream has them behind a callable, one JSON text each."""
    source = wrap_hf_dataset([{"i": i} for i in range(len(rows))]).map(lambda row: rows[row["i"]])
    save_dataset(source, str(folder / "out"), format="jsonl")
    (file,) = (folder / "out").glob("*.jsonl")
    return file.read_text(encoding="utf-8").splitlines()


def dumped(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def test_floats_are_written_as_repr_has_them(tmp_path: Path) -> None:
    draw = random.Random(7)
    floats = [0.0, -0.0, 1.0, 0.1, 1e15, 1e16, 1e17, 123456789012345.6, 9007199254740993.0]
    floats += [0.0001, 0.00001, 1.5e-5, -12345.678, 5e-324, 1.7976931348623157e308, 2**-44, 1e22]
    floats += [9999999999999998.0, float("nan"), float("inf"), float("-inf")]
    floats += [struct.unpack("d", draw.randbytes(8))[0] for _ in range(20_000)]
    floats += [draw.uniform(-1, 1) * 10.0 ** draw.randint(-8, 20) for _ in range(20_000)]
    floats += [draw.randint(0, 10**17) / 10 ** draw.randint(0, 12) for _ in range(20_000)]
    rows = [{"x": number} for number in floats]
    # JSON has no NaN and no infinities.
    finite = [{"x": number if math.isfinite(number) else None} for number in floats]
    assert lines_of(rows, tmp_path) == [dumped(row) for row in finite]


def test_texts_are_written_with_the_same_escapes(tmp_path: Path) -> None:
    marks = ['"', "\\", "\n", "\x00", "\x1f", " ", "!", "[", "]", "\x7f", "é", "日", "😀", "a"]
    draw = random.Random(8)
    texts = ["".join(draw.choices(marks, k=draw.randint(0, 40))) for _ in range(3000)]
    texts += ["x" * before + mark + "x" * 9 for mark in marks for before in range(18)]
    rows = [{"text": text, text: 1} for text in texts]
    for line, row in zip(lines_of(rows, tmp_path), rows, strict=True):
        assert json.loads(line) == row
        # Python has no short form of some control characters that we have none of either.
        assert line == dumped(row).replace("\\b", "\\u0008").replace("\\f", "\\u000c")


def test_all_other_values(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    rows: list[Row] = [
        {},
        {"a": None, "b": True, "c": False},
        {"n": [0, -1, 2**31, -(2**63), 2**63 - 1, 2**63, -(2**70), 10**40]},
        {"nested": {"a": [{"b": [None, {}]}], "": []}},
        {"deep": deep},
        {"mixed": [1, "a", 2.5, None, [1]]},
    ]
    assert lines_of(rows, tmp_path) == [dumped(row) for row in rows]


def test_values_of_numpy_and_tuples(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"a": np.int64(7), "b": np.float32(0.5), "c": np.bool_(True), "d": np.float64(0.1)},
        {"t": (1, ("a", None)), "n": np.arange(3), "m": np.eye(2)},
    ]
    assert lines_of(rows, tmp_path) == [
        '{"a":7,"b":0.5,"c":true,"d":0.1}',
        '{"t":[1,["a",null]],"n":[0,1,2],"m":[[1.0,0.0],[0.0,1.0]]}',
    ]


@pytest.mark.parametrize("rows_of_a_piece", [3, 200])
def test_a_step_has_the_types_of_its_rows(rows_of_a_piece: int) -> None:
    """However many pieces its rows come from."""

    def made(row: Row) -> Row:
        i = row["i"]
        out: Row = {"i": i, "x": i if i % 3 else i / 2, "flag": i % 2 == 0, "ids": [i] * 4}
        return out if i % 5 else {**out, "sometimes": f"é{i}"}

    count = rows_of_a_piece
    source = wrap_hf_dataset([{"i": i} for i in range(count)]).map(made)
    with AsyncDataLoader(source, count) as loader:
        (batch,) = list(loader)
    expected = [made({"i": i}) for i in range(count)]
    assert batch["i"].dtype == np.int64
    assert batch["x"].dtype == np.float64
    assert batch["x"].tolist() == [float(row["x"]) for row in expected]
    assert batch["flag"].tolist() == [row["flag"] for row in expected]
    assert batch["ids"].tolist() == [row["ids"] for row in expected]
    assert list(batch["sometimes"]) == [row.get("sometimes") for row in expected]


def test_special_numbers_are_typed(tmp_path: Path) -> None:
    values = [float("nan"), float("inf"), 1, 2.5]
    source = wrap_hf_dataset([{"i": i} for i in range(100)]).map(
        lambda row: {"x": values[row["i"] % 4], "list": [values[row["i"] % 4], 0.5]}
    )
    with AsyncDataLoader(source, 100) as loader:
        (batch,) = list(loader)
    np.testing.assert_array_equal(batch["x"], [float(values[i % 4]) for i in range(100)])
    np.testing.assert_array_equal(batch["list"][:, 0], [float(values[i % 4]) for i in range(100)])
    save_dataset(source, str(tmp_path / "out"))
    (file,) = (tmp_path / "out").glob("*.parquet")
    np.testing.assert_array_equal(pq.read_table(file)["x"].to_numpy(), batch["x"])


def test_a_value_that_does_not_fit_names_its_row(tmp_path: Path) -> None:
    rows = [{"x": i} for i in range(1500)]

    def made(row: Row) -> Row:
        return {"x": "text"} if row["x"] == 1300 else row

    with pytest.raises(TypeError, match=r"row 1300.*'x' is int64 in this output"):
        save_dataset(wrap_hf_dataset(rows).map(made), str(tmp_path / "out"))


def test_a_dict_that_is_returned_again_and_again_is_kept_as_it_was() -> None:
    kept: Row = {}

    def made(row: Row) -> Row:
        kept.update(row)
        return kept

    with AsyncDataLoader(wrap_hf_dataset([{"i": i} for i in range(300)]).map(made), 300) as loader:
        (batch,) = list(loader)
    assert batch["i"].tolist() == list(range(300))
