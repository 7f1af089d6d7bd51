"""Tokenizers without a tokenizer.json: transformers makes one, in folders and on the Hub."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from easydata.tokenizers import hub_files
from hub_server import HubServer
from programs import run_python
from small_tokenizer import byte_letters, small_tokenizer

from easydata import Tokenizer

TEXTS = ["", "abc", "naïve 日本\n", "<|endoftext|> a", " two  spaces "]
WORDS = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n##ly\n"
# How SentencePiece's models begin, and a file of tiktoken's.
MODEL = b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02"
RANKS = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))
QWEN = {"AutoTokenizer": ["tokenization_qwen.QWenTokenizer", None]}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    hub_files._commits.clear()


def gpt2_files(**config: Any) -> dict[str, bytes]:
    """What GPT-2 came with: a vocabulary and merges."""
    letters = [*byte_letters(), "ab", "<|endoftext|>"]
    vocab = {token: number for number, token in enumerate(letters)}
    made = {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|endoftext|>", **config}
    return {
        "vocab.json": json.dumps(vocab).encode(),
        "merges.txt": b"#version: 0.2\na b\n",
        "tokenizer_config.json": json.dumps(made).encode(),
        "config.json": b'{"model_type": "gpt2"}',
    }


def folder_of(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def test_what_auto_tokenizer_makes_of_a_name(hub_here: HubServer, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    small = Path(small_tokenizer(tmp_path / "small"))
    files = {file.name: file.read_bytes() for file in small.iterdir()}
    hub_here.repo("models", "org/small", files)
    theirs = transformers.AutoTokenizer.from_pretrained(str(small))
    ours = Tokenizer("org/small", view="transformers")
    assert ours.view == "transformers"
    assert [ours.encode(text).tolist() for text in TEXTS] == theirs(TEXTS)["input_ids"]


@pytest.mark.parametrize(
    "files", [gpt2_files(), {"vocab.txt": WORDS.encode(), "config.json": b'{"model_type": "bert"}'}]
)
def test_one_is_made(hub_here: HubServer, tmp_path: Path, files: dict[str, bytes]) -> None:
    transformers = pytest.importorskip("transformers")
    hub_here.repo("models", "org/old", {**files, "pytorch_model.bin": b"\0weights"})
    folder = folder_of(tmp_path / "old", files)
    theirs = transformers.AutoTokenizer.from_pretrained(str(folder))
    ours = Tokenizer("org/old")
    assert [ours.encode(text).tolist() for text in TEXTS] == theirs(TEXTS)["input_ids"]
    assert ours.eos_token == theirs.eos_token
    assert (ours.name, len(str(ours.commit))) == ("org/old", 40)
    assert hub_here.asked("cdn") == []  # no weights
    # The fingerprint is that of the tokenizer.json that AutoTokenizer would save.
    theirs.save_pretrained(tmp_path / "saved")
    assert ours.fingerprint == Tokenizer(tmp_path / "saved").fingerprint
    # A folder of the same files is the same.
    assert Tokenizer(folder).fingerprint == ours.fingerprint


def test_offline(hub_here: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    constants = pytest.importorskip("huggingface_hub.constants")
    hub_here.repo("models", "org/old", gpt2_files())
    made = Tokenizer("org/old")
    hub_files._commits.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub_here.log.clear()
    assert Tokenizer("org/old").fingerprint == made.fingerprint
    assert hub_here.log == []


def test_code_of_the_repository_is_never_run(
    hub_here: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    code = f"open({str(tmp_path / 'trace')!r}, 'w').close()\nclass QWenTokenizer: pass\n"
    config = {"tokenizer_class": "QWenTokenizer", "auto_map": QWEN}
    files = {
        "qwen.tiktoken": RANKS,
        "vocab.json": b"{}",
        "tokenization_qwen.py": code.encode(),
        "tokenizer_config.json": json.dumps(config).encode(),
        "config.json": json.dumps({"auto_map": {"AutoConfig": "tokenization_qwen.C"}}).encode(),
    }
    hub_here.repo("models", "org/qwen", files)
    hub_here.repo("models", "org/mapped", gpt2_files(auto_map=QWEN))
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    said = r"code of its own \(tokenization_qwen\.QWenTokenizer\), which EasyData does not run"
    with pytest.raises(ValueError, match=said):
        Tokenizer("org/qwen")
    assert sys.stdin.read() == "y\n"  # nobody was asked
    # Where the class is one of transformers', too, that one is taken.
    assert Tokenizer("org/mapped").encode("ab").tolist() == [256]
    assert not (tmp_path / "trace").exists()
    assert hub_here.asked(path="tokenization_qwen.py") == []


WITHOUT = """
import importlib.util, sys, easydata
absent = sys.argv[2].split(",")
sys.modules.update(dict.fromkeys(absent))
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name in absent else found(name, *a)
try:
    easydata.Tokenizer(sys.argv[1])
except ImportError as error:
    print(error)
"""


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # not even its package
        return False


# JAX brings protobuf along; a machine without it needs that, too.
WITH_PROTOBUF = "sentencepiece" if is_installed("google.protobuf") else "sentencepiece protobuf"


@pytest.mark.parametrize(
    ("model", "absent", "command"),
    [
        ({"tokenizer.model": MODEL}, "sentencepiece,google.protobuf", "sentencepiece protobuf"),
        ({"spiece.model": MODEL}, "sentencepiece", WITH_PROTOBUF),
        ({"source.spm": MODEL, "target.spm": MODEL}, "sentencepiece", WITH_PROTOBUF),
        ({"tokenizer.model": RANKS}, "tiktoken", "tiktoken"),
        ({"qwen.tiktoken": RANKS}, "tiktoken", "tiktoken"),
    ],
)
def test_what_else_has_to_be_installed(
    tmp_path: Path, model: dict[str, bytes], absent: str, command: str
) -> None:
    pytest.importorskip("transformers")
    folder_of(tmp_path / "old", model)
    done = run_python("-c", WITHOUT, "old", absent, cwd=tmp_path)
    shown = ", ".join(sorted(model))
    said = f"old has no tokenizer.json, and what it has, {shown}, takes more to read"
    assert done.stdout == f"{said}: pip install {command}\n"


def test_without_transformers(
    hub_here: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_here.repo("models", "org/old", gpt2_files())
    variables = hub_here.environment(tmp_path / "hf")
    said = run_python("-c", WITHOUT, "org/old", "transformers", variables=variables).stdout
    assert "merges.txt, vocab.json, takes transformers: pip install 'easydata[hf]'; or" in said
    # The two lines work where it is installed, and what they make is what we take.
    lines = said.splitlines()[-2:]
    pytest.importorskip("transformers")
    monkeypatch.chdir(folder_of(tmp_path / "elsewhere", {}))
    folder_of(Path("org/old"), gpt2_files())  # instead of the Hub
    exec("\n".join(lines))
    assert Tokenizer("tokenizer").fingerprint == Tokenizer("org/old@main").fingerprint


def test_what_makes_no_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    # transformers makes an empty GPT-2 of files that GPT-2 does not have.
    files = {"vocab.txt": WORDS.encode(), "config.json": b'{"model_type": "gpt2"}'}
    with pytest.raises(ValueError, match=r"without a vocabulary of vocab\.txt"):
        Tokenizer(folder_of(tmp_path / "empty", files))
    files = {"vocab.json": b"not json", "config.json": b'{"model_type": "gpt2"}'}
    with pytest.raises(ValueError, match="transformers cannot load this folder"):
        Tokenizer(folder_of(tmp_path / "broken", files))
