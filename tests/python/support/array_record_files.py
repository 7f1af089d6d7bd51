"""Files that the package array_record writes and reads."""

from pathlib import Path

import pytest

array_record = pytest.importorskip("array_record.python.array_record_module")


def write(path: Path, records: list[bytes], options: str = "") -> Path:
    """Writes a file with the package's writer."""
    writer = array_record.ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def some(count: int) -> list[bytes]:
    """Records of all sizes, around those of blocks and codes."""
    sizes = [0, 1, 5, 17, 100, 255, 4000, 70_000, 65_536, 65_472, 24, 3]
    return [bytes((131 * i + j) & 255 for j in range(sizes[i % len(sizes)])) for i in range(count)]


def theirs(path: Path) -> list[bytes]:
    """The records of a file, read by the package."""
    reader = array_record.ArrayRecordReader(str(path))
    try:
        return list(reader.read_all()) if reader.num_records() else []
    finally:
        reader.close()
