"""What is left out names the rows: in loaders' stats, in what is written, on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from data_folders import OWN
from programs import run_python

import easydata

TOKENIZER = str(OWN / "tokenizers" / "split")
MOST = 5
# Blocks of 8 MB are decoded before the row that they begin with is known.
ROWS = 60_000
BAD = [*range(0, 50_000, 13_000), 40_001, 40_002, 59_999]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of several blocks, of which some rows have no text."""
    path = tmp_path_factory.mktemp("dropped") / "rows.jsonl"
    bad = set(BAD)
    with path.open("w", encoding="utf-8") as file:
        for number in range(ROWS):
            name = "body" if number in bad else "text"
            file.write(json.dumps({name: f"row {number} " + "x" * 300}) + "\n")
    assert path.stat().st_size > 2 * (8 << 20)
    return path


def first(path: Path, rows: list[int], source: str = "d") -> list[str]:
    return [f'sources["{source}"] {path} row {row}' for row in sorted(rows)[:MOST]]


def dataset(data: Path, **options: Any) -> easydata.DatasetConfig:
    options = {"name": "d", "tokenizer": TOKENIZER, "on_error": "skip", **options}
    return easydata.DatasetConfig(data_files=str(data), **options)


def loader(data: Path, threads: int = 1) -> Any:
    pipeline = easydata.create_pipeline(
        [dataset(data)],
        tokenize={"max_length": 8},
        pack={"seq_length": 64},
        load={"batch_size": 16, "num_threads": threads},
    )
    return pipeline.source().tokenize().pack().load().build()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_loader_names_them(data: Path, threads: int) -> None:
    with loader(data, threads) as whole:
        state = None
        for step, _ in enumerate(whole):
            if step == 50:
                state = whole.state_dict()
        stats = whole.stats()["sources"]["d"]
    assert stats["dropped"]["missing"] == len(BAD)
    assert stats["dropped_at"]["missing"] == first(data, BAD)
    assert stats["dropped_at"]["truncated"] == first(
        data, [row for row in range(9) if row not in BAD]
    )
    with loader(data, threads) as rest:
        rest.load_state_dict(state)
        assert sum(1 for _ in rest) == step - 50
        again = rest.stats()["sources"]["d"]
    # Counts go on; addresses are of the rows since the restart, as a state stays small.
    assert "dropped_at" not in json.dumps(state)
    addresses = again.pop("dropped_at")
    assert again == {name: value for name, value in stats.items() if name != "dropped_at"}
    assert all(address.startswith(f'sources["d"] {data} row ') for address in addresses["missing"])
    assert set(addresses["missing"]) <= set(first(data, BAD) + first(data, BAD[-MOST:]))


def test_what_is_written_names_them(data: Path, tmp_path: Path) -> None:
    save = easydata.SaveStageConfig(output_dir=str(tmp_path / "out"))
    config = easydata.PipelineConfig(datasets=[dataset(data)], save=save)
    stats = easydata.Pipeline.from_config(config).source().tokenize().save().build()["d"]
    assert stats.dropped == {"missing": len(BAD)}
    assert stats.dropped_at == {"missing": first(data, BAD)}
    metadata = json.loads((tmp_path / "out" / ".metadata.json").read_text())
    assert metadata["dropped_at"] == stats.dropped_at


def test_datasets_of_a_mix_have_their_own(tmp_path: Path) -> None:
    datasets = []
    for name, bad in (("a", 2), ("b", 5)):
        rows = [{"text" if row != bad else "body": f"{row}"} for row in range(20)]
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        datasets.append(dataset(path, name=name))
    options = {
        "mix": {"block_size": 4, "stop_strategy": "all_exhausted"},
        "load": {"batch_size": 2},
    }
    pipeline = easydata.create_pipeline(datasets, **options).source().tokenize().mix()
    with pipeline.load().build() as batches:
        for _ in batches:
            pass
        sources = batches.stats()["sources"]
    assert sources["a"]["dropped_at"]["missing"] == first(tmp_path / "a" / "rows.jsonl", [2], "a")
    assert sources["b"]["dropped_at"]["missing"] == first(tmp_path / "b" / "rows.jsonl", [5], "b")


def test_the_command_line_names_them(data: Path, tmp_path: Path) -> None:
    command = ["tokenize", data, "--tokenizer", TOKENIZER]
    command += ["--output-dir", tmp_path / "out", "--on-error", "skip"]
    done = run_python("-m", "easydata.cli", *command)
    said = done.stdout + done.stderr
    assert f"{len(BAD)} rows left out (missing: {len(BAD)})" in said
    assert "rows.jsonl row 13000, " in said
    assert said.count("...") >= 1
