"""`easydata cache`: list, explain, fill, verify, prune."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kept_data import Command, texts

from easydata import Pipeline, PipelineConfig


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def config(folder: Path, tiny: str) -> dict[str, Any]:
    dataset = {"data_files": texts(), "name": "a", "tokenizer": tiny}
    return {"datasets": [dataset], "cache": {"cache_dir": "kept"}}


def test_a_run_fills_it_and_explain_says_so(command: Command, config: dict[str, Any]) -> None:
    before = command.of("explain", config)
    assert (before["blocks"], before["kept_blocks"], before["kept_bytes"]) == (2, 0, 0)
    assert before["missing"] == [f"nothing was kept in {os.path.abspath('kept')} yet"]
    assert not Path("kept").exists(), "looking makes nothing"
    pipeline = Pipeline(PipelineConfig.from_dict(config)).source().tokenize()
    assert len(list(pipeline.build())) == 80
    pipeline.get_data()["a"]._store.native.flush()
    after = command.of("explain", config)
    assert (after["blocks"], after["kept_blocks"], after["missing"]) == (2, 2, [])
    assert after["kept_bytes"] == after["bytes"] > 0
    said = command.lines("explain", "config.yaml")
    assert said.startswith("a: 2 of 2 blocks are kept")
    assert command.lines("explain", "--config", "config.yaml") == said


def test_fill_makes_what_is_missing(command: Command, config: dict[str, Any]) -> None:
    assert command.of("fill", config)["made_blocks"] == 2
    again = command.of("fill", config)
    assert (again["made_blocks"], again["kept_blocks"]) == (0, 2)
    texts(files="c")
    assert command.of("fill", config)["made_blocks"] == 1
    assert "0 blocks made; 3 of 3 blocks" in command.lines("fill", "config.yaml")


def test_of_limited_datasets_the_blocks_that_are_read_count(
    command: Command, config: dict[str, Any]
) -> None:
    """40 rows a file; 60 are of all of the first, and the begin of the second."""
    texts(files="cde")
    dataset = config["datasets"][0]
    dataset["num_rows"] = 60
    before = command.of("explain", config)
    assert (before["blocks"], before["kept_blocks"]) == (5, 0), "nobody knows rows of text before"
    filled = command.of("fill", config)
    assert (filled["blocks"], filled["kept_blocks"], filled["made_blocks"]) == (2, 2, 2)
    again = command.of("fill", config)
    assert (again["blocks"], again["missing"], again["made_blocks"]) == (2, [], 0)
    for rows, blocks in ((40, 1), (41, 2), (80, 2)):
        dataset["num_rows"] = rows
        found = command.of("explain", config)
        assert (found["blocks"], found["kept_blocks"]) == (blocks, blocks), rows
    dataset["num_rows"] = 81
    found = command.of("explain", config)
    assert 3 <= found["blocks"] == found["kept_blocks"] + len(found["missing"])  # some read ahead


def test_rows_of_tables_are_known_before_they_are_read(
    command: Command, config: dict[str, Any]
) -> None:
    ids = pa.table({"id": range(50), "text": [f"tells of {i} ducks" for i in range(50)]})
    Path("tables").mkdir()
    for name in "abc":
        pq.write_table(ids, f"tables/{name}.parquet", row_group_size=10)
    dataset = config["datasets"][0]
    dataset |= {"data_files": "tables/*.parquet", "num_rows": 65, "format_fields": {"id": "n"}}
    before = command.of("explain", config)
    assert (before["blocks"], before["kept_blocks"]) == (7, 0)
    filled = command.of("fill", config)
    assert (filled["blocks"], filled["kept_blocks"]) == (7, 7)
    dataset["num_rows"] = 75
    found = command.of("explain", config)
    assert (found["blocks"], found["kept_blocks"]) == (8, found["kept_blocks"])
    dataset["num_rows"] = 1000
    assert command.of("explain", config)["blocks"] == 15


def test_whole_documents_are_others(command: Command, config: dict[str, Any]) -> None:
    """Where nobody says max_length a packer gets documents whole, anybody else cut at 2048."""
    config["pack"] = {"enabled": True, "seq_length": 16}
    assert command.of("fill", config)["made_blocks"] == 2
    assert command("explain", "config.yaml", "--packed")["datasets"]["a"]["kept_blocks"] == 2
    assert command("explain", "config.yaml", "--not-packed")["datasets"]["a"]["kept_blocks"] == 0
    pipeline = Pipeline(PipelineConfig.from_dict(config)).source().tokenize().pack()
    assert list(pipeline.build())
    (packed,) = pipeline.get_data().values()
    stats = packed.source._store.native.stats()
    assert (stats["hits"], stats["misses"]) == (2, 0)


def test_list_says_what_is_kept(command: Command, config: dict[str, Any]) -> None:
    command.of("fill", config)
    config["datasets"][0]["tokenizer_kwargs"] = {"max_length": 8}
    command.of("fill", config)
    (plans,) = command("list", "kept")["folders"].values()
    assert [(plan["blocks"], plan["rows"]) for plan in plans] == [(2, 80), (2, 80)]
    assert all(plan["tokens"] > 0 and plan["bytes"] > 0 for plan in plans)
    assert plans[0]["json"]["operators"]
    said = command.lines("list", "kept")
    assert os.path.abspath("kept") in said
    assert "source > tokenize" in said
    assert command("list", "--config", "config.yaml") == command("list", "kept")
    assert command("list", "nowhere")["folders"] == {os.path.abspath("nowhere"): []}
    # Without a name it is the folder that configs have by default.
    (default,) = command("list")["folders"]
    assert default == os.path.abspath(".cache/easydel_pipeline")


def test_what_is_not_kept_says_why(command: Command, config: dict[str, Any]) -> None:
    first = config["datasets"][0]
    config["datasets"] = [
        {**first, "name": "off", "cache_enabled": False},
        {**first, "name": "own", "cache_path": "its"},
    ]
    assert command.of("explain", config, "off")["reason"] == "its cache_enabled is false"
    assert command.of("fill", config, "own")["made_blocks"] == 2
    own = command.of("explain", config, "own")
    assert (own["folder"], own["kept_blocks"]) == (os.path.abspath("its"), 2)
    assert "off: not kept: its cache_enabled is false" in command.lines("fill", "config.yaml")
    del config["cache"]
    config["datasets"][0]["cache_enabled"] = True
    assert "nothing asks for it" in command.of("explain", config, "off")["reason"]
    config["cache"] = {"cache_type": "memory"}
    assert "memory of a process" in command.of("explain", config, "off")["reason"]


def test_verify_finds_damage(command: Command, config: dict[str, Any]) -> None:
    command.of("fill", config)
    folder = os.path.abspath("kept")
    assert command("verify", "kept") == {"ok": True, "folders": {folder: []}}
    assert command.lines("verify", "--config", "config.yaml") == f"{folder}: all intact\n"
    largest = max((path for path in Path("kept").rglob("*") if path.is_file()), key=_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    found = command("verify", "kept", status=1)
    assert not found["ok"]
    (problem,) = found["folders"][folder]
    assert largest.name in problem["file"]
    # What is damaged is made anew, and the rows are right.
    plain = list(
        Pipeline(PipelineConfig.from_dict({"datasets": config["datasets"]}))
        .source()
        .tokenize()
        .build()
    )
    assert list(Pipeline(PipelineConfig.from_dict(config)).source().tokenize().build()) == plain


def _size(path: Path) -> int:
    return path.stat().st_size


def test_prune_removes_what_was_used_longest_ago(command: Command, config: dict[str, Any]) -> None:
    command.of("fill", config)
    folder = os.path.abspath("kept")
    assert command("prune", "kept", "--max-bytes", "1GB")["folders"][folder]["freed_bytes"] == 0
    assert command("prune", "kept", "--older-than", "7d")["folders"][folder]["freed_bytes"] == 0
    Path("kept/mine.txt").write_text("mine")
    freed = command("prune", "--config", "config.yaml", "--older-than", "0s")
    assert freed["folders"][folder]["freed_bytes"] > 0
    assert command.of("explain", config)["kept_blocks"] == 0
    assert Path("kept/mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["explain"], 2, "name the config"),
        (["explain", "config.yaml", "--config", "config.yaml"], 2, "named twice"),
        (["explain", "absent.yaml"], 1, "absent.yaml"),
        (["fill", "plain.yaml"], 2, "the config keeps nothing"),
        (["list", "kept", "--config", "config.yaml"], 2, "not both"),
        (["list", "--config", "plain.yaml"], 2, "the config keeps nothing in files"),
        (["prune", "kept"], 2, "say what is to go"),
        (["prune", "kept", "--older-than", "soon"], 2, "--older-than takes an age"),
        (["prune", "kept", "--max-bytes", "much"], 2, "--max-bytes: a size is"),
        (["prune", "s3://b/c", "--max-bytes", "1"], 2, "nothing is removed from an object store"),
        (["mend"], 2, "mend"),
    ],
)
def test_wrong_use(
    command: Command, config: dict[str, Any], arguments: list[str], status: int, said: str
) -> None:
    import yaml

    Path("config.yaml").write_text(yaml.safe_dump(config))
    Path("plain.yaml").write_text(yaml.safe_dump({"datasets": config["datasets"]}))
    assert said in command.lines(*arguments, status=status)
