"""datasets and transformers read from the stub of the Hub as from the real one."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import HubServer
from small_tokenizer import small_tokenizer

datasets = pytest.importorskip("datasets")

ROWS = [{"n": number, "text": f"row {number}"} for number in range(6)]
CARD = b"""---
configs:
- config_name: small
  data_files:
  - split: train
    path: small/*.parquet
- config_name: big
  default: true
  data_files:
  - split: train
    path: big/train-*.parquet
  - split: test
    path: big/test.parquet
---
# Rows
"""


def parquet(rows: list[dict[str, Any]]) -> bytes:
    with io.BytesIO() as file:
        pq.write_table(pa.Table.from_pylist(rows), file)
        return file.getvalue()


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("streaming", [True, False])
def test_datasets_reads_a_card(hub_here: HubServer, streaming: bool) -> None:
    hub_here.repo(
        "datasets",
        "org/name",
        {
            "README.md": CARD,
            "small/a.parquet": parquet(ROWS[:1]),
            "big/train-0.parquet": parquet(ROWS[:3]),
            "big/train-1.parquet": parquet(ROWS[3:5]),
            "big/test.parquet": parquet(ROWS[5:]),
        },
    )

    def rows(**options: Any) -> list[Any]:
        return list(datasets.load_dataset("org/name", streaming=streaming, **options))

    assert rows(split="train") == ROWS[:5]
    assert rows(split="test") == ROWS[5:]
    assert rows(name="small", split="train") == ROWS[:1]
    assert datasets.get_dataset_config_names("org/name") == ["small", "big"]


def test_datasets_reads_folders_and_revisions(hub_here: HubServer) -> None:
    files = {"train/a.jsonl.gz": gzip.compress(jsonl(ROWS[:2])), "test/a.jsonl": jsonl(ROWS[2:3])}
    repo = hub_here.repo("datasets", "org/plain", files)
    hub_here.commit(repo, {"default/train/0.parquet": parquet(ROWS)}, "refs/convert/parquet")
    old = hub_here.commit(repo, {})
    hub_here.commit(repo, {"test/a.jsonl": None, "test/b.jsonl": jsonl(ROWS[3:])})

    def rows(**options: Any) -> list[Any]:
        return list(datasets.load_dataset("org/plain", streaming=True, **options))

    assert rows(split="train") == ROWS[:2]
    assert rows(split="test") == ROWS[3:]
    assert rows(split="test", revision=old) == ROWS[2:3]
    convert = {"revision": "refs/convert/parquet", "data_files": "default/train/*.parquet"}
    assert rows(split="train", **convert) == ROWS
    files = "hf://datasets/org/plain/test/b.jsonl"
    named = datasets.load_dataset("json", data_files=files, split="train")
    assert list(named) == ROWS[3:]


def test_datasets_asks_for_access(hub_here: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"train.jsonl": jsonl(ROWS), "README.md": b"# Rows\n"}
    hub_here.repo("datasets", "org/gated", files, gated="manual", allowed=["ann"])
    with pytest.raises(datasets.exceptions.DatasetNotFoundError, match="gated dataset"):
        datasets.load_dataset("org/gated")
    with pytest.raises(datasets.exceptions.DatasetNotFoundError, match="doesn't exist"):
        datasets.load_dataset("org/none")
    monkeypatch.setenv("HF_TOKEN", hub_here.token("ann"))
    assert list(datasets.load_dataset("org/gated", split="train", streaming=True)) == ROWS


def model_files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_transformers_takes_a_tokenizer_by_name(hub_here: HubServer, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    files = model_files(Path(small_tokenizer(tmp_path / "made")))
    hub_here.repo("models", "org/model", files, lfs=["tokenizer.json"])
    tokenizer = transformers.AutoTokenizer.from_pretrained("org/model")
    local = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "made"))
    assert tokenizer("some text")["input_ids"] == local("some text")["input_ids"]
    assert len(hub_here.asked("cdn")) == 1
    with pytest.raises(OSError, match="org/none is not a local folder"):
        transformers.AutoTokenizer.from_pretrained("org/none")
    hub_here.repo("models", "org/gated", files, gated="manual")
    with pytest.raises(OSError, match="gated repo"):
        transformers.AutoTokenizer.from_pretrained("org/gated", token=hub_here.token("eve"))


def test_a_new_process_asks_the_stub(hub: HubServer, tmp_path: Path) -> None:
    hub.repo("datasets", "org/mine", {"a.bin": b"\0bytes"}, private=True)
    program = (
        "import huggingface_hub as h;"
        "print(open(h.hf_hub_download('org/mine', 'a.bin', repo_type='dataset'), 'rb').read())"
    )
    environment = hub.environment(tmp_path / "home", hub.token("ann", orgs=["org"]))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "b'\\x00bytes'\n"
    assert (tmp_path / "home" / "hub" / "datasets--org--mine").is_dir()
