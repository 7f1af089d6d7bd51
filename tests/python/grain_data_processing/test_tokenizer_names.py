"""Tokenizers by name: hf_access_token asks the Hub for them, tokenizer_cache_dir keeps them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from easydata.grain_data_processing import HFHubDataConfig, preprocess_dataset
from hub_server import HubServer
from programs import run_python

# Rows of one document, tokenized by a tokenizer of the Hub.
JOB = """
import sys
from easydata.grain_data_processing import preprocess_dataset

token, cache = sys.argv[1:]
rows, _ = preprocess_dataset(
    0, 1, [{"text": "abc"}], "text", True, 1, 8, False, 1, "some/tokenizer",
    hf_access_token=token or None, tokenizer_cache_dir=cache, add_bos=False, add_eos=False,
    num_epochs=1,
)
(row,) = rows
print(row["targets"].tolist())
"""


@pytest.fixture
def private(hub: HubServer, tokens: str) -> HubServer:
    """A Hub with one private tokenizer."""
    files = {file.name: file.read_bytes() for file in Path(tokens).iterdir()}
    hub.repo("models", "some/tokenizer", files, private=True)
    return hub


def run(
    hub: HubServer, token: str, cache: Path, home: Path, status: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What the job said, in a process of its own that ends with `status`."""
    settings = {**hub.environment(home), **variables}
    return run_python("-c", JOB, token, cache, variables=settings, status=status)


def test_a_tokenizer_of_the_hub(private: HubServer, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    cache, home = tmp_path / "cache", tmp_path / "home"
    assert "no repository some/tokenizer" in run(private, "", cache, home, status=1).stderr
    assert private.log
    assert not any(asked.authorized for asked in private.log)

    token = private.token("ann", orgs=["some"])
    done = run(private, token, cache, home)
    assert done.stdout == "[97, 98, 99, 256, 0, 0, 0, 0]\n"
    assert token not in done.stderr
    assert list(cache.rglob("tokenizer.json"))
    assert not list(home.rglob("tokenizer.json"))

    # What is kept there needs neither network nor token.
    private.log.clear()
    done = run(private, "", cache, home, HF_HUB_OFFLINE="1")
    assert done.stdout == "[97, 98, 99, 256, 0, 0, 0, 0]\n"
    assert private.log == []


def test_a_token_is_not_shown() -> None:
    config = HFHubDataConfig(hf_path="json", global_batch_size=1, hf_access_token="hf_secret")
    assert "hf_secret" not in repr(config)


def test_a_path_needs_neither(tokens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    rows, _ = preprocess_dataset(
        0, 1, [{"text": "abc"}], "text", True, 1, 8, False, 1, tokens,
        add_bos=False, add_eos=False, num_epochs=1,
    )  # fmt: skip
    assert [row["targets"].tolist() for row in rows] == [[97, 98, 99, 256, 0, 0, 0, 0]]
    with pytest.raises(ImportError, match=r"some/tokenizer does not exist here.*huggingface_hub"):
        preprocess_dataset(
            0, 1, [{"text": "abc"}], "text", True, 1, 8, False, 1, "some/tokenizer"
        )  # fmt: skip
