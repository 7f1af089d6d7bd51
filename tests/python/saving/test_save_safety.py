"""Writing never loses what was there, and goes on with what it wrote only where that is sound."""

import json
import logging
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.cli import main
from easydata.core.config import ConfigError
from easydata.execution.progress import Progress
from programs import run_python
from python_rows import Rows
from small_data import jsonl

import easydata
from easydata import (
    BaseStage,
    JsonShardedSource,
    Pipeline,
    SaveStageConfig,
    WriteStats,
    save_dataset,
    save_iterator,
)

Json = dict[str, Any]


def words(folder: Path) -> str:
    """The folder of a tokenizer of three words."""
    folder.mkdir(parents=True)
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"}
    file = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "truncation": None,
        "padding": None,
        "model": model,
    }
    (folder / "tokenizer.json").write_text(json.dumps(file))
    return str(folder)


def texts(path: Path, rows: int, first: int = 0) -> str:
    random.seed(first)
    made = [{"text": " ".join(random.choices("ab", k=30)), "n": first + i} for i in range(rows)]
    return jsonl(str(path), made)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; what is a link is told as such."""
    return {
        str(path.relative_to(folder)): b"->" + os.readlink(path).encode()
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def shards(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(folder).items() if name.startswith("shard-")}


def metadata(folder: Path) -> Json:
    read: Json = json.loads((folder / ".metadata.json").read_text())
    return read


class StopError(Exception):
    """What stops a job in a test."""


def rows_that_stop(count: int, at: int | None = None) -> Rows:
    def stop(number: int) -> None:
        if number == at:
            raise StopError

    return Rows([{"input_ids": [i] * 50, "n": i} for i in range(count)], stop)


def interrupted(folder: Path, **options: Any) -> None:
    """Some shards of a job of 6,000 rows, and what is needed to go on."""
    with pytest.raises(StopError):
        save_dataset(
            rows_that_stop(6000, 4500), folder, max_shard_size="5KB", num_threads=1, **options
        )
    assert len(shards(folder)) >= 3


def finish(folder: Path, **options: Any) -> WriteStats:
    return save_dataset(rows_that_stop(6000), folder, max_shard_size="5KB", **options)


# A1


def test_inputs_in_the_output_folder_are_never_deleted(tmp_path: Path) -> None:  # A1
    folder = tmp_path / "ow"
    texts(folder / "a.jsonl", 20)
    texts(folder / "b.jsonl", 20)
    (folder / "notes.csv").write_text("x,y\n1,2\n")
    before = contents(folder)
    tokenizer = words(tmp_path / "words")
    command = ["tokenize", str(folder / "*.jsonl"), "--tokenizer", tokenizer]
    for overwrite in ([], ["--overwrite"]):
        assert main([*command, "--output-dir", str(folder), *overwrite]) == 1
        assert contents(folder) == before
    for overwrite in (False, True):
        pipeline = Pipeline.from_config(
            {
                "datasets": [{"data_files": str(folder / "*.jsonl"), "tokenizer": tokenizer}],
                "save": {"output_dir": str(folder), "overwrite": overwrite},
            }
        )
        with pytest.raises(ValueError, match=r"a\.jsonl, which is read, lies in the output folder"):
            pipeline.source().tokenize().save()
        assert contents(folder) == before


def test_inputs_are_seen_through_links_and_relative_paths(  # A1
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "real" / "out"
    save_dataset(JsonShardedSource(texts(tmp_path / "in.jsonl", 50)), out, "jsonl")
    before = contents(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file.jsonl").symlink_to(out / "shard-00000.jsonl")
    ways = [
        ("real/out/shard-00000.jsonl", "real/out"),
        ("link/out/shard-00000.jsonl", str(out)),
        (str(out / "shard-00000.jsonl"), "link/out/"),
        ("real/../real/./out/shard-00000.jsonl", "link/../link/out"),
        ("file.jsonl", "real/out"),
        (str(out / "shard-00000.jsonl"), "real"),
    ]
    for read, write in ways:
        source = JsonShardedSource(read)
        with pytest.raises(ValueError, match="lies in the output folder"):
            save_dataset(source, write, "jsonl", overwrite=True)
    mixed = easydata.MixedShardedSource(
        {"x": JsonShardedSource("in.jsonl"), "y": JsonShardedSource("link/out")},
        stop_strategy="first_exhausted",
    )
    with pytest.raises(ValueError, match="lies in the output folder"):
        save_dataset(mixed, out, "jsonl", overwrite=True)
    (tmp_path / "link").unlink()
    (tmp_path / "file.jsonl").unlink()
    assert contents(tmp_path) == before
    # A link in the output folder to a file elsewhere is read from there, too.
    (out / "more.jsonl").symlink_to(tmp_path / "in.jsonl")
    with pytest.raises(ValueError, match="lies in the output folder"):
        save_dataset(JsonShardedSource(str(out / "more.jsonl")), out, "jsonl", overwrite=True)
    # A folder whose name begins alike is another one.
    assert save_dataset(JsonShardedSource("in.jsonl"), tmp_path / "in", "jsonl").num_examples == 50


@pytest.mark.parametrize("name", ["b.csv", "b.jsonl", "b.parquet", "shard-00007.parquet", "x.txt"])
def test_foreign_files_stop_an_overwrite_by_name(tmp_path: Path, name: str) -> None:  # A1
    out = tmp_path / "out"
    save_dataset(rows_that_stop(100), out)
    (out / name).write_text("mine")
    before = contents(out)
    with pytest.raises(FileExistsError, match=name):
        save_dataset(rows_that_stop(200), out, overwrite=True)
    assert contents(out) == before
    (out / name).unlink()
    assert save_dataset(rows_that_stop(200), out, overwrite=True).num_examples == 200


def test_overwriting_deletes_what_the_metadata_names(tmp_path: Path) -> None:  # A1
    out = tmp_path / "out"
    assert save_dataset(rows_that_stop(3000), out, max_shard_size="5KB").num_shards > 2
    stats = save_dataset(rows_that_stop(10), out, "jsonl", overwrite=True)
    assert sorted(os.listdir(out)) == [".metadata.json", "shard-00000.jsonl"]
    assert stats.num_examples == 10


# One that looks like ours is the user's, too.
OURS = '{"kind": "easydata.output", "metadata_version": 1, "shards": []}'


@pytest.mark.parametrize(
    "text", ['{"version": "1.0", "shards": [{"name": "x"}]}', "no JSON", "{}", OURS]
)
def test_metadata_of_the_user_is_left_alone(tmp_path: Path, text: str) -> None:  # A1
    out = tmp_path / "out"
    out.mkdir()
    (out / "metadata.json").write_text(text)
    for rows in (3000, 10):
        save_dataset(rows_that_stop(rows), out, max_shard_size="5KB", overwrite=True)
        assert metadata(out)["num_examples"] == rows
        assert (out / "metadata.json").read_text() == text
    with pytest.raises(FileExistsError, match="finished output"):
        save_dataset(rows_that_stop(10), out)
    # Nor does it stop an interrupted job.
    (tmp_path / "other").mkdir()
    interrupted(tmp_path / "other")
    (tmp_path / "other" / "metadata.json").write_text(text)
    assert finish(tmp_path / "other").kept_shards > 2
    assert (tmp_path / "other" / "metadata.json").read_text() == text


@pytest.mark.parametrize("name", ["../precious", "/ABSOLUTE", "link", "folder", "..", ""])
def test_metadata_that_names_files_elsewhere_is_refused(tmp_path: Path, name: str) -> None:  # A1
    out = tmp_path / "out"
    save_dataset(rows_that_stop(100), out)
    (tmp_path / "precious").write_text("years of work")
    (out / "link").symlink_to(tmp_path / "precious")
    (out / "folder").mkdir()
    values = metadata(out)
    shard = {**values["shards"][0], "name": name.replace("/ABSOLUTE", str(tmp_path / "precious"))}
    values["shards"].append(shard)
    (out / ".metadata.json").write_text(json.dumps(values))
    before = contents(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=r".metadata.json is damaged: shards\[1\]|link|folder"):
            save_dataset(rows_that_stop(10), out, overwrite=overwrite)
    assert contents(tmp_path) == before


# C3, A13: the metadata


def test_metadata_tells_where_the_rows_came_from(tmp_path: Path) -> None:  # C3, A13
    tokenizer = words(tmp_path / "words")
    data = jsonl(
        str(tmp_path / "in.jsonl"),
        [{"text": "a b a"}] * 5 + [{"other": 1}] * 3 + [{"text": "b"}] * 2,
    )
    config = {
        "datasets": [{"data_files": data, "tokenizer": tokenizer, "on_error": "skip"}],
        "save": {"output_dir": str(tmp_path / "out")},
    }
    written = Pipeline.from_config(config).source().tokenize().save().build()
    (stats,) = written.values()
    assert stats.num_examples == 7
    assert stats.dropped == {"missing": 3}
    assert stats.kept_shards == 0
    said = metadata(tmp_path / "out")
    assert said["num_examples"] == 7
    assert said["num_tokens"] == 17
    assert said["dropped"] == {"missing": 3}
    nothing = dict.fromkeys(("eos_token_id", "bos_token_id", "pad_token_id"))
    assert said["tokenizers"] == [
        {
            "fingerprint": easydata.Tokenizer(tokenizer).fingerprint,
            "name": "words",
            "path": tokenizer,
            "id_limit": 3,
            "added": [],
            **nothing,
        }
    ]
    assert said["config"]["datasets"][0]["data_files"] == data
    assert said["config"]["save"]["output_dir"] == str(tmp_path / "out")
    assert said["time"].endswith("Z")
    assert said["easydata_version"] == easydata.__version__
    (shard,) = said["shards"]
    assert shard["rows"] == 7
    assert shard["tokens"] == 17
    assert shard["bytes"] == stats.total_bytes
    assert len(shard["xxh3"]) == 16
    # Without a config the options of the writer stand there.
    save_dataset(rows_that_stop(10), tmp_path / "rows", "jsonl", num_shards=2)
    said = metadata(tmp_path / "rows")
    assert said["config"]["num_shards"] == 2
    assert said["config"]["format"] == "jsonl"
    assert said["tokenizers"] == []
    assert said["dropped"] == {}


def test_others_read_the_folder(tmp_path: Path) -> None:  # C3
    import pyarrow.dataset

    save_dataset(rows_that_stop(3000), tmp_path / "out", max_shard_size="5KB")
    assert pq.read_table(tmp_path / "out").num_rows == 3000
    assert pyarrow.dataset.dataset(tmp_path / "out").count_rows() == 3000
    assert len(list(easydata.ParquetShardedSource(str(tmp_path / "out")))) == 3000


def test_rows_left_out_are_told_by_the_command_line(  # A13
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = jsonl(str(tmp_path / "in.jsonl"), [{"text": "a b"}] * 5 + [{"other": 1}] * 3)
    command = ["tokenize", data, "--tokenizer", words(tmp_path / "words"), "--on-error", "skip"]
    assert main([*command, "--output-dir", str(tmp_path / "out")]) == 0
    assert "3 rows left out (missing: 3)" in capsys.readouterr().out
    assert main([*command, "--output-dir", str(tmp_path / "more"), "--json"]) == 0
    (dataset,) = json.loads(capsys.readouterr().out)["datasets"].values()
    assert dataset["dropped"] == {"missing": 3}
    assert dataset["kept_shards"] == 0


def test_rows_left_out_before_an_interruption_count(tmp_path: Path) -> None:  # A13
    data = jsonl(
        str(tmp_path / "in.jsonl"),
        [{"n": i, "keep": "x" * 50 if i % 3 else ""} for i in range(30_000)],
    )

    class Stop:
        def __init__(self) -> None:
            self.seen = 0
            self.at: int | None = 25_000

        def __call__(self, row: Json) -> bool:
            self.seen += 1
            if self.seen == self.at:
                raise StopError
            return bool(row["keep"])

    def source(stop: Stop) -> Any:
        return JsonShardedSource(data).filter(stop)

    def keep_all(out: Path, stop: Stop) -> WriteStats:
        stop.seen = 0
        return save_dataset(source(stop), out, max_shard_size="10KB", num_threads=1)

    stop = Stop()
    with pytest.raises(StopError):
        keep_all(tmp_path / "out", stop)
    stop.at = None
    stats = keep_all(tmp_path / "out", stop)
    assert stats.kept_shards > 1
    assert stats.num_examples == 20_000
    assert sum(stats.dropped.values()) == 10_000
    whole = keep_all(tmp_path / "whole", stop)
    assert whole.dropped == stats.dropped
    assert shards(tmp_path / "out") == shards(tmp_path / "whole")
    assert metadata(tmp_path / "out")["dropped"] == stats.dropped


# A8, A11


def test_pages_have_checksums(tmp_path: Path) -> None:  # A8
    rows = [{"input_ids": [i % 997] * 300, "n": i, "s": f"text {i}"} for i in range(500)]
    for columns in (None, ["input_ids"]):
        out = tmp_path / f"out{len(columns or [])}"
        stats = save_dataset(Rows(rows), out, compression="none", columns=columns)
        (path,) = map(Path, stats.output_paths)
        assert pq.read_table(path, page_checksum_verification=True).num_rows == 500
        data = bytearray(path.read_bytes())
        footer = int.from_bytes(data[-8:-4], "little")
        found = 0
        for at in range(200, len(data) - footer - 8, 40_000):
            data[at] ^= 1
            path.write_bytes(data)
            try:
                pq.read_table(path, page_checksum_verification=True)
            except OSError:
                found += 1
            data[at] ^= 1
        assert found == len(range(200, len(data) - footer - 8, 40_000))


def test_a_shard_that_changed_is_written_again(  # A11, C5
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    finish(tmp_path / "whole")
    whole = shards(tmp_path / "whole")
    interrupted(out)
    there = sorted(shards(out))
    damaged = out / there[1]
    data = bytearray(damaged.read_bytes())
    data[100:200] = bytes(100)
    damaged.write_bytes(data)
    told: list[dict[str, int]] = []
    with caplog.at_level(logging.INFO, "easydata"):
        stats = finish(out, progress=told.append)
    assert stats.kept_shards == 1
    assert told[-1]["kept_shards"] == 1
    assert stats.num_examples == 6000
    assert shards(out) == whole
    said = caplog.text
    assert "1 finished shard of an earlier run is kept" in said
    assert f"{there[1]} is not what was written" in said
    assert f"{len(there) - 1} shards are written again" in said


def test_kept_shards_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:  # C5
    out = tmp_path / "out"
    interrupted(out)
    there = len(shards(out))
    with caplog.at_level(logging.INFO, "easydata"):
        stats = finish(out)
    assert stats.kept_shards == there
    assert f"{there} finished shards of an earlier run are kept" in caplog.text
    assert stats.num_examples == 6000


# A10


def progress_lines(folder: Path) -> list[Any]:
    text = (folder / ".easydata" / "progress.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def put_progress(folder: Path, lines: list[Any]) -> None:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    (folder / ".easydata" / "progress.jsonl").write_bytes(text.encode("utf-8", "surrogatepass"))


def set_skip(value: Any) -> Callable[[list[Any]], list[Any]]:
    def change(lines: list[Any]) -> list[Any]:
        lines[-1]["next"]["skip"] = value
        return lines

    return change


def set_shard(key: str, value: Any) -> Callable[[list[Any]], list[Any]]:
    def change(lines: list[Any]) -> list[Any]:
        lines[1]["shard"][key] = value
        return lines

    return change


DAMAGE: dict[str, Callable[[list[Any]], list[Any]]] = {
    "far": set_skip(10**15),
    "negative": set_skip(-5),
    "one more": lambda lines: set_skip(lines[-1]["next"]["skip"] + 1)(lines),
    "64 bits": set_skip(2**64 - 1),
    "more than 64 bits": set_skip(2**70),
    "text": set_skip("5"),
    "fraction": set_skip(1.5),
    "null": set_skip(None),
    "true": set_skip(True),
    "version alone": lambda lines: [{"version": 2}],
    "our version alone": lambda lines: [{"version": 1}],
    "another version": lambda lines: [{**lines[0], "version": 2}, *lines[1:]],
    "no version": lambda lines: [{}],
    "a list": lambda lines: [[1, 2]],
    "a number": lambda lines: [*lines[:2], "5"],
    "no JSON": lambda lines: [*lines[:2], "{'a'}"],
    "an empty line": lambda lines: [lines[0], "", *lines[1:]],
    "empty": lambda lines: [],
    "lone surrogate": lambda lines: [lines[0], '{"shard": "\\ud800"}'],
    "bytes of a surrogate": lambda lines: [lines[0], '{"shard": "\ud800"}'],
    "deep": lambda lines: [lines[0], "[" * 1_000_000],
    "name": set_shard("name", "../../x"),
    "another name": set_shard("name", "shard-00001.parquet"),
    "rows": set_shard("rows", 1),
    "negative rows": set_shard("rows", -1),
    "no hash": set_shard("xxh3", None),
    "swapped lines": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "a line twice": lambda lines: [*lines[:2], *lines[1:]],
    "a line less": lambda lines: [lines[0], *lines[2:]],
    "no cursor": lambda lines: [*lines[:-1], {**lines[-1], "next": {"skip": 0}}],
    "no position": lambda lines: [*lines[:-1], {**lines[-1], "next": None}],
    "a position of text": lambda lines: [*lines[:-1], {**lines[-1], "next": "x"}],
    "staged": lambda lines: [{**lines[0], "staged": 1}, *lines[1:]],
}


# So little is left of these that not all shards are named any more.
NAMELESS = {
    *("version alone", "our version alone", "no version", "a list", "empty", "a number"),
    *("no JSON", "lone surrogate", "bytes of a surrogate", "deep", "a line less"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_progress_is_refused_by_name(tmp_path: Path, name: str) -> None:  # A10
    out = tmp_path / "out"
    interrupted(out)
    put_progress(out, DAMAGE[name](progress_lines(out)))
    before = shards(out)
    with pytest.raises(
        ValueError, match=r"progress of an unfinished output.*overwrite=True.*progress\.jsonl"
    ):
        finish(out)
    assert shards(out) == before
    # Started over on request, where that deletes nothing but what is known to be ours.
    if name in NAMELESS:
        with pytest.raises(FileExistsError, match=r"shard-\d+\.parquet, which no output of ours"):
            finish(out, overwrite=True)
        assert shards(out) == before
        for shard in before:
            (out / shard).unlink()
    stats = finish(out, overwrite=True)
    assert stats.num_examples == 6000
    assert stats.kept_shards == 0
    assert sum(pq.read_table(out)["n"].to_pylist()) == 6000 * 5999 // 2


def test_every_flipped_byte_of_progress_is_found(tmp_path: Path) -> None:  # A10
    finish(tmp_path / "whole")
    whole = shards(tmp_path / "whole")
    out = tmp_path / "out"
    interrupted(out)
    saved = contents(out)
    path = ".easydata/progress.jsonl"
    generator = random.Random(3)
    size = len(saved[path])
    refused = []
    for at in (*generator.sample(range(size), 60), size - 1):
        for file, data in saved.items():
            (out / file).parent.mkdir(exist_ok=True, parents=True)
            (out / file).write_bytes(data)
        for file in set(contents(out)) - set(saved):
            (out / file).unlink()
        data = bytearray(saved[path])
        data[at] ^= 1 << generator.randrange(8)
        (out / path).write_bytes(data)
        try:
            finish(out)
        except (ValueError, OSError) as error:
            refused.append(str(error))
        else:  # the end of the last line: it counts as cut off
            assert shards(out) == whole
    assert len(refused) >= 55
    for said in refused:
        assert "progress" in said or "which no output of ours names" in said


# A12


def two_datasets(tmp_path: Path, stop_at: int | None = None, **save: Any) -> Pipeline:
    def stop(row: Json) -> Json:
        if row["n"] == stop_at:
            raise StopError
        return row

    names = {"a": 0, "b": 10_000}
    for name, first in names.items():
        if not (tmp_path / f"{name}.jsonl").exists():
            texts(tmp_path / f"{name}.jsonl", 3000, first)
    config = {
        "datasets": [
            {"data_files": str(tmp_path / f"{name}.jsonl"), "name": name, "format_callback": stop}
            for name in names
        ],
        "save": {"output_dir": str(tmp_path / "out"), "max_shard_size": "10KB", **save},
    }
    return Pipeline.from_config(config).source()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("stop_at", [10_000, 12_500])
def test_finished_datasets_of_the_same_plan_are_kept(  # A12
    tmp_path: Path, overwrite: bool, stop_at: int, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StopError):
        two_datasets(tmp_path, stop_at, overwrite=overwrite).save()
    first = contents(tmp_path / "out" / "a")
    assert ".metadata.json" in first
    with caplog.at_level(logging.INFO, "easydata"):
        written = two_datasets(tmp_path, overwrite=overwrite).save().build()
    assert contents(tmp_path / "out" / "a") == first, "its metadata is of the first run"
    assert written["a"].num_examples == 3000
    assert written["a"].kept_shards == written["a"].num_shards
    assert written["b"].num_examples == 3000
    assert written["b"].kept_shards == (0 if stop_at == 10_000 else written["b"].kept_shards)
    assert "'a' is finished and kept" in caplog.text
    for name, begin in (("a", 0), ("b", 10_000)):
        table = pq.read_table(tmp_path / "out" / name)
        assert table["n"].to_pylist() == list(range(begin, begin + 3000))
    # Finished as a whole, it is refused or made anew.
    if not overwrite:
        with pytest.raises(FileExistsError, match="finished output"):
            two_datasets(tmp_path).save()
    written = two_datasets(tmp_path, overwrite=True).save().build()
    assert [stats.kept_shards for stats in written.values()] == [0, 0]


def test_a_finished_dataset_of_another_plan_is_not_kept(tmp_path: Path) -> None:  # A12
    with pytest.raises(StopError):
        two_datasets(tmp_path, 10_000).save()
    before = contents(tmp_path / "out" / "a")
    texts(tmp_path / "a.jsonl", 3100)
    with pytest.raises(FileExistsError, match=r"out/a"):
        two_datasets(tmp_path).save()
    assert contents(tmp_path / "out" / "a") == before
    written = two_datasets(tmp_path, overwrite=True).save().build()
    assert written["a"].num_examples == 3100
    assert written["a"].kept_shards == 0


def test_a_finished_dataset_that_was_damaged_is_not_kept(tmp_path: Path) -> None:  # A12, A11
    with pytest.raises(StopError):
        two_datasets(tmp_path, 10_000).save()
    shard = tmp_path / "out" / "a" / "shard-00000.parquet"
    data = bytearray(shard.read_bytes())
    data[50] ^= 1
    shard.write_bytes(data)
    with pytest.raises(FileExistsError, match=r"shard-00000\.parquet"):
        two_datasets(tmp_path).save()
    written = two_datasets(tmp_path, overwrite=True).save().build()
    assert written["a"].kept_shards == 0
    assert pq.read_table(shard.parent)["n"].to_pylist() == list(range(3000))


def test_no_output_is_written_into_another(tmp_path: Path) -> None:  # A1, A12
    for paths in (["out/x", "out/x"], ["out", "out/x"], ["out/x/y", "out/x"]):
        config = {
            "datasets": [
                {
                    "data_files": texts(tmp_path / f"{i}.jsonl", 10),
                    "save_path": str(tmp_path / path),
                }
                for i, path in enumerate(paths)
            ],
            "save": {"overwrite": True},
        }
        with pytest.raises(ConfigError, match=r"datasets.*save_path"):
            Pipeline.from_config(config).source().save()
    assert not (tmp_path / "out").exists()
    # Nor does one dataset's output take the place of another's input.
    save_dataset(JsonShardedSource(texts(tmp_path / "in.jsonl", 10)), tmp_path / "old", "jsonl")
    before = contents(tmp_path / "old")
    config = {
        "datasets": [
            {"data_files": str(tmp_path / "in.jsonl"), "save_path": str(tmp_path / "old")},
            {"data_files": str(tmp_path / "old"), "type": "json"},
        ],
        "save": {"overwrite": True, "output_dir": str(tmp_path / "new"), "format": "jsonl"},
    }
    with pytest.raises(ValueError, match="lies in the output folder"):
        Pipeline.from_config(config).source().save()
    assert contents(tmp_path / "old") == before
    assert not (tmp_path / "new").exists()


# B6, B7


@pytest.mark.parametrize(
    "name", ["../x", "..", ".", "/ABSOLUTE", "a/b", "a\0b", ".easydata", "x/../../y"]
)
def test_names_of_datasets_are_no_paths(tmp_path: Path, name: str) -> None:  # B6
    name = name.replace("/ABSOLUTE", str(tmp_path / "elsewhere"))
    data = texts(tmp_path / "in" / "a.jsonl", 10)
    config = {
        "datasets": [{"data_files": data, "name": name}, {"data_files": data, "name": "fine"}],
        "save": {"output_dir": str(tmp_path / "in" / "deep" / "out")},
    }
    with pytest.raises(ConfigError, match="name"):
        Pipeline.from_config(config).source().save()
    assert set(contents(tmp_path)) == {"in/a.jsonl"}


def test_an_empty_name_is_no_folder(tmp_path: Path) -> None:  # B6
    data = texts(tmp_path / "a.jsonl", 10)
    config = {
        "datasets": [{"data_files": data, "name": ""}, {"data_files": data, "name": "fine"}],
        "save": {"output_dir": str(tmp_path / "out")},
    }
    with pytest.raises(ConfigError, match="name"):
        Pipeline.from_config(config).source().save()
    assert not (tmp_path / "out").exists()


def test_a_path_with_a_zero_byte_is_no_shorter_path(tmp_path: Path) -> None:  # B6
    with pytest.raises(ValueError, match=r"zero|null"):
        save_dataset(rows_that_stop(10), f"{tmp_path}/out\0put")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_working_folder_that_is_a_link_is_refused(tmp_path: Path, overwrite: bool) -> None:  # B7
    victim = tmp_path / "victim"
    victim.mkdir()
    for name in ("progress.jsonl", "thesis.tmp", "shard-00000.parquet.tmp", "lock"):
        (victim / name).write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".easydata").symlink_to(victim)
    before = contents(tmp_path)
    with pytest.raises(OSError, match=r"\.easydata.*symbolic link"):
        save_dataset(rows_that_stop(10), tmp_path / "out", overwrite=overwrite)
    assert contents(tmp_path) == before


def test_links_and_strangers_in_the_working_folder(tmp_path: Path) -> None:  # B7
    out = tmp_path / "out"
    interrupted(out)
    (tmp_path / "precious").write_text("years of work")
    work = out / ".easydata"
    progress = (work / "progress.jsonl").read_bytes()
    for name in ("lock", "progress.jsonl", "shard-00099.parquet.tmp"):
        (work / name).unlink(missing_ok=True)
        (work / name).symlink_to(tmp_path / "precious")
        for overwrite in (False, True):
            with pytest.raises((OSError, ValueError), match=r"\.easydata"):
                finish(out, overwrite=overwrite)
        assert (tmp_path / "precious").read_text() == "years of work"
        (work / name).unlink()
        (work / "progress.jsonl").write_bytes(progress)
    (work / "thesis.txt").write_text("mine")
    (work / "folder").mkdir()
    (work / "folder" / "x").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(OSError, match=r"\.easydata"):
            finish(out, overwrite=overwrite)
    assert (work / "thesis.txt").read_text() == "mine"
    assert (work / "folder" / "x").read_text() == "mine"
    (work / "thesis.txt").unlink()
    (work / "folder" / "x").unlink()
    (work / "folder").rmdir()
    assert finish(out).kept_shards > 2


# C5


class Filtering(BaseStage):
    """A stage that leaves a row out."""

    @property
    def name(self) -> str:
        return "filtering"

    def process(self, data: Any, context: Any) -> Any:
        return {
            name: each.filter(lambda row: row["text"] != "a b 3") for name, each in data.items()
        }


@pytest.mark.parametrize(
    ("form", "limit", "total"),
    [
        ("parquet", None, 70),
        ("parquet", 30, 30),
        ("parquet", 500, 70),
        ("memory", None, 70),
        ("jsonl", None, None),
        ("jsonl", 30, 30),
        ("filtered", None, None),
    ],
)
def test_progress_knows_how_many_rows_there_will_be(  # C5
    form: str, limit: int | None, total: int | None, tmp_path: Path
) -> None:
    rows = [{"text": f"a b {i}"} for i in range(70)]
    data: Any = rows
    if form in ("parquet", "filtered"):
        for part in range(2):
            table = pa.Table.from_pylist(rows[part::2])
            pq.write_table(table, tmp_path / f"{part}.parquet")
        data = str(tmp_path / "*.parquet")
    elif form == "jsonl":
        data = jsonl(str(tmp_path / "in.jsonl"), rows)
    config = {
        "datasets": [{"data_files": data, "num_rows": limit, "name": "a"}],
        "save": {"output_dir": str(tmp_path / "out")},
    }
    pipeline = Pipeline.from_config(config).source()
    if form == "filtered":
        pipeline.apply(Filtering())
    asked = []

    def progress(name: str, total: int | None) -> Progress:
        asked.append((name, total))
        return Progress(name, "none", total)

    pipeline.get_context().progress = progress
    pipeline.save().build()
    assert asked == [("a", total)]


@pytest.mark.parametrize("many", [False, True])
def test_an_interrupted_command_says_how_to_go_on(tmp_path: Path, many: bool) -> None:  # C5
    code = (
        "import os, signal, sys, threading, time\n"
        "from easydata.cli import main\n"
        "def stop():\n"
        "    while len([x for x in os.listdir(sys.argv[1]) if x.startswith('shard')]) < 3:\n"
        "        time.sleep(0.001)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "os.makedirs(sys.argv[1], exist_ok=True)\n"
        "threading.Thread(target=stop, daemon=True).start()\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )
    tokenizer = words(tmp_path / "words")
    data = [texts(tmp_path / "a.jsonl", 200_000)]
    config: Json = {"datasets": [{"data_files": data[0], "tokenizer": tokenizer, "name": "a"}]}
    watched = tmp_path / "out"
    if many:
        small = {"data_files": texts(tmp_path / "s.jsonl", 10), "tokenizer": tokenizer, "name": "s"}
        config["datasets"].insert(0, small)
        watched = watched / "a"
    (tmp_path / "p.json").write_text(json.dumps(config))
    command = ["tokenize", "--config", str(tmp_path / "p.json"), "--max-shard-size", "30KB"]
    command += ["--output-dir", str(tmp_path / "out")]
    done = run_python("-c", code, watched, *command, status=130)
    kept = len(shards(watched))
    assert kept >= 3
    assert f"run again to resume: {kept + many} shards are kept" in done.stderr
    assert "Traceback" not in done.stderr
    done = run_python("-m", "easydata.cli", *command)
    assert f"{kept} finished shards of an earlier run are kept" in done.stderr
    assert pq.read_table(watched).num_rows == 200_000


def test_an_iterator_never_goes_on_with_another(tmp_path: Path) -> None:  # A11
    out = tmp_path / "out"

    def rows(value: int, stop: int | None = None) -> Any:
        for i in range(3000):
            if i == stop:
                raise StopError
            yield {"n": value, "text": "x" * 50}

    with pytest.raises(StopError):
        save_iterator(rows(1, 2500), out, max_shard_size="5KB")
    assert not out.exists()
    stats = save_iterator(rows(2), out, max_shard_size="5KB")
    assert stats.kept_shards == 0
    assert set(pq.read_table(out)["n"].to_pylist()) == {2}
    with pytest.raises(FileExistsError):
        save_iterator(rows(3), out, max_shard_size="5KB")
    stats = save_iterator(rows(3), out, max_shard_size="5KB", overwrite=True)
    assert set(pq.read_table(out)["n"].to_pylist()) == {3}


def test_save_stage_config_has_the_same_manners(tmp_path: Path) -> None:  # A1
    data = texts(tmp_path / "in.jsonl", 10)
    options = SaveStageConfig(output_dir=str(tmp_path / "out"), overwrite=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.csv").write_text("mine")
    pipeline = Pipeline.from_config({"datasets": [{"data_files": data}]}).source()
    with pytest.raises(FileExistsError, match=r"b\.csv"):
        pipeline.save(options)
    assert (tmp_path / "out" / "b.csv").read_text() == "mine"


class EndsLate(Progress):
    """Is interrupted when it is told that all is written."""

    def __exit__(self, *error: object) -> None:
        raise KeyboardInterrupt


def test_an_interruption_after_the_end_says_that_all_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n' * 50)
    config = {
        "datasets": [{"data_files": str(tmp_path / "a.jsonl")}],
        "save": {"output_dir": str(tmp_path / "out")},
    }
    pipeline = easydata.Pipeline.from_config(config)
    pipeline.get_context().progress = lambda name, total: EndsLate(name, "none", total)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        pipeline.source().save().build()
    assert interrupted.value.__notes__ == [f"{tmp_path / 'out'} is written whole, before this"]
    assert len(list(easydata.ParquetShardedSource(str(tmp_path / "out")))) == 50
