"""`easydata.verify` and `easydata verify`: what is damaged is named, what is intact is not."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.cli.app import run
from easydata.sources import JsonShardedSource
from small_tokenizer import small_tokenizer

from easydata import Tokenizer, save_dataset, verify

ROWS = 900


def rows() -> list[dict[str, Any]]:
    draw = random.Random(1)
    return [{"input_ids": [i, i + 1, 7], "text": draw.randbytes(20).hex()} for i in range(ROWS)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return path


@pytest.fixture(params=["parquet", "arrow", "jsonl", "jsonl.zstd"])
def output(request: pytest.FixtureRequest, data: Path, tmp_path: Path) -> Path:
    out = tmp_path / "out"
    form, _, codec = request.param.partition(".")
    save_dataset(JsonShardedSource(data), out, form, "2KB", compression=codec or None)
    assert len(list(out.glob("shard-*"))) > 2
    return out


def test_intact_output(output: Path) -> None:
    report = verify(output)
    assert report.ok, report.damaged
    shards = sorted(str(path) for path in output.glob("shard-*"))
    assert [file.path for file in report.files] == shards
    assert all(file.recorded for file in report.files)
    assert sum(file.rows for file in report.files) == ROWS
    assert sum(file.tokens for file in report.files) == 3 * ROWS
    assert [file.bytes for file in report.files] == [Path(path).stat().st_size for path in shards]


def test_every_flipped_bit_is_found(output: Path) -> None:
    draw = random.Random(5)
    for path in sorted(output.glob("shard-*"))[:3]:
        whole = path.read_bytes()
        for _ in range(20):
            broken = bytearray(whole)
            broken[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
            path.write_bytes(broken)
            (file,) = verify(output).damaged
            assert file.path == str(path)
            assert "XXH3" in file.problem
        path.write_bytes(whole)
    assert verify(output).ok


def damaged_output(output: Path, change: Callable[[Path], object]) -> list[tuple[str, str]]:
    change(output)
    return [(Path(file.path).name, file.problem) for file in verify(output).damaged]


def test_missing_cut_and_foreign_files_are_found(output: Path) -> None:
    first, second = sorted(output.glob("shard-*"))[:2]
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1])
    shutil.copy(sorted(output.glob("shard-*"))[-1], output / f"extra{''.join(first.suffixes)}")
    found = {Path(file.path).name: file.problem for file in verify(output).damaged}
    assert set(found) == {first.name, second.name, f"extra{''.join(first.suffixes)}"}
    assert "cannot open" in found[first.name]
    assert f"has {second.stat().st_size} bytes" in found[second.name]
    assert "not part of the output" in found[f"extra{''.join(first.suffixes)}"]


def edit(output: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = output / ".metadata.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m["shards"][0].update(rows=1), "rows, where its metadata says 1"),
        (lambda m: m["shards"][0].update(tokens=1), "tokens, where its metadata says 1"),
        (lambda m: m["shards"][0].update(bytes=1), "bytes, where its metadata says 1"),
        (lambda m: m["shards"][0].update(xxh3="0" * 16), "metadata says 0000000000000000"),
        (lambda m: m.update(columns={"text": "string"}), "its columns are"),
    ],
)
def test_what_the_metadata_says_is_compared(
    output: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    edit(output, change)
    free = "__row__" in json.loads((output / ".metadata.json").read_text())["columns"]
    if free and "tokens" in said:
        assert verify(output).ok  # rows of any form: their tokens are not counted
    else:
        assert said in verify(output).damaged[0].problem


@pytest.mark.parametrize("name", ["../rows.jsonl", "/etc/passwd", "sub/a.parquet", "..", ""])
def test_names_that_lead_elsewhere_are_refused(output: Path, name: str) -> None:
    edit(output, lambda values: values["shards"][0].update(name=name))
    (file,) = [f for f in verify(output).damaged if f.path.endswith(".metadata.json")]
    assert "shards" in file.problem or "name" in file.problem
    assert not any("rows.jsonl" in f.path or "passwd" in f.path for f in verify(output).files)


def test_unfinished_output_is_no_whole_one(output: Path) -> None:
    (output / ".metadata.json").unlink()
    (output / ".easydata").mkdir()
    (file,) = verify(output).damaged
    assert file.path == str(output / ".easydata")
    assert "not finished" in file.problem


def test_output_that_was_stopped_at_the_very_end_is_whole(output: Path) -> None:
    (output / ".easydata").mkdir()
    assert verify(output).ok
    (output / ".easydata" / "progress.jsonl").write_text("")
    assert [file.path for file in verify(output).damaged] == [str(output / ".easydata")]


def test_ids_are_below_the_vocabulary(output: Path) -> None:
    assert verify(output, vocab_size=ROWS + 1).ok
    damaged = verify(output, vocab_size=ROWS).damaged
    assert [file.path for file in damaged] == [str(sorted(output.glob("shard-*"))[-1])]
    assert f"the id {ROWS}" in damaged[0].problem


@pytest.mark.parametrize("hole", [0, 1000])
def test_metadata_tells_where_the_vocabulary_ends(data: Path, tmp_path: Path, hole: int) -> None:
    """Also where ids have holes: the size of the vocabulary is not where it ends."""
    tokenizer = small_tokenizer(tmp_path / "tokenizer")
    path = tmp_path / "tokenizer" / "tokenizer.json"
    file = json.loads(path.read_text())
    file["model"]["vocab"]["0"] += hole * 4
    path.write_text(json.dumps(file))
    known = Tokenizer(tokenizer)
    assert known.id_limit == (4000 + ord("0") + 1 if hole else 257)
    assert known.vocab_size == 257
    assert (
        run(
            ["tokenize", str(data), "--tokenizer", tokenizer, "--output-dir", str(tmp_path / "out")]
        )
        == 0
    )
    out = tmp_path / "out"
    values = json.loads((out / ".metadata.json").read_text())
    assert [each["id_limit"] for each in values["tokenizers"]] == [known.id_limit]
    assert verify(out).ok
    assert verify(out, tokenizer=tokenizer).ok
    highest = max(
        max(row) for p in out.glob("*.parquet") for row in pq.read_table(p)["input_ids"].to_pylist()
    )
    edit(out, lambda m: m["tokenizers"][0].update(id_limit=highest))
    (damaged,) = verify(out).damaged
    assert f"the id {highest} " in damaged.problem
    edit(out, lambda m: m["tokenizers"][0].update(id_limit=None))
    assert verify(out).ok


def test_files_without_metadata(tmp_path: Path) -> None:
    """Schema and ids alone; a `metadata.json` of the user's says nothing of them."""
    (tmp_path / "metadata.json").write_text('{"shards": [{"name": "a.parquet", "rows": 99}]}')
    for name in "abc":
        pq.write_table(pa.table({"input_ids": [[1, 2], [3]]}), tmp_path / f"{name}.parquet")
    report = verify(tmp_path)
    assert report.ok
    assert [file.rows for file in report.files] == [2, 2, 2]
    assert not any(file.recorded for file in report.files)
    pq.write_table(pa.table({"input_ids": [[1, -2]]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"ids": [[1]]}), tmp_path / "c.parquet")
    found = [(Path(file.path).name, file.problem) for file in verify(tmp_path).damaged]
    assert [name for name, _ in found] == ["b.parquet", "c.parquet"]
    assert "the id -2" in found[0][1]
    assert "a.parquet beside it has input_ids" in found[1][1]


