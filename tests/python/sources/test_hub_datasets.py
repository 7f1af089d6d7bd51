"""Data sets of the Hub in sources, configs and pipelines: what the manual promises of them."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hub_server import HubServer
from test_hub_layouts import LAYOUTS, Files, card, csv, jsonl, numbered, parquet, rows_of

import easydata
from easydata import (
    DatasetConfig,
    HuggingFaceShardedSource,
    LoadStageConfig,
    Pipeline,
    PipelineConfig,
    create_source,
)

datasets = pytest.importorskip("datasets")

Row = dict[str, Any]


def made(hub: HubServer, files: Files) -> str:
    """A data set of these files."""
    hub.repo("datasets", "org/data", files)
    return "org/data"


def test_making_a_source_asks_nobody(hub_here: HubServer) -> None:
    source = HuggingFaceShardedSource("nobody/nothing", "test", "en")
    assert source.shard_names == ("nobody/nothing:test",)
    assert source.num_shards() == 1
    shown = "HuggingFaceShardedSource('nobody/nothing', split='test', subset='en')"
    assert repr(source) == shown
    with pytest.raises(TypeError, match="Streaming HuggingFace datasets don't support len"):
        len(source)
    assert list(hub_here.log) == []


def test_a_source_is_as_the_manual_says(hub_here: HubServer) -> None:
    name = made(hub_here, numbered("train", 3))
    expected = [row for i in range(3) for row in rows_of(f"train{i}")]
    source = HuggingFaceShardedSource(name)
    assert list(source.open_shard("whatever")) == expected
    assert list(source.open_shard(source.shard_names[0])) == expected
    for row in (1, 25, 26, 74, 75, 80):
        assert list(source.open_shard_at_row(source.shard_names[0], row)) == expected[row:]
    copied = pickle.loads(pickle.dumps(source))
    assert list(copied) == expected
    assert len(hub_here.listings) == 1


def test_what_is_not_streamed_is_downloaded_first(hub_here: HubServer, tmp_path: Path) -> None:
    name = made(hub_here, {**numbered("train", 2), **numbered("test", 1)})
    source = HuggingFaceShardedSource(name, streaming=False, cache_dir=str(tmp_path / "cache"))
    expected = [row for i in range(2) for row in rows_of(f"train{i}")]
    assert len(source) == 50
    kept = [path.name for path in (tmp_path / "cache").glob("*/snapshots/*/data/*")]
    assert sorted(kept) == ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]
    asked = len(hub_here.log)
    assert list(source) == expected
    assert len(hub_here.log) == asked, "all is read from the cache"
    streamed = HuggingFaceShardedSource(name, cache_dir=str(tmp_path / "cache"))
    assert list(streamed) == expected
    assert not [each for each in hub_here.log[asked:] if each.server == "cdn"]


def test_lines_in_zstd_are_read(hub_here: HubServer) -> None:
    packed = pa.compress(jsonl(rows_of("z")), codec="zstd", asbytes=True)
    name = made(hub_here, {"train.jsonl.zst": packed, "test.jsonl.zst": packed})
    assert list(HuggingFaceShardedSource(name, "test")) == rows_of("z")


def test_names_with_brackets_are_downloaded_too(hub_here: HubServer, tmp_path: Path) -> None:
    name = made(hub_here, {"train/a[0].jsonl": jsonl(rows_of("a"))})
    source = HuggingFaceShardedSource(name, streaming=False, cache_dir=str(tmp_path))
    assert list(source) == rows_of("a")
    kept = [path.name for path in tmp_path.glob("*/snapshots/*/train/*")]
    assert kept == ["a[0].jsonl"]


def test_len_of_lines_that_are_here(hub_here: HubServer) -> None:
    name = made(hub_here, {"train.jsonl": jsonl(rows_of("a")), "test.jsonl": jsonl(rows_of("b"))})
    assert len(HuggingFaceShardedSource(name, "train+test[5:]", streaming=False)) == 45


@pytest.mark.parametrize("streaming", [True, False])
def test_rows_by_their_numbers(hub_here: HubServer, streaming: bool) -> None:
    name = made(hub_here, numbered("train", 2))
    hub_here.repo("datasets", "org/lines", {"train.jsonl": jsonl(rows_of("test"))})
    train = [row for i in range(2) for row in rows_of(f"train{i}")]
    numbers = [49, 0, 25, 24, 24, -3]
    for split, expected in (
        ("train", train),
        ("train[20:45]", train[20:45]),
        ("train[40:]+train[:10]", [*train[40:], *train[:10]]),
    ):
        source = HuggingFaceShardedSource(name, split, streaming=streaming)
        assert source.head(3) == list(source[:3]) == expected[:3]
        assert list(source[-2:]) == expected[-2:]
        wanted = [number for number in numbers if number < len(expected)]
        assert list(source.select(wanted)) == [expected[number] for number in wanted]
        assert source[-1] == expected[-1]
        with pytest.raises(IndexError, match=f"there is no row 50: .* {len(expected)}"):
            source.select([50])
    # Lines are counted.
    lines = HuggingFaceShardedSource("org/lines", streaming=streaming)
    assert list(lines.select([24, 3])) == [rows_of("test")[24], rows_of("test")[3]]


def test_chosen_rows_have_the_types_of_the_card(hub_here: HubServer) -> None:
    files, _ = LAYOUTS["configs of a card"]
    name = made(hub_here, files)
    source = create_source(DatasetConfig(name, type="hf"))
    rows = list(source)
    assert list(source.select([30, 2])) == [rows[30], rows[2]]
    skipping = DatasetConfig(name, type="hf", on_error="skip")
    with pytest.raises(TypeError, match="are left out here"):
        create_source(skipping).select([0])


def test_a_revision_is_a_commit_for_good(hub_here: HubServer) -> None:
    repo = hub_here.repo("datasets", "org/data", {"train.jsonl": jsonl(rows_of("old"))})
    hub_here.tag(repo, "v1")
    source = HuggingFaceShardedSource("org/data")
    rows = iter(source)
    first = next(rows)
    hub_here.commit(repo, {"train.jsonl": jsonl(rows_of("new"))})
    assert [first, *rows] == rows_of("old")
    assert list(source) == rows_of("old")
    assert list(HuggingFaceShardedSource("org/data")) == rows_of("new")
    assert list(HuggingFaceShardedSource("org/data@v1")) == rows_of("old")


def test_configs_name_data_sets(hub_here: HubServer) -> None:
    files, _ = LAYOUTS["configs of a card"]
    name = made(hub_here, files)
    expected = [row for each in ("c", "d") for row in rows_of(each)]
    for config in (
        DatasetConfig(name, type="hf"),
        DatasetConfig(name, type="huggingface"),
        DatasetConfig(f"hf://datasets/{name}"),
        DatasetConfig(f"hf://datasets/{name}@main", dataset_split_name="de"),
    ):
        assert list(create_source(config)) == expected
    config = DatasetConfig(name, type="hf", split="test", dataset_split_name="en", num_rows=30)
    assert list(create_source(config)) == [*rows_of("t1"), *rows_of("t2", 5)]
    as_files = DatasetConfig(f"hf://datasets/{name}/en/*.jsonl")
    assert len(list(create_source(as_files))) == 100


def test_what_there_is_not_is_said(hub_here: HubServer) -> None:
    files, _ = LAYOUTS["configs of a card"]
    name = made(hub_here, files)
    with pytest.raises(ValueError, match=r"there is no split 'dev', but 'train', 'test'"):
        list(HuggingFaceShardedSource(name, "dev", "en"))
    with pytest.raises(ValueError, match=r"fr.*en.*de"):
        list(HuggingFaceShardedSource(name, "train", "fr"))
    with pytest.raises(
        FileNotFoundError, match=r"no dataset org/dat on the Hub \(there is org/data"
    ):
        list(HuggingFaceShardedSource("org/dat"))
    with pytest.raises(FileNotFoundError, match="has no revision v9"):
        list(HuggingFaceShardedSource("org/data@v9"))
    with pytest.raises(ValueError, match="names files in a dataset"):
        HuggingFaceShardedSource("hf://datasets/org/data/en/a.jsonl")
    for wrong in ("train[", "train[1:2:3]", "", "train[:101%]", "train[:5](closest)"):
        with pytest.raises(ValueError, match=r"^split: "):
            HuggingFaceShardedSource("org/data", wrong)


def test_a_name_without_type_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r'type="hf", or as hf://datasets/org/data') as told:
        create_source(DatasetConfig("org/data"))
    assert "hf download --repo-type dataset org/data --local-dir org/data" in str(told.value)
    with pytest.raises(FileNotFoundError) as raised:
        create_source(DatasetConfig("org/data.jsonl"))
    assert "hf" not in str(raised.value)


@pytest.mark.parametrize("name", ["a.png", "a.mp3", "a.tar", "a.zip"])
def test_what_is_no_text_and_no_table_is_refused_by_name(name: str, hub_here: HubServer) -> None:
    content = b"x" if not name.endswith("zip") else b"PK\x05\x06" + bytes(18)
    made(hub_here, {f"train/{name}": content})
    with pytest.raises(
        (ValueError, FileNotFoundError), match=r"folder|webdataset|archive|no files"
    ):
        list(HuggingFaceShardedSource("org/data"))


def test_options_that_are_not_done_here_are_refused(hub_here: HubServer) -> None:
    head = "configs:\n- {config_name: default, data_files: a.csv, skiprows: 2}"
    made(hub_here, {"README.md": card(head), "a.csv": csv(rows_of("a"))})
    with pytest.raises(ValueError, match="skiprows=2 for the reader csv"):
        list(HuggingFaceShardedSource("org/data"))


def test_rows_that_a_script_makes_are_read_as_they_were_converted(hub_here: HubServer) -> None:
    repo = hub_here.repo(
        "datasets", "org/data", {"data.py": b"raise SystemExit(1)", "x.csv": b"a\n1\n"}
    )
    with pytest.raises(ValueError, match="made by a script, which is not run"):
        list(HuggingFaceShardedSource("org/data"))
    converted = {
        f"default/{split}/000{i}.parquet": parquet(rows_of(f"{split}{i}"))
        for split in ("train", "test")
        for i in range(2)
    }
    hub_here.commit(repo, converted, "refs/convert/parquet")
    expected = datasets.load_dataset(
        "org/data",
        revision="refs/convert/parquet",
        data_files={"test": "default/test/*.parquet"},
        split="test",
    )
    assert list(HuggingFaceShardedSource("org/data", "test")) == list(expected)
    with pytest.raises(ValueError, match="no subset 'en', but default"):
        list(HuggingFaceShardedSource("org/data", "test", "en"))


WITHOUT_DATASETS = """
import json, sys
sys.modules["datasets"] = None
from easydata import HuggingFaceShardedSource
for name, split, subset in json.loads(sys.argv[1]):
    try:
        rows = list(HuggingFaceShardedSource(name, split, subset))
    except Exception as error:
        rows = f"{type(error).__name__}: {error}"
    print(json.dumps(rows))
