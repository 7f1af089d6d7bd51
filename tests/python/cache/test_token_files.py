"""Token files beside a literal reader of the page that describes them."""

from pathlib import Path

import pyarrow as pa
from token_file_reader import read_token_file

GOLDEN = Path(__file__).resolve().parents[2] / "data/golden/token_file_version_1.data"

COLUMNS = {
    "c0": (pa.list_(pa.int32()), [[1, 2, 65535], [], [4]]),
    "c1": (pa.list_(pa.int32()), [[-100, 2, 65535], [], [4]]),
    "c2": (pa.list_(pa.int8()), [[1, 1, 1], [], [1]]),
    "c3": (pa.large_list(pa.int64()), [[1, None, 5_000_000_000], None, [4]]),
    "c4": (pa.list_(pa.int64()), [[-100], [-100, 7], None]),
    "c5": (pa.utf8(), ["a", None, "b"]),
    "c6": (pa.dictionary(pa.int8(), pa.utf8()), ["x", "x", None]),
    "c7": (pa.struct([("a", pa.float64())]), [{"a": 1.5}, None, {"a": None}]),
}


def test_a_file_of_version_1_is_what_the_page_says() -> None:
    expected = pa.record_batch(
        {name: pa.array(values, kind) for name, (kind, values) in COLUMNS.items()}
    )
    first, second = read_token_file(GOLDEN)
    assert first.rows.equals(expected, check_metadata=True)
    assert second.rows.equals(expected.slice(1, 1), check_metadata=True)
    assert (first.tokens, first.facts, first.notes) == (4, b"facts", b"no\0tes")
    assert (second.tokens, second.facts, second.notes) == (0, b"", b"")
    assert first.plan == second.plan == bytes.fromhex(f"{1:016x}{2:016x}")
    assert [block.block.hex() for block in (first, second)] == [
        f"{2**64 - 1:016x}{0:016x}",
        f"{2**64 - 2:016x}{1:016x}",
    ]
    assert [column["way"] for column in first.columns] == [2, 1, 4, 1, 3, 0, 0, 0]
    # Three columns have their offsets in common.
    assert len({column["offsets"] for column in first.columns[:3]}) == 1
    assert {part["codec"] for part in first.parts} == {0, 3}