def test_a_file_of_no_known_format(tmp_path: Path) -> None:
    """Read as it is, it would be text; named by itself, it is an error of that file."""
    path = tmp_path / "a.weights"
    path.write_text("one\ntwo\n")
    (file,) = verify(path).damaged
    assert file.path == str(path)
    assert "its name tells no format" in file.problem
    assert file.rows == 0


def test_several_outputs_and_files_at_once(data: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_dataset(JsonShardedSource(data), tmp_path / "all" / name, "parquet", "2KB")
    report = verify(tmp_path / "all", num_threads=3)
    assert report.ok
    assert sum(file.rows for file in report.files) == 2 * ROWS
    assert all(file.recorded for file in report.files)
    (tmp_path / "all" / "two" / "shard-00001.parquet").write_bytes(b"")
    assert [
        Path(file.path).name for file in verify(str(tmp_path / "all" / "*" / "*.parquet")).damaged
    ]
    several = verify([tmp_path / "all" / "one", tmp_path / "all" / "two" / "shard-00000.parquet"])
    assert several.ok
    assert sum(file.rows for file in several.files) > ROWS


def test_nothing_to_verify_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no data files match"):
        verify(tmp_path / "none")
    with pytest.raises(ValueError, match="name a folder or files"):
        verify([])


def test_command_line(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(output)]) == 0
    assert "all intact" in capsys.readouterr().out
    shard = sorted(output.glob("shard-*"))[0]
    shard.write_bytes(shard.read_bytes()[:-1])
    assert run(["verify", str(output)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{shard}: it has {shard.stat().st_size} bytes")
    assert said[-1].endswith("1 damaged")
    assert run(["verify", str(output), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"]
    assert [file["path"] for file in found["files"] if file["problem"]] == [str(shard)]