"""


def test_simple_data_sets_need_no_datasets(hub: HubServer, tmp_path: Path) -> None:
    simple = (
        "plain files", "one file", "numbered shards", "configs of a card", "folders", "text",
        "compressed lines",
    )  # fmt: skip
    asked: list[tuple[str, str, str | None]] = []
    for number, layout in enumerate([*simple, "options of a reader", "features"]):
        hub.repo("datasets", f"org/{number}", LAYOUTS[layout][0])
        asked += [(f"org/{number}", split, subset) for split, subset in LAYOUTS[layout][1]]
    read = {}
    for script in (WITHOUT_DATASETS, WITHOUT_DATASETS.replace("sys.modules", "{}")):
        done = subprocess.run(
            [sys.executable, "-c", script, json.dumps(asked)],
            env=os.environ | hub.environment(tmp_path),
            capture_output=True,
            text=True,
            check=True,
        )
        read[script] = [json.loads(line) for line in done.stdout.splitlines()]
    without, with_it = read.values()
    assert without[:-2] == with_it[:-2]
    assert all(isinstance(rows, list) and rows for rows in with_it)
    assert "the card sets sep" in without[-2]
    assert "pip install 'easydata[hf]'" in without[-2]
    assert "the card gives types to columns" in without[-1]


def test_a_pipeline_reads_mixes_and_goes_on(hub_here: HubServer, tmp_path: Path) -> None:
    made(hub_here, numbered("train", 2))
    hub_here.repo("datasets", "org/other", {"train.jsonl": jsonl(rows_of("other", 40))})

    def pipeline() -> Any:
        config = PipelineConfig(
            datasets=[
                DatasetConfig("org/data", type="hf", name="a", shuffle="rows"),
                DatasetConfig("hf://datasets/org/other", name="b"),
            ],
            load=LoadStageConfig(batch_size=4),
            seed=3,
        )
        return Pipeline(config)

    with pipeline().source().mix().load().build() as whole:
        batches = list(itertools.islice(whole, 20))
    frozen = pipeline()
    listing = frozen.freeze()
    assert "hf://datasets/org/data@" in listing
    listings = len(hub_here.listings)
    with frozen.source().mix().load().build() as loader:
        some = list(itertools.islice(loader, 5))
        state = loader.state_dict()
    other = pipeline()
    other.freeze(listing)
    with other.source().mix().load().build() as loader:
        loader.load_state_dict(json.loads(json.dumps(state)))
        rest = list(itertools.islice(loader, 15))
    texts = [list(batch["text"]) for batch in batches]
    assert [list(batch["text"]) for batch in some + rest] == texts
    assert len(hub_here.listings) == listings, "who has the listing lists nothing"


def test_it_is_saved_as_other_data_are(hub_here: HubServer, tmp_path: Path) -> None:
    made(hub_here, numbered("train", 3))
    source = HuggingFaceShardedSource("org/data")
    stats = easydata.save_dataset(source, str(tmp_path / "out"), num_shards=2)
    assert list(easydata.ParquetShardedSource(stats.output_paths)) == list(source)


def test_the_command_line_reads_it(hub: HubServer, tmp_path: Path) -> None:
    made(hub, numbered("train", 2))
    done = subprocess.run(
        [
            Path(sys.executable).with_name("easydata"),
            *("convert", "hf://datasets/org/data", "--format", "jsonl"),
            *("--output-dir", str(tmp_path / "out")),
        ],
        env=os.environ | hub.environment(tmp_path / "home"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "out").rglob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert rows == [row for i in range(2) for row in rows_of(f"train{i}")]


def test_the_mixtures_of_old_take_it(hub_here: HubServer) -> None:
    made(hub_here, numbered("train", 2))
    inform = easydata.TextDatasetInform(
        type="huggingface", data_files="org/data", content_field="text", num_rows=30
    )
    mixture = easydata.DatasetMixture(informs=[inform], batch_size=1, streaming=False)
    rows = easydata.build_dataset(mixture)
    expected = [*rows_of("train0"), *rows_of("train1")][:30]
    assert [row["text"] for row in rows] == [row["text"] for row in expected]
